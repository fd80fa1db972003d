//! What a program asks of the proxy, and how its server is asked for that.
//!
//! Knows as much of HTTP as names a host. Must not know which hosts are allowed.

use std::io::{self, Read};
use std::net::TcpStream;

use super::hop::Hop;
use super::hosts;

const LONGEST_HEAD: usize = 64 * 1024;

pub struct Request {
    pub is_connect: bool,
    pub host: String,
    pub port: u16,
    /// What is asked for there, and the lines behind the first; of CONNECT neither.
    line: (String, String, String),
    fields: Vec<String>,
}

impl Request {
    pub fn parse(head: &str) -> Option<Request> {
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
    pub fn forwarded(&self, next: Option<&Hop>) -> Vec<u8> {
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

/// Read up to the empty line: the head, and what already came behind it.
pub fn read_head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
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
}
