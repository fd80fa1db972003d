//! What the kernel tells about processes.
//!
//! Knows `/proc` (Linux) and libproc (macOS). Must not know attempts, nor send signals.

use std::collections::{HashMap, HashSet};

use libc::pid_t;
use serde::Serialize;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;

pub use platform::{all_pids, command, environment, look, proportional_bytes, resident_bytes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: pid_t,
    pub parent: pid_t,
    pub group: pid_t,
    /// Dead, but its parent has not taken note; a zombie leader whose threads run on is not.
    pub zombie: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Named {
    pub pid: pid_t,
    pub command: String,
}

impl Named {
    pub fn new(pid: pid_t) -> Named {
        Named { pid, command: command(pid) }
    }
}

/// Every process of the machine, as one pass saw it.
pub fn all() -> Vec<Process> {
    all_pids().into_iter().filter_map(look).collect()
}

/// Everything below `root`, `root` itself not included.
pub fn below(root: pid_t) -> Vec<Process> {
    #[cfg(target_os = "linux")]
    if platform::knows_children() {
        return below_by(root, |parent| platform::children(parent).into_iter().filter_map(look).collect());
    }
    let mut by_parent: HashMap<pid_t, Vec<Process>> = HashMap::new();
    for process in all() {
        by_parent.entry(process.parent).or_default().push(process);
    }
    below_by(root, |parent| by_parent.get(&parent).cloned().unwrap_or_default())
}

fn below_by(root: pid_t, children: impl Fn(pid_t) -> Vec<Process>) -> Vec<Process> {
    let mut found = Vec::new();
    // A pass is no snapshot: a process given a new parent meanwhile may turn up twice.
    let mut seen = HashSet::from([root]);
    let mut waiting = vec![root];
    while let Some(parent) = waiting.pop() {
        for child in children(parent) {
            if seen.insert(child.pid) {
                found.push(child);
                waiting.push(child.pid);
            }
        }
    }
    found
}

/// This process and all above it.
pub fn self_and_ancestors() -> Vec<pid_t> {
    let mut line = vec![std::process::id() as pid_t];
    while let Some(process) = line.last().and_then(|&pid| look(pid)) {
        if process.parent <= 0 || line.contains(&process.parent) {
            break;
        }
        line.push(process.parent);
    }
    line
}

/// A command line for people: one line, of bounded length.
fn readable(words: &[u8]) -> String {
    let words: Vec<_> = words.split(|b| *b == 0).filter(|w| !w.is_empty()).map(String::from_utf8_lossy).collect();
    words.join(" ").chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_below_this_process() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = child.id() as pid_t;
        let found = below(std::process::id() as pid_t);
        assert!(found.iter().any(|p| p.pid == pid && !p.zombie));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn ancestors_begin_with_this_process() {
        let line = self_and_ancestors();
        assert_eq!(line[0], std::process::id() as pid_t);
        assert!(line.len() > 1);
    }

    #[test]
    fn a_command_is_one_short_line() {
        assert_eq!(readable(b"sh\0-c\0a\nb\0"), "sh -c a b");
        assert_eq!(readable(&[b'x'; 5000]).len(), 200);
    }
}
