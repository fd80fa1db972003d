//! The proxies that this machine itself needs on the way out, as its environment names them.
//!
//! Knows which of them a request goes to and what it wants to be shown. Must not know what is allowed.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};

use super::hosts;
use super::proxy::{CONNECT_WITHIN, HEAD_WITHIN};
use super::request::{Request, read_head};

pub struct Next {
    web: Option<Hop>,
    secure: Option<Hop>,
    direct: Vec<String>,
}

pub struct Hop {
    at: String,
    /// What it wants to be shown, ready to be sent.
    credentials: Option<String>,
}

impl Next {
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Next {
        let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase())).unwrap_or_default();
        let hop = |name: &str| Hop::parse(&either(name)).or_else(|| Hop::parse(&either("all_proxy")));
        let direct = either("no_proxy").split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
        Next { web: hop("http_proxy"), secure: hop("https_proxy"), direct }
    }

    pub fn to(&self, request: &Request) -> Option<&Hop> {
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
    pub fn parse(address: &str) -> Option<Hop> {
        let rest = address.strip_prefix("http://").or_else(|| (!address.contains("://")).then_some(address))?;
        let rest = rest.split('/').next().filter(|rest| !rest.is_empty())?;
        let (credentials, at) = match rest.rsplit_once('@') {
            Some((who, at)) => (Some(base64(&unescaped(who))), at),
            None => (None, rest),
        };
        let at = if hosts::split(at).1.is_some() { at.into() } else { format!("{at}:80") };
        Some(Hop { at, credentials })
    }

    pub fn shown(&self) -> String {
        let credentials = self.credentials.as_ref();
        credentials.map(|text| format!("Proxy-Authorization: Basic {text}\r\n")).unwrap_or_default()
    }

    pub fn connect(&self, request: &Request) -> io::Result<TcpStream> {
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
