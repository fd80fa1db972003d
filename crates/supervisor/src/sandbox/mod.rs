//! A step in a sandbox: two small processes around it, one outside of bubblewrap and one inside.
//!
//! `outside` starts bwrap and ends as the step ended; `inside` starts the step's program; `proxy` lets its connections
//! through to the hosts that `hosts` names. At the `door` the step's programs are served from outside; `relay` brings
//! those there that know standard streams only. bwrap alone would end at TERM without leaving its program the grace,
//! and tell of a signal as an exit code. Knows one step. Must not know attempts, and nothing of what is mounted: the
//! words for bwrap are given.

mod channel;
mod door;
mod hop;
mod hosts;
mod inside;
mod outside;
mod proxy;
mod relay;
mod request;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Where in the sandbox this program itself is.
const PLACE: &str = "/.budwood";
/// Where in the sandbox the door is.
const DOOR: &str = "/.budwood-door";

/// The words behind the command's name; the error is a sentence for stderr.
pub enum Request {
    Outside(outside::Order),
    Inside(inside::Order),
    Relay(relay::Order),
}

impl Request {
    /// Bytes that are not UTF-8 may stand in paths and in the step's own words.
    pub fn parse(words: &[OsString]) -> Option<Result<Request, String>> {
        match words.first()?.to_str()? {
            "sandbox" => Some(outside::Order::parse(&words[1..]).map(Request::Outside)),
            "sandboxed" => Some(inside::Order::parse(&words[1..]).map(Request::Inside)),
            "relay" => Some(relay::Order::parse(&words[1..]).map(Request::Relay)),
            _ => None,
        }
    }

    pub fn run(self) -> ExitCode {
        match self {
            Request::Outside(order) => order.run(),
            Request::Inside(order) => order.run(),
            Request::Relay(order) => order.run(),
        }
    }
}

/// TERM is for the step's program: those around it stay, to tell how it ended.
fn ignore_term() {
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
}

/// What is started by who ignores TERM would do so, too.
fn heed_term(command: &mut Command) {
    let heed = || {
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_DFL) };
        Ok(())
    };
    unsafe { command.pre_exec(heed) };
}
