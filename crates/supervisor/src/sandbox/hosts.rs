//! Which hosts a step may reach.
//!
//! Knows names, ports and addresses. Must not resolve or connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a name without a port stands for.
const WEB: [u16; 2] = [80, 443];

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub struct Hosts(Vec<Entry>);

struct Entry {
    name: Name,
    port: Option<u16>,
}

#[derive(PartialEq)]
enum Name {
    Exactly(String),
    /// Everything below a domain, with its leading dot; not the domain itself.
    Below(String),
}

impl Hosts {
    /// The error names the entry that cannot be read.
    pub fn parse(texts: &[String]) -> Result<Hosts, String> {
        texts
            .iter()
            .map(|text| Entry::parse(text).ok_or(format!("{text:?} is no host")))
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    pub fn allow(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        self.0.iter().any(|entry| entry.takes(port) && entry.name.is(&host))
    }

    /// The ports of this machine that are named: programs look for those at their own loopback, past any proxy.
    pub fn local_ports(&self) -> impl Iterator<Item = u16> {
        let local = |name: &Name| LOOPBACK.iter().any(|own| *name == Name::Exactly((*own).into()));
        self.0.iter().filter(move |entry| local(&entry.name)).filter_map(|entry| entry.port)
    }

    /// Addresses inside the machine and its network can be had by whoever answers for a name: only an address that is
    /// itself named is trusted, and `localhost`, which can mean nothing else.
    pub fn allow_address(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let named = || {
            let text = address.to_string();
            self.0.iter().any(|entry| entry.takes(port) && entry.name == Name::Exactly(text.clone()))
        };
        !is_internal(address) || named() || (plain(host) == "localhost" && address.is_loopback())
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        let (name, port) = split(text);
        let port = match port {
            Some(digits) => Some(digits.parse().ok().filter(|&port| port != 0)?),
            None => None,
        };
        let name = plain(name);
        let name = match name.strip_prefix('*') {
            Some(domain) if domain.starts_with('.') && domain.len() > 1 => Name::Below(domain.into()),
            Some(_) => return None,
            None if name.is_empty() => return None,
            None => Name::Exactly(name),
        };
        Some(Entry { name, port })
    }

    fn takes(&self, port: u16) -> bool {
        self.port.map_or(WEB.contains(&port), |own| own == port)
    }
}

impl Name {
    fn is(&self, host: &str) -> bool {
        match self {
            Name::Exactly(name) => name == host,
            Name::Below(domain) => host.len() > domain.len() && host.ends_with(domain.as_str()),
        }
    }
}

/// One spelling for one name: lower case, no dot at its end, an address as it is written shortest.
fn plain(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase(),
    }
}

/// A host and its port, if there is one; an IPv6 address with a port is in brackets.
pub fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if host.starts_with('[') && host.ends_with(']') => (host, Some(port)),
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (text, None),
    }
}

/// Whether an address is not one of the open network.
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_internal_v4(v4),
        IpAddr::V6(v6) => embedded(v6).map_or_else(|| is_internal_v6(v6), is_internal_v4),
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || a == 0
        || a >= 224
        || (a == 100 && b & 0xc0 == 64)
        || (a == 198 && b & 0xfe == 18)
        || (a == 192 && b == 0 && c == 0)
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
}

/// The address of version 4 that one of version 6 leads to: mapped, translated (64:ff9b::) or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => address.to_ipv4_mapped(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(texts: &[&str]) -> Hosts {
        Hosts::parse(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn names_are_taken_exactly_and_without_a_port_for_the_web() {
        let hosts = hosts(&["API.example.org", "*.pypi.org", "db.local:5432", "::1", "[::2]:80"]);
        for (host, port) in [
            ("api.example.org", 443),
            ("Api.Example.Org.", 80),
            ("a.pypi.org", 443),
            ("a.b.pypi.org", 443),
            ("db.local", 5432),
            ("[::1]", 443),
            ("[0:0::2]", 80),
        ] {
            assert!(hosts.allow(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("example.org", 443),
            ("xapi.example.org", 443),
            ("api.example.org.evil.com", 443),
            ("api.example.org", 22),
            ("pypi.org", 443),
            ("evilpypi.org", 443),
            (".pypi.org", 443),
            ("db.local", 443),
            ("[::2]", 443),
            ("", 443),
        ] {
            assert!(!hosts.allow(host, port), "{host}:{port}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "*", "*.", "*x.org", "a:x", "a:0", "a:70000", ":80"] {
            assert!(Hosts::parse(&[text.to_string()]).is_err(), "{text}");
        }
    }

    #[test]
    fn an_internal_address_must_itself_be_named() {
        let hosts = hosts(&["a.org", "10.1.2.3:8080", "localhost:9"]);
        let may = |host: &str, address: &str, port| hosts.allow_address(host, address.parse().unwrap(), port);
        assert!(may("a.org", "93.184.216.34", 443));
        assert!(may("a.org", "2606:4700::1", 443));
        assert!(may("a.org", "10.1.2.3", 8080));
        assert!(may("localhost", "127.0.0.1", 9));
        assert_eq!(hosts.local_ports().collect::<Vec<_>>(), [9]);
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(!may("a.org", address, 443), "{address}");
        }
    }
}
