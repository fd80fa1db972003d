//! Inside the sandbox: start the step's program, wait for it, tell how it ended.
//!
//! Knows the channel and, where only named hosts may be reached, the listener that stands for them. Must not be
//! trusted: the step's program can end this process, and then bwrap's own word counts.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use super::channel::{self, Message};
use super::{heed_term, ignore_term};
use crate::sys;

/// What programs look for a proxy in; they know the one or the other spelling.
const PROXY_VARIABLES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
const OWN: &str = "localhost,127.0.0.1,::1";

pub struct Order {
    channel: RawFd,
    /// What the step has for standard error; bwrap's own is another.
    stderr: RawFd,
    /// Where connections go to the proxy outside, the ports of the machine that are there as well.
    hosts: Option<Vec<u16>>,
    program: OsString,
    words: Vec<OsString>,
}

impl Order {
    pub fn parse(words: &[OsString]) -> Result<Order, String> {
        let [channel, stderr, network, program, rest @ ..] = words else {
            return Err("sandboxed is called by sandbox only".into());
        };
        let descriptor =
            |word: &OsString| word.to_str().and_then(|text| text.parse().ok()).ok_or("no descriptor given");
        let (channel, stderr) = (descriptor(channel)?, descriptor(stderr)?);
        Ok(Order { channel, stderr, hosts: network_of(network), program: program.clone(), words: rest.to_vec() })
    }

    pub fn run(self) -> ExitCode {
        ignore_term();
        match self.start_and_wait() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = channel::send(self.channel, &Message::Fault(explain(&self.program, &error)));
                ExitCode::FAILURE
            }
        }
    }

    fn start_and_wait(&self) -> io::Result<()> {
        sys::set_cloexec(self.channel)?;
        sys::check(unsafe { libc::dup2(self.stderr, 2) })?;
        unsafe { libc::close(self.stderr) };
        let mut command = Command::new(&self.program);
        command.args(&self.words);
        if let Some(ports) = &self.hosts {
            self.lead_to_proxy(&mut command)?;
            self.lead_to_machine(ports)?;
        }
        heed_term(&mut command);
        // Before it: a program can end us as soon as it is there.
        channel::send(self.channel, &Message::Entered)?;
        let mut child = command.spawn()?;
        let status = child.wait()?;
        channel::send(self.channel, &Message::Ended(status.into_raw()))
    }

    fn lead_to_proxy(&self, command: &mut Command) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = format!("http://{}", listener.local_addr()?);
        for name in PROXY_VARIABLES {
            command.env(name, &address);
        }
        command.env("no_proxy", OWN).env("NO_PROXY", OWN);
        command.env("NODE_USE_ENV_PROXY", "1"); // Node does not look at the others without it
        channel::send(self.channel, &Message::Listener(listener.into(), None))
    }

    /// A port that may not be had in here (one below 1024) is to be reached through the proxy alone.
    fn lead_to_machine(&self, ports: &[u16]) -> io::Result<()> {
        for &port in ports {
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                channel::send(self.channel, &Message::Listener(listener.into(), Some(port)))?;
            }
        }
        Ok(())
    }
}

/// `plain`, or `hosts:` and the ports.
fn network_of(word: &OsStr) -> Option<Vec<u16>> {
    let ports = word.to_str()?.strip_prefix("hosts:")?;
    Some(ports.split(',').filter_map(|port| port.parse().ok()).collect())
}

/// The kind and the sentence, as the supervisor words them for a step without a sandbox.
fn explain(program: &OsStr, error: &io::Error) -> String {
    let kind = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => "not_found",
        Some(libc::EACCES | libc::EPERM) => "denied",
        _ => "spawn",
    };
    format!("{kind} {}: {error} (in the sandbox)", program.to_string_lossy())
}
