//! The result of an attempt and its file.
//!
//! Knows the fields that a driver reads and how they are made durable. Must not know how an attempt is run.

use std::io;

use serde::Serialize;

use crate::folder::Folder;
use crate::processes::Named;
use crate::sys;
use crate::wire::Start;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Failed,
    TimedOut,
    Cancelled,
    Memory,
    Spawn,
    Fault,
}

#[derive(Clone, Debug, Serialize)]
pub struct Complaint {
    pub kind: &'static str,
    pub message: String,
}

#[derive(Debug, Serialize)]
pub struct StepResult {
    pub name: String,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub wall_s: f64,
    pub cpu_s: f64,
    pub timed_out: bool,
    pub error: Option<Complaint>,
}

#[derive(Debug, Serialize)]
pub struct AttemptResult {
    pub attempt: String,
    pub fence: u64,
    pub outcome: Outcome,
    pub steps: Vec<StepResult>,
    pub began_at_ms: u64,
    pub ended_at_ms: u64,
    pub wall_s: f64,
    pub cpu_s: f64,
    pub peak_memory_bytes: u64,
    pub output_bytes: u64,
    pub dropped_bytes: u64,
    pub ended_processes: usize,
    pub survivors: Vec<Named>,
    pub usage: Option<String>,
    pub fault: Option<Complaint>,
    pub retired: bool,
}

impl StepResult {
    pub fn named(name: &str) -> StepResult {
        StepResult {
            name: name.into(),
            exit_code: None,
            signal: None,
            wall_s: 0.0,
            cpu_s: 0.0,
            timed_out: false,
            error: None,
        }
    }

    pub fn set_status(&mut self, status: libc::c_int) {
        if libc::WIFSIGNALED(status) {
            self.signal = Some(libc::WTERMSIG(status));
        } else {
            self.exit_code = Some(libc::WEXITSTATUS(status));
        }
    }
}

impl AttemptResult {
    /// Of an attempt whose directory could not even be made.
    pub fn stillborn(start: &Start, at_ms: u64, fault: Complaint) -> AttemptResult {
        AttemptResult {
            attempt: start.attempt.clone(),
            fence: start.fence,
            outcome: Outcome::Fault,
            steps: Vec::new(),
            began_at_ms: at_ms,
            ended_at_ms: at_ms,
            wall_s: 0.0,
            cpu_s: 0.0,
            peak_memory_bytes: 0,
            output_bytes: 0,
            dropped_bytes: 0,
            ended_processes: 0,
            survivors: Vec::new(),
            usage: None,
            fault: Some(fault),
            retired: false,
        }
    }

    /// Put the file in place by rename; a reader sees all of it or none. Durable: on the disk when this returns.
    pub fn write(&self, folder: &mut Folder, durable: bool) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).expect("plain data can be written as JSON");
        match write_bytes(folder, &bytes, durable) {
            // The attempt may have removed its own directory; its result must still be found.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                folder.create_again()?;
                write_bytes(folder, &bytes, durable)
            }
            other => other,
        }
    }
}

fn write_bytes(folder: &Folder, bytes: &[u8], durable: bool) -> io::Result<()> {
    let file = folder.fill(c"result.json.new", 0o644, bytes)?;
    if durable {
        file.sync_all()?;
    }
    sys::rename_at(folder.fd(), c"result.json.new", c"result.json")?;
    if durable {
        folder.sync()?;
    }
    Ok(())
}

/// Whether the machine is to blame, in the words of the contract.
pub fn fault(what: &str, error: &io::Error) -> Complaint {
    let kind = if is_full(error) { "disk_full" } else { "io" };
    Complaint { kind, message: format!("{what}: {error}") }
}

/// Whether there is no room, or no more of it for us.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_an_exit_code_or_a_signal() {
        let mut step = StepResult::named("run");
        step.set_status(3 << 8);
        assert_eq!((step.exit_code, step.signal), (Some(3), None));
        let mut step = StepResult::named("run");
        step.set_status(libc::SIGKILL);
        assert_eq!((step.exit_code, step.signal), (None, Some(9)));
    }

    #[test]
    fn a_full_disk_and_a_used_up_quota_are_one_fault() {
        for errno in [libc::ENOSPC, libc::EDQUOT] {
            assert_eq!(fault("log", &io::Error::from_raw_os_error(errno)).kind, "disk_full");
        }
        assert_eq!(fault("log", &io::Error::from_raw_os_error(libc::EIO)).kind, "io");
    }
}
