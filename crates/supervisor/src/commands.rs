//! What a supervisor does about each message, and whom it obeys.
//!
//! Knows fences and refusals. Must not know how attempts work inside.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::attempt::{Attempt, wall_clock_ms};
use crate::conclusion::Conclusion;
use crate::connection::Connection;
use crate::folder::{self, Folder};
use crate::result::{self, AttemptResult, Complaint, Outcome};
use crate::serve::Server;
use crate::text::Text;
use crate::wire::{self, Answer, Command, Reason, Start};

const NEWER_DRIVER: &str = "a newer driver has this run";
const NOT_BELOW: &str = "forget names a directory that is not one of an ended attempt, directly below attempts";

/// Why an attempt was not begun.
enum NoStart {
    Refused(Reason, String),
    Fault(Complaint),
}

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
            Command::Deadline { fence, attempt, in_s } => self.set_deadline(i, fence, &attempt, in_s),
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
        if let Some(conclusion) = &self.unwritten {
            self.connections[i].send(&conclusion.to_line());
        }
    }

    fn start(&mut self, i: usize, start: Box<Start>, line: &[u8]) {
        let held = std::mem::take(&mut self.connections[i].held);
        match self.prepare(&start) {
            Ok((folder, forgotten)) => {
                self.begin(start, folder, held, line);
                // After the first step has started: the removal costs it nothing.
                self.forgotten.extend(forgotten);
            }
            Err(no) => {
                // Before the answer: whoever reads it may want the lock that they stand for.
                drop(held);
                self.decline(i, &start, no);
            }
        }
    }

    /// Make the directory and claim the attempt, if nothing speaks against it.
    fn prepare(&mut self, start: &Start) -> Result<(Folder, Vec<PathBuf>), NoStart> {
        let refused = |reason, message: &str| Err(NoStart::Refused(reason, message.into()));
        if !self.is_current(start.fence) {
            return refused(Reason::Fence, NEWER_DRIVER);
        }
        if self.retired || self.exiting {
            return refused(Reason::Retired, "this supervisor takes no more work");
        }
        let Some(forgotten) = self.checked_dirs(&start.forget) else {
            return refused(Reason::Bad, NOT_BELOW);
        };
        forgotten.iter().for_each(|dir| self.drop_unwritten(dir));
        if self.attempt.is_some() || self.unwritten.is_some() {
            return refused(Reason::Busy, "an attempt is running");
        }
        match self.shelf.begin(start.dir.to_path()) {
            Ok(Some(folder)) => Ok((folder, forgotten)),
            Ok(None) => refused(Reason::Begun, "this attempt has begun before"),
            Err(e) => Err(NoStart::Fault(result::fault(&format!("{} cannot be made", start.dir), &e))),
        }
    }

    fn begin(&mut self, mut start: Box<Start>, folder: Folder, held: Vec<OwnedFd>, line: &[u8]) {
        start.env.set("TMPDIR", self.slot.places.tmp.as_os_str().as_encoded_bytes());
        let mut attempt = Attempt::new(start, folder, held, self.abilities.delegation());
        match attempt.write_spec(line) {
            Err(e) => attempt.fail(result::fault("the attempt cannot be written down", &e)),
            Ok(()) => drop(attempt.start_next_step(&self.ground)),
        }
        let begun = |pid| Answer::Begun { attempt: &attempt.start.attempt, pid, at_ms: attempt.began_at_ms };
        let begun = attempt.pid().map(|pid| begun(pid).to_line());
        self.attempt = Some(attempt);
        match begun {
            Some(line) => self.tell_driver(&line),
            None => self.conclude(),
        }
    }

    fn decline(&mut self, i: usize, start: &Start, no: NoStart) {
        match no {
            NoStart::Refused(reason, message) => {
                self.refuse(i, Some(&start.attempt), reason, &message);
                // Its driver may have heard of this before it asked: then it waits for us, and we for its `forget`.
                if let Some(line) = self.unwritten.as_ref().map(Conclusion::to_line) {
                    self.connections[i].send(&line);
                }
            }
            NoStart::Fault(fault) => {
                let result = AttemptResult::stillborn(start, wall_clock_ms(), fault);
                self.tell_driver(&Answer::Ended { attempt: &start.attempt, result: &result, log: None }.to_line());
            }
        }
    }

    fn cancel(&mut self, i: usize, fence: u64, id: &str) {
        if let Some(attempt) = self.running(i, fence, id) {
            attempt.end(Outcome::Cancelled, Instant::now());
        }
    }

    fn set_deadline(&mut self, i: usize, fence: u64, id: &str, in_s: Option<f64>) {
        if let Some(attempt) = self.running(i, fence, id) {
            attempt.set_deadline(in_s, Instant::now());
        }
    }

    /// The attempt that a command is about. One that has just ended crossed it with its `ended`: nothing to do.
    fn running(&mut self, i: usize, fence: u64, id: &str) -> Option<&mut Attempt> {
        if !self.accept_fence(i, fence, Some(id)) {
            return None;
        }
        self.attempt.as_mut().filter(|a| a.start.attempt == id)
    }

    fn forget(&mut self, i: usize, fence: u64, dirs: &[Text]) {
        if !self.accept_fence(i, fence, None) {
            return;
        }
        match self.checked_dirs(dirs) {
            // At once: the next start may need the room.
            Some(dirs) => dirs.iter().for_each(|dir| self.forget_dir(dir)),
            None => self.refuse(i, None, Reason::Bad, NOT_BELOW),
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

    fn accept_fence(&mut self, i: usize, fence: u64, attempt: Option<&str>) -> bool {
        let current = self.is_current(fence);
        if !current {
            self.refuse(i, attempt, Reason::Fence, NEWER_DRIVER);
        }
        current
    }

    /// Whether this number is the highest, here and on disk. It is remembered.
    fn is_current(&mut self, fence: u64) -> bool {
        self.fence = self.fence.max(fence).max(self.slot.fence_on_disk());
        fence == self.fence
    }

    fn refuse(&mut self, i: usize, attempt: Option<&str>, reason: Reason, message: &str) {
        let line = Answer::Refused { attempt, reason, fence: self.fence, message }.to_line();
        self.connections[i].send(&line);
    }

    pub fn refuse_as_bad(&mut self, i: usize, message: &str) {
        self.refuse(i, None, Reason::Bad, message);
        self.connections[i].close();
    }

    /// The driver has this result in its store: no file need hold it.
    fn drop_unwritten(&mut self, dir: &Path) {
        if self.unwritten.as_ref().is_some_and(|c| c.is_in(dir)) {
            self.unwritten = None;
        }
    }

    pub fn forget_dir(&mut self, dir: &Path) {
        self.drop_unwritten(dir);
        if let Err(e) = self.shelf.forget(dir) {
            complain!("{} cannot be removed: {e}", dir.display());
        }
    }

    pub fn has_driver(&self) -> bool {
        self.connections.iter().any(|c| c.is_open() && c.fence.is_some())
    }

    pub fn tell_driver(&mut self, line: &[u8]) {
        let is_driver = |c: &&mut Connection| c.is_open() && c.fence.is_some();
        self.connections.iter_mut().filter(is_driver).for_each(|c| c.send(line));
    }
}
