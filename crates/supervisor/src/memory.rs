//! How much memory a tree uses, sampled.
//!
//! Knows when to look and how to count. Must not know what happens to a tree that uses too much.

use std::time::{Duration, Instant};

use crate::processes;
use crate::tree::Tree;

const WITH_LIMIT: Duration = Duration::from_millis(100);
const WITHOUT: Duration = Duration::from_secs(1);
/// At most this share of the time goes into looking: one part in so many.
const COST_SHARE: u32 = 20;

pub struct MemoryWatch {
    limit: Option<u64>,
    pub peak: u64,
    next: Instant,
}

impl MemoryWatch {
    /// Without a limit it looks rarely, for the peak only.
    pub fn new(limit: Option<u64>, now: Instant) -> MemoryWatch {
        MemoryWatch { limit, peak: 0, next: now + interval(limit) }
    }

    pub fn wake_at(&self) -> Instant {
        self.next
    }

    /// Take a sample when one is due; true when the tree is over its limit.
    pub fn is_over(&mut self, tree: Tree, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let used = self.measure(tree);
        self.peak = self.peak.max(used);
        self.next = Instant::now() + interval(self.limit).max(now.elapsed() * COST_SHARE);
        self.limit.is_some_and(|limit| used > limit)
    }

    fn measure(&self, tree: Tree) -> u64 {
        let pids: Vec<_> = tree.members().into_iter().map(|p| p.pid).collect();
        let resident: u64 = pids.iter().map(|&pid| processes::resident_bytes(pid)).sum();
        if self.limit.is_none_or(|limit| resident <= limit) {
            return resident;
        }
        // Forked processes share pages and the plain sum counts each of them again. The true sum costs a walk
        // over all page tables, so it is taken only now.
        let share = |&pid| processes::proportional_bytes(pid).unwrap_or_else(|| processes::resident_bytes(pid));
        pids.iter().map(share).sum::<u64>().min(resident)
    }
}

fn interval(limit: Option<u64>) -> Duration {
    if limit.is_some() { WITH_LIMIT } else { WITHOUT }
}
