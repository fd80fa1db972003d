//! The way out of a sandbox whose network is a list of hosts: a proxy for HTTP, and for whatever CONNECT carries.
//!
//! Knows as much of HTTP as names a host. It resolves names itself, so that who is inside cannot say where they lead.
//! Must not look into what is carried.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::hosts::{self, Hosts};

const MOST_CONNECTIONS: usize = 256;
const LONGEST_HEAD: usize = 64 * 1024;
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// So many places that were refused are named, and the rest counted.
const MOST_TOLD: usize = 50;
/// No status that stands for a login or a limit: programs print it, and that would be believed of their account.
const REFUSED: &str = "470 Not In Network";

pub struct Proxy {
    hosts: Hosts,
    next: Next,
    open: AtomicUsize,
    refused: Mutex<Refused>,
}

#[derive(Default)]
struct Refused {
    places: BTreeMap<(String, &'static str), usize>,
    further: usize,
}

impl Proxy {
    pub fn new(hosts: Hosts) -> Proxy {
        let next = Next::from_environment(|name| std::env::var(name).ok());
        Proxy { hosts, next, open: AtomicUsize::new(0), refused: Mutex::default() }
    }

    /// What the inside is told of the network.
    pub fn word(&self) -> String {
        let ports: Vec<String> = self.hosts.local_ports().map(|port| port.to_string()).collect();
        format!("hosts:{}", ports.join(","))
    }

    /// Take connections for ever, to be asked where they go, or for a port of this machine; the process ends with its
    /// step.
    pub fn serve(self: Arc<Self>, listener: &TcpListener, port: Option<u16>) {
        for client in listener.incoming().flatten() {
            if self.open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                self.open.fetch_sub(1, Ordering::Relaxed);
                continue; // closed at once
            }
            let proxy = Arc::clone(&self);
            thread::spawn(move || {
                // Who is cut off in the middle finds that out.
                let _ = match port {
                    Some(port) if proxy.hosts.local_ports().any(|named| named == port) => pass_on(client, port),
                    Some(_) => Ok(()), // only the list counts, whatever the inside says
                    None => proxy.attend(client),
                };
                proxy.open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// Say what was refused, now that nothing else is printed: a line in the middle could break a record.
    pub fn tell_refused(&self) {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for ((place, why), count) in &refused.places {
            let times = if *count == 1 { String::new() } else { format!(", {count} times") };
            complain!("[budwood: the sandbox let nothing through to {place}{times}: {why}]");
        }
        if refused.further > 0 {
            complain!("[budwood: nor to other places, {} times]", refused.further);
        }
    }

    fn attend(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(HEAD_WITHIN))?;
        let (head, rest) = read_head(&mut client)?;
        let Some(request) = Request::parse(&head) else {
            return answer(&mut client, "400 Bad Request", "budwood's proxy takes CONNECT and http:// only");
        };
        let place = format!("{}:{}", request.host, request.port);
        if !self.hosts.allow(&request.host, request.port) {
            return self.refuse(&mut client, place, "it is not in network");
        }
        let mut server = match self.reach(&request) {
            Ok(server) => server,
            Err(Unreached::Internal) => {
                let why = "its address is not of the open network, and not in network itself";
                return self.refuse(&mut client, place, why);
            }
            Err(Unreached::Failed(error)) => {
                return answer(&mut client, "502 Bad Gateway", &format!("{place}: {error}"));
            }
        };
        client.set_read_timeout(None)?;
        if request.is_connect {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        } else {
            server.write_all(&request.forwarded(self.next.to(&request)))?;
        }
        server.write_all(&rest)?;
        carry(client, server)
    }

    fn refuse(&self, client: &mut TcpStream, place: String, why: &'static str) -> io::Result<()> {
        let text = format!("{place}: {why}");
        {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (short(&place), why);
            if refused.places.len() < MOST_TOLD || refused.places.contains_key(&key) {
                *refused.places.entry(key).or_default() += 1;
            } else {
                refused.further += 1;
            }
        }
        answer(client, REFUSED, &text)
    }

    fn reach(&self, request: &Request) -> Result<TcpStream, Unreached> {
        if let Some(next) = self.next.to(request) {
            return next.connect(request).map_err(Unreached::Failed);
        }
        let host = request.host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = (host, request.port).to_socket_addrs().map_err(Unreached::Failed)?.collect();
        let allowed = |at: &&SocketAddr| self.hosts.allow_address(&request.host, at.ip(), request.port);
        let mut last = None;
        for address in found.iter().filter(allowed) {
            match TcpStream::connect_timeout(address, CONNECT_WITHIN) {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or(Unreached::Internal, Unreached::Failed))
    }
}

enum Unreached {
    Internal,
    Failed(io::Error),
}

struct Request {
    is_connect: bool,
    host: String,
    port: u16,
    /// What is asked for there, and the lines behind the first; of CONNECT neither.
    line: (String, String, String),
    fields: Vec<String>,
}

impl Request {
    fn parse(head: &str) -> Option<Request> {
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next()?.split(' ').collect();
        let [method, target, version] = words[..] else { return None };
        let is_connect = method == "CONNECT";
        let (authority, path) = if is_connect {
            (target, String::new())
        } else {
            let rest = target.strip_prefix("http://")?;
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let path = if rest[end..].starts_with('/') { rest[end..].into() } else { format!("/{}", &rest[end..]) };
            (&rest[..end], path)
        };
        let (host, port) = hosts::split(authority);
        let port = match port {
            Some(digits) => digits.parse().ok()?,
            None if is_connect => return None,
            None => 80,
        };
        if host.is_empty() || !host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_[]:".contains(c)) {
            return None;
        }
        let fields = lines.filter(|line| !line.is_empty()).map(String::from).collect();
        Some(Request { is_connect, host: host.into(), port, line: (method.into(), path, version.into()), fields })
    }

    /// The request as its server gets it: for this host alone, and for once.
    fn forwarded(&self, next: Option<&Hop>) -> Vec<u8> {
        let (method, path, version) = &self.line;
        let place = if self.port == 80 { self.host.clone() } else { format!("{}:{}", self.host, self.port) };
        let target = if next.is_some() { format!("http://{place}{path}") } else { path.clone() };
        let mut head = format!("{method} {target} {version}\r\nHost: {place}\r\nConnection: close\r\n");
        head += &next.map(Hop::shown).unwrap_or_default();
        for field in &self.fields {
            let name = field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            if !["host", "connection", "keep-alive"].contains(&name.as_str()) && !name.starts_with("proxy-") {
                head += field;
                head += "\r\n";
            }
        }
        (head + "\r\n").into_bytes()
    }
}

/// The proxies that this machine itself needs, as its environment names them.
struct Next {
    web: Option<Hop>,
    secure: Option<Hop>,
    direct: Vec<String>,
}

struct Hop {
    at: String,
    /// What it wants to be shown, ready to be sent.
    credentials: Option<String>,
}

impl Next {
    fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Next {
        let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase())).unwrap_or_default();
        let hop = |name: &str| Hop::parse(&either(name)).or_else(|| Hop::parse(&either("all_proxy")));
        let direct = either("no_proxy").split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        Next { web: hop("http_proxy"), secure: hop("https_proxy"), direct }
    }

    fn to(&self, request: &Request) -> Option<&Hop> {
        let host = request.host.to_ascii_lowercase();
        let is_direct = |name: &String| {
            let bare = name.trim_start_matches("*.").trim_start_matches('.');
            name == "*" || (!bare.is_empty() && (host == bare || host.ends_with(&format!(".{bare}"))))
        };
        let local = host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(hosts::is_internal);
        if local || self.direct.iter().any(is_direct) {
            return None;
        }
        if request.is_connect { self.secure.as_ref() } else { self.web.as_ref() }
    }
}

impl Hop {
    fn parse(address: &str) -> Option<Hop> {
        let rest = address.strip_prefix("http://").or_else(|| (!address.contains("://")).then_some(address))?;
        let rest = rest.split('/').next().filter(|rest| !rest.is_empty())?;
        let (credentials, at) = match rest.rsplit_once('@') {
            Some((who, at)) => (Some(base64(&unescaped(who))), at),
            None => (None, rest),
        };
        let at = if hosts::split(at).1.is_some() { at.into() } else { format!("{at}:80") };
        Some(Hop { at, credentials })
    }

    fn shown(&self) -> String {
        let credentials = self.credentials.as_ref();
        credentials.map(|text| format!("Proxy-Authorization: Basic {text}\r\n")).unwrap_or_default()
    }

    fn connect(&self, request: &Request) -> io::Result<TcpStream> {
        let address = self.at.to_socket_addrs()?.next().ok_or(io::Error::other("the next proxy has no address"))?;
        let mut server = TcpStream::connect_timeout(&address, CONNECT_WITHIN)?;
        if request.is_connect {
            let place = format!("{}:{}", request.host, request.port);
            write!(server, "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{}\r\n", self.shown())?;
            server.set_read_timeout(Some(HEAD_WITHIN))?;
            let (head, _) = read_head(&mut server)?;
            let status = head.split(' ').nth(1).unwrap_or_default();
            if !status.starts_with('2') {
                return Err(io::Error::other(format!("the next proxy answered {status}")));
            }
            server.set_read_timeout(None)?;
        }
        Ok(server)
    }
}

/// Read up to the empty line: the head, and what already came behind it.
fn read_head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer)?;
        let from = read.len().saturating_sub(3);
        read.extend_from_slice(&buffer[..length]);
        if let Some(at) = read[from..].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let rest = read.split_off(from + at + 4);
            read.truncate(from + at);
            let head = String::from_utf8(read).map_err(|_| io::Error::other("the head is no text"))?;
            return Ok((head, rest));
        }
        if length == 0 || read.len() > LONGEST_HEAD {
            return Err(io::Error::other("there is no end of the head"));
        }
    }
}

fn answer(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let (kind, length) = ("Content-Type: text/plain; charset=utf-8", text.len() + 1);
    write!(client, "HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n")?;
    client.shutdown(Shutdown::Write)
}

fn pass_on(client: TcpStream, port: u16) -> io::Result<()> {
    carry(client, TcpStream::connect(("localhost", port))?)
}

/// Carry bytes both ways until both sides have ended.
fn carry(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || copy(from, to));
    copy(server, client);
    let _ = up.join();
    Ok(())
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn short(place: &str) -> String {
    place.chars().take(200).collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match code.filter(|_| bytes[at] == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                found.push(byte);
                at += 3;
            }
            None => {
                found.push(bytes[at]);
                at += 1;
            }
        }
    }
    found
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let whole = part.iter().fold(0u32, |sum, byte| (sum << 8) | u32::from(*byte)) << (8 * (3 - part.len()));
        for place in 0..4 {
            let letter = LETTERS[(whole >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Option<(bool, String, u16)> {
        Request::parse(head).map(|request| (request.is_connect, request.host, request.port))
    }

    #[test]
    fn a_request_names_its_host() {
        assert_eq!(parsed("CONNECT a.org:443 HTTP/1.1"), Some((true, "a.org".into(), 443)));
        assert_eq!(parsed("CONNECT [::1]:443 HTTP/1.1"), Some((true, "[::1]".into(), 443)));
        assert_eq!(parsed("GET http://a.org:8080/x HTTP/1.1"), Some((false, "a.org".into(), 8080)));
        assert_eq!(parsed("GET http://a.org?q HTTP/1.1"), Some((false, "a.org".into(), 80)));
        for head in [
            "",
            "GET / HTTP/1.1",
            "GET https://a.org/ HTTP/1.1",
            "CONNECT a.org HTTP/1.1",
            "CONNECT a.org:x HTTP/1.1",
            "GET http://user@a.org/ HTTP/1.1",
            "GET http:///x HTTP/1.1",
            "GET http://a.org\t/x HTTP/1.1",
        ] {
            assert_eq!(parsed(head), None, "{head}");
        }
    }

    #[test]
    fn what_is_forwarded_is_for_the_named_host_alone() {
        let head = "GET http://a.org/x?y HTTP/1.1\r\nhost: evil.org\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\nA: b";
        let request = Request::parse(head).unwrap();
        let text = "GET /x?y HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nA: b\r\n\r\n";
        assert_eq!(String::from_utf8(request.forwarded(None)).unwrap(), text);
        let hop = Hop::parse("http://me:x@proxy").unwrap();
        let text = String::from_utf8(request.forwarded(Some(&hop))).unwrap();
        assert!(text.starts_with("GET http://a.org/x?y HTTP/1.1\r\n"));
        assert!(text.contains("\r\nProxy-Authorization: Basic bWU6eA==\r\n"));
    }

    #[test]
    fn the_next_proxy_is_the_machines_own() {
        let next = Next::from_environment(|name| match name {
            "HTTPS_PROXY" => Some("http://me:p%40ss@proxy:3128/".into()),
            "no_proxy" => Some(".corp, x.org".into()),
            _ => None,
        });
        let to =
            |head: &str| next.to(&Request::parse(head).unwrap()).map(|hop| (hop.at.clone(), hop.credentials.clone()));
        let hop = Some(("proxy:3128".into(), Some(base64(b"me:p@ss"))));
        assert_eq!(to("CONNECT a.org:443 HTTP/1.1"), hop);
        assert_eq!(to("GET http://a.org/ HTTP/1.1"), None);
        for place in ["x.org", "a.corp", "127.0.0.1", "localhost"] {
            assert_eq!(to(&format!("CONNECT {place}:443 HTTP/1.1")), None, "{place}");
        }
    }

    #[test]
    fn credentials_are_written_as_http_wants_them() {
        assert_eq!(base64(b"me:p@ss"), "bWU6cEBzcw==");
        assert_eq!(base64(b"abc"), "YWJj");
        assert_eq!(base64(b""), "");
    }
}
