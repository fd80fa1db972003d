//! What a supervisor does about each message, and whom it obeys.
//!
//! Knows fences and refusals. Must not know how attempts work inside.

use std::path::PathBuf;
use std::time::Instant;

use crate::attempt::{Attempt, wall_clock_ms};
use crate::connection::Connection;
use crate::folder::{self, Folder};
use crate::result::{self, Outcome};
use crate::serve::Server;
use crate::text::Text;
use crate::wire::{self, Answer, Command, Reason, Start};

impl Server {
    pub fn obey(&mut self, i: usize, line: &[u8]) {
        // What an older driver sent before it was closed no longer counts.
        if self.connections[i].is_closing() {
            return;
        }
        let command = match wire::read(line) {
            Ok(command) => command,
            Err(message) => return self.refuse_as_bad(i, &message),
        };
        if self.connections[i].fence.is_none() && !matches!(command, Command::Hello { .. }) {
            return self.refuse_as_bad(i, "hello comes first");
        }
        match command {
            Command::Hello { fence } => self.greet(i, fence),
            Command::Start(start) => self.start(i, start, line),
            Command::Cancel { fence, attempt } => self.cancel(i, fence, &attempt),
            Command::Forget { fence, dirs } => self.forget(i, fence, &dirs),
            Command::Exit { fence } => {
                if self.accept_fence(i, fence, None) {
                    self.exiting = true;
                }
            }
        }
    }

    fn greet(&mut self, i: usize, fence: u64) {
        if !self.accept_fence(i, fence, None) {
            return self.connections[i].close();
        }
        for (k, other) in self.connections.iter_mut().enumerate() {
            if k != i && other.fence.is_some() {
                other.close();
            }
        }
        self.connections[i].fence = Some(fence);
        let unwritten = self.unwritten.as_ref().map(|c| c.result.attempt.as_str());
        let attempt = self.attempt.as_ref();
        let hello = Answer::Hello {
            fence,
            pid: std::process::id(),
            version: crate::VERSION,
            attempt: attempt.map(|a| a.start.attempt.as_str()).or(unwritten),
            pid_of_step: attempt.and_then(Attempt::pid),
            begun_at_ms: attempt.map(|a| a.began_at_ms),
            contain: self.abilities.contain(),
            cgroup: self.abilities.delegation().is_some(),
        };
        self.connections[i].send(&hello.to_line());
        if let Some(conclusion) = self.unwritten.take() {
            self.connections[i].send(&conclusion.to_line());
        }
    }

    fn start(&mut self, i: usize, mut start: Box<Start>, line: &[u8]) {
        // Taken in any case: closed with a refusal, so that the lock they stand for is free again.
        let held = std::mem::take(&mut self.connections[i].held);
        if !self.accept_fence(i, start.fence, Some(&start.attempt)) {
            return;
        }
        if let Some((reason, message)) = self.reason_against_start() {
            return self.refuse(i, Some(&start.attempt), reason, message);
        }
        let Some(forgotten) = self.checked_dirs(&start.forget) else {
            return self.refuse(i, Some(&start.attempt), Reason::Bad, "forget names a directory that is not directly below attempts");
        };
        let folder = match Folder::create(start.dir.to_path()) {
            Ok(folder) => folder,
            Err(e) => {
                let message = format!("{} cannot be made: {e}", start.dir);
                return self.refuse(i, Some(&start.attempt), Reason::Bad, &message);
            }
        };
        let claimed = folder.claim();
        if matches!(claimed, Ok(false)) {
            return self.refuse(i, Some(&start.attempt), Reason::Begun, "this attempt has begun before");
        }
        start.env.set("TMPDIR", self.slot.places.tmp.as_os_str().as_encoded_bytes());
        let mut attempt = Attempt::new(start, folder, held, self.abilities.delegation());
        match claimed.and_then(|_| attempt.write_spec(line)) {
            Err(e) => attempt.fail(result::fault("the attempt cannot be written down", &e)),
            Ok(()) => drop(attempt.start_next_step(&self.ground)),
        }
        self.forgotten.extend(forgotten);
        self.take_on(attempt);
    }

    fn take_on(&mut self, attempt: Attempt) {
        let began = attempt.pid().map(|pid| {
            Answer::Begun { attempt: &attempt.start.attempt, pid, at_ms: wall_clock_ms() }.to_line()
        });
        self.attempt = Some(attempt);
        match began {
            Some(line) => self.tell_driver(&line),
            None => self.conclude(),
        }
    }

    fn reason_against_start(&self) -> Option<(Reason, &'static str)> {
        if self.retired || self.exiting {
            return Some((Reason::Retired, "this supervisor takes no more work"));
        }
        let busy = self.attempt.is_some() || self.unwritten.is_some();
        busy.then_some((Reason::Busy, "an attempt is running"))
    }

    fn cancel(&mut self, i: usize, fence: u64, id: &str) {
        if !self.accept_fence(i, fence, Some(id)) {
            return;
        }
        // One that has just ended crossed this message with its `ended`: nothing to do.
        if let Some(attempt) = self.attempt.as_mut().filter(|a| a.start.attempt == id) {
            attempt.end(Outcome::Cancelled, Instant::now());
        }
    }

    fn forget(&mut self, i: usize, fence: u64, dirs: &[Text]) {
        if !self.accept_fence(i, fence, None) {
            return;
        }
        match self.checked_dirs(dirs) {
            Some(dirs) => self.forgotten.extend(dirs),
            None => self.refuse(i, None, Reason::Bad, "forget names a directory that is not directly below attempts"),
        }
    }

    /// All or none: a list with one bad name was made by somebody who errs.
    fn checked_dirs(&self, dirs: &[Text]) -> Option<Vec<PathBuf>> {
        let attempts = self.slot.attempts_dir();
        let in_use = self.attempt.as_ref().map(|a| a.start.dir.to_path());
        let dirs: Vec<PathBuf> = dirs.iter().map(Text::to_path).collect();
        let fine = |dir: &PathBuf| folder::is_directly_below(dir, &attempts) && Some(dir) != in_use.as_ref();
        dirs.iter().all(fine).then_some(dirs)
    }

    /// Whether this number is the highest, here and on disk; else refuse. It is remembered.
    fn accept_fence(&mut self, i: usize, fence: u64, attempt: Option<&str>) -> bool {
        self.fence = self.fence.max(self.slot.fence_on_disk());
        if fence < self.fence {
            self.refuse(i, attempt, Reason::Fence, "a newer driver has this run");
            return false;
        }
        self.fence = fence;
        true
    }

    fn refuse(&mut self, i: usize, attempt: Option<&str>, reason: Reason, message: &str) {
        let line = Answer::Refused { attempt, reason, fence: self.fence, message }.to_line();
        self.connections[i].send(&line);
    }

    pub fn refuse_as_bad(&mut self, i: usize, message: &str) {
        self.refuse(i, None, Reason::Bad, message);
        self.connections[i].close();
    }

    pub fn has_driver(&self) -> bool {
        self.connections.iter().any(|c| c.is_open() && c.fence.is_some())
    }

    pub fn tell_driver(&mut self, line: &[u8]) {
        let is_driver = |c: &&mut Connection| c.is_open() && c.fence.is_some();
        self.connections.iter_mut().filter(is_driver).for_each(|c| c.send(line));
    }
}
