//! Everything below the supervisor, and its end.
//!
//! Knows who belongs to the attempt and how to signal all of it. Must not know why it is ended.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use libc::{SIGCONT, SIGKILL, SIGTERM, pid_t};

use crate::processes::{self, Named, Process};
use crate::sys;

/// How long a killed process may take to go before it counts as one that cannot be killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);
const SURVIVORS_LISTED: usize = 100;
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The processes of the running step.
#[derive(Clone, Copy)]
pub struct Tree {
    /// The program of the step, or the init of its namespace.
    pub top: pid_t,
    pub init: Option<pid_t>,
}

impl Tree {
    /// All of it but the init.
    pub fn members(&self) -> Vec<Process> {
        let own = std::process::id() as pid_t;
        let mut members = processes::below(own);
        if cfg!(target_os = "macos") {
            // No subreaper there: an orphan leaves our tree and is known by its group only.
            let strays = processes::all().into_iter().filter(|p| p.group == self.top);
            let known: HashSet<pid_t> = members.iter().map(|p| p.pid).collect();
            members.extend(strays.filter(|p| !known.contains(&p.pid)));
        }
        members.retain(|p| Some(p.pid) != self.init);
        members
    }

    fn living(&self) -> Vec<Process> {
        let mut members = self.members();
        members.retain(|p| !p.zombie);
        members
    }
}

/// The ending of a tree: TERM to all, after the grace KILL, again until the last is gone.
pub struct Ending {
    tree: Tree,
    kill_at: Instant,
    give_up_at: Instant,
    next_pass: Instant,
    pause: Duration,
    killing: bool,
    signalled: HashSet<pid_t>,
}

impl Ending {
    pub fn begin(tree: Tree, now: Instant, grace: Duration) -> Ending {
        let kill_at = now + grace;
        Ending {
            tree,
            kill_at,
            give_up_at: kill_at + KILL_LIMIT,
            next_pass: now,
            pause: FIRST_PAUSE,
            killing: false,
            signalled: HashSet::new(),
        }
    }

    /// Leave no grace from now on.
    pub fn hurry(&mut self, now: Instant) {
        if !self.killing {
            self.kill_at = now;
            self.give_up_at = now + KILL_LIMIT;
        }
    }

    pub fn wake_at(&self) -> Instant {
        if self.killing { self.next_pass } else { self.next_pass.min(self.kill_at) }
    }

    pub fn is_killing(&self) -> bool {
        self.killing
    }

    pub fn is_hopeless(&self, now: Instant) -> bool {
        now >= self.give_up_at
    }

    /// Signal whatever is due at this moment. The caller has reaped before, and knows when nothing is left.
    pub fn press(&mut self, now: Instant) {
        if !self.killing && now >= self.kill_at {
            self.killing = true;
            self.pause = FIRST_PAUSE;
            self.next_pass = now;
        }
        if now < self.next_pass {
            return;
        }
        if self.killing {
            self.kill()
        } else {
            self.terminate()
        }
        self.next_pass = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// TERM once to each: also to those that were born after the last pass.
    fn terminate(&mut self) {
        for process in self.tree.living() {
            if self.signalled.insert(process.pid) {
                let _ = sys::kill(process.pid, SIGTERM);
                // A stopped process would not get it before it goes on.
                let _ = sys::kill(process.pid, SIGCONT);
            }
        }
    }

    fn kill(&mut self) {
        let living = self.tree.living();
        self.signalled.extend(living.iter().map(|p| p.pid));
        if let Some(init) = self.tree.init {
            let _ = sys::kill(init, SIGKILL);
        }
        // By group first: the kernel signals a whole group before any member can fork again, which catches a chain
        // of processes that each fork and exit faster than a pass over /proc.
        let own_group = unsafe { libc::getpgrp() };
        let groups: HashSet<pid_t> = living.iter().map(|p| p.group).filter(|&g| g > 1 && g != own_group).collect();
        for group in groups {
            let _ = sys::kill(-group, SIGKILL);
        }
        for process in living {
            let _ = sys::kill(process.pid, SIGKILL);
        }
    }

    /// How many were ended that were left over: the step's own program is none of them.
    pub fn ended_processes(&self) -> usize {
        self.signalled.iter().filter(|&&pid| pid != self.tree.top).count()
    }

    pub fn survivors(&self) -> Vec<Named> {
        self.tree.living().into_iter().take(SURVIVORS_LISTED).map(|p| Named::new(p.pid)).collect()
    }
}
