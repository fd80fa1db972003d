//! End whatever carries a mark: the trees of supervisors that were killed.
//!
//! Knows marks in environments. Must not know runs or attempts; it works without a supervisor.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use libc::{SIGCONT, SIGKILL, SIGTERM, pid_t};
use serde::Serialize;

use crate::pidfd::Pidfd;
use crate::processes::{self, Named};
use crate::sys;

const VARIABLE: &[u8] = b"BUDWOOD_MARK=";
const PAUSE: Duration = Duration::from_millis(20);

pub struct Sweep {
    pub mark: String,
    pub grace: Duration,
    pub limit: Duration,
}

#[derive(Serialize)]
pub struct Swept {
    pub ended: Vec<Named>,
    pub left: Vec<Named>,
}

impl Sweep {
    /// Look and signal until a look finds none, or the limit is over.
    pub fn run(&self) -> Swept {
        let began = Instant::now();
        let spared = processes::self_and_ancestors();
        let mut seen: BTreeMap<pid_t, String> = BTreeMap::new();
        let mut known: Vec<Pidfd> = Vec::new();
        loop {
            known.retain(Pidfd::is_alive);
            let killing = began.elapsed() >= self.grace;
            let found = self.look(&spared, &known);
            let nothing_new = found.is_empty();
            for process in found {
                seen.insert(process.pid, processes::command(process.pid));
                process.signal(SIGTERM);
                process.signal(SIGCONT);
                known.push(process);
            }
            if killing {
                known.iter().for_each(|process| process.signal(SIGKILL));
            }
            if known.is_empty() && nothing_new || began.elapsed() >= self.limit {
                break;
            }
            wait_for_any(&known, PAUSE);
        }
        let left: Vec<Named> = known.iter().filter(|p| p.is_alive()).map(|p| Named::new(p.pid)).collect();
        let gone = |pid: &pid_t| !left.iter().any(|l| l.pid == *pid);
        let ended = seen.into_iter().filter(|(pid, _)| gone(pid)).map(|(pid, command)| Named { pid, command });
        Swept { ended: ended.collect(), left }
    }

    /// Marked processes that we have no handle on yet.
    fn look(&self, spared: &[pid_t], known: &[Pidfd]) -> Vec<Pidfd> {
        let known: HashSet<pid_t> = known.iter().map(|k| k.pid).collect();
        let mut pids = processes::all_pids();
        pids.retain(|pid| !spared.contains(pid) && !known.contains(pid));
        pids.into_iter().filter_map(|pid| self.hold(pid)).collect()
    }

    /// Looked at again once we hold it: between the look and the handle the number may have gone to another.
    fn hold(&self, pid: pid_t) -> Option<Pidfd> {
        if !is_marked(&processes::environment(pid), &self.mark) {
            return None;
        }
        let handle = Pidfd::open(pid).ok()?;
        (is_marked(&processes::environment(pid), &self.mark) && handle.is_alive()).then_some(handle)
    }
}

fn is_marked(environment: &[u8], mark: &str) -> bool {
    let values = environment.split(|b| *b == 0).filter_map(|entry| entry.strip_prefix(VARIABLE));
    match mark.strip_suffix('*') {
        Some(prefix) => values.into_iter().any(|value| value.starts_with(prefix.as_bytes())),
        None => values.into_iter().any(|value| value == mark.as_bytes()),
    }
}

fn wait_for_any(known: &[Pidfd], pause: Duration) {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<_> = known.iter().filter_map(Pidfd::raw).map(watch).collect();
    let _ = sys::poll(&mut polled, Some(pause));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_matches_whole_or_by_its_beginning() {
        let env = b"A=1\0BUDWOOD_MARK=run7:2\0B=2\0";
        assert!(is_marked(env, "run7:2"));
        assert!(is_marked(env, "run7:*"));
        assert!(is_marked(env, "*"));
        assert!(!is_marked(env, "run7"));
        assert!(!is_marked(env, "un7:*"));
        assert!(!is_marked(b"XBUDWOOD_MARK=run7:2\0", "run7:2"));
        assert!(!is_marked(b"", "*"));
    }
}
