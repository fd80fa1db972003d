//! The way out of a sandbox whose network is a list of hosts: a proxy for HTTP, and for whatever CONNECT carries.
//!
//! It resolves names itself, so that who is inside cannot say where they lead.
//! Must not look into what is carried.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::hop::Next;
use super::hosts::Hosts;
use super::request::{Request, read_head};

const MOST_CONNECTIONS: usize = 256;
pub const HEAD_WITHIN: Duration = Duration::from_secs(30);
pub const CONNECT_WITHIN: Duration = Duration::from_secs(20);
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
