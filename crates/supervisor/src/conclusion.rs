//! From an attempt that is over to its result, on the disk and as a message.
//!
//! Knows how the outcome follows from what happened. Must not know sockets.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::attempt::{Attempt, rounded, wall_clock_ms};
use crate::cgroup::Cgroup;
use crate::folder::Folder;
use crate::output::Output;
use crate::result::{self, AttemptResult, Outcome};
use crate::wire::Answer;

const RETRY_EVERY: Duration = Duration::from_secs(1);
const RETRY_FOR: Duration = Duration::from_secs(600);

pub struct Conclusion {
    pub result: AttemptResult,
    log: Option<String>,
    folder: Folder,
    output: Output,
    /// While the file cannot be written: when to try again, and when to give up.
    retry_at: Instant,
    give_up_at: Instant,
}

impl Conclusion {
    /// Put the log in order and say what became of the attempt. Closes what was held for it.
    pub fn of(mut attempt: Attempt) -> Conclusion {
        attempt.close_step();
        if let Err(e) = attempt.output.log.put_in_order(&attempt.folder) {
            attempt.fail(result::fault("the log cannot be put in order", &e));
        }
        let now = Instant::now();
        let log = attempt.output.log.inline().filter(|_| attempt.fault.is_none());
        let sampled = attempt.memory.peak.max(attempt.largest_process);
        Conclusion {
            result: AttemptResult {
                outcome: outcome(&attempt),
                fence: attempt.start.fence,
                began_at_ms: attempt.began_at_ms,
                ended_at_ms: wall_clock_ms(),
                wall_s: rounded(now - attempt.began),
                cpu_s: rounded(attempt.cpu),
                peak_memory_bytes: attempt.cgroup.as_ref().and_then(Cgroup::peak_bytes).unwrap_or(sampled),
                output_bytes: attempt.output.log.output_bytes(),
                dropped_bytes: attempt.output.log.dropped_bytes(),
                ended_processes: attempt.ended_processes,
                retired: !attempt.survivors.is_empty(),
                survivors: attempt.survivors,
                usage: attempt.folder.read_usage(),
                fault: attempt.fault,
                steps: attempt.results,
                attempt: attempt.start.attempt,
            },
            log,
            folder: attempt.folder,
            output: attempt.output,
            retry_at: now,
            give_up_at: now + RETRY_FOR,
        }
    }

    /// Write the file; a failure is kept in the result, so that a driver hears of it another way.
    pub fn write(&mut self, durable: bool) -> io::Result<()> {
        let written = self.write_files(durable);
        if let Err(e) = &written {
            let at = self.folder.path().display();
            self.result.fault.get_or_insert(result::fault(&format!("the result cannot be written in {at}"), e));
            self.retry_at = Instant::now() + RETRY_EVERY;
        }
        written
    }

    /// Whoever finds the result finds all that the attempt printed.
    fn write_files(&mut self, durable: bool) -> io::Result<()> {
        if durable {
            self.folder.sync_content(self.output.names())?;
        }
        self.result.write(&mut self.folder, durable)
    }

    pub fn is_in(&self, dir: &Path) -> bool {
        self.folder.path() == dir
    }

    pub fn retry_at(&self) -> Instant {
        self.retry_at
    }

    pub fn is_hopeless(&self, now: Instant) -> bool {
        now >= self.give_up_at
    }

    pub fn to_line(&self) -> Vec<u8> {
        Answer::Ended { attempt: &self.result.attempt, result: &self.result, log: self.log.as_deref() }.to_line()
    }
}

fn outcome(attempt: &Attempt) -> Outcome {
    if let Some(cause) = attempt.cause {
        return cause;
    }
    let all_ok = attempt.results.iter().all(|step| step.exit_code == Some(0));
    if all_ok { Outcome::Ok } else { Outcome::Failed }
}
