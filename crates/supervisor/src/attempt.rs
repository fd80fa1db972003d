//! One attempt from its first step to the moment when nothing of it is left.
//!
//! Knows the order of steps, limits and endings. Must not know drivers, sockets or fences.

use std::fs::File;
use std::os::fd::{OwnedFd, RawFd};
use std::time::{Duration, Instant};

use crate::cgroup::{Cgroup, Delegation};
use crate::folder::Folder;
use crate::memory::MemoryWatch;
use crate::output::Output;
use crate::own_log::OwnLog;
use crate::processes::Named;
use crate::result::{Complaint, Outcome, StepResult};
use crate::spawn::Program;
use crate::step::{Ground, Step};
use crate::sys::{self, Wait};
use crate::text::Text;
use crate::tree::{Ending, Tree};
use crate::wire::{Start, StepSpec, seconds};

/// Reads of one turn: much output must not keep the loop from its timers.
const READS_PER_TURN: usize = 16;
/// What a pipe may still hold when nothing of a step is left; somebody outside may hold it open and write for ever.
const READS_AT_THE_END: usize = 64;

pub struct Attempt {
    pub start: Box<Start>,
    pub began_at_ms: u64,
    pub(crate) folder: Folder,
    pub(crate) output: Output,
    pub(crate) began: Instant,
    pub(crate) results: Vec<StepResult>,
    /// Why it is not simply the last step's outcome; the first cause counts.
    pub(crate) cause: Option<Outcome>,
    pub(crate) fault: Option<Complaint>,
    pub(crate) cpu: Duration,
    pub(crate) largest_process: u64,
    pub(crate) memory: MemoryWatch,
    own_log: Option<OwnLog>,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) ended_processes: usize,
    pub(crate) survivors: Vec<Named>,
    deadline: Option<Instant>,
    step: Option<Step>,
    step_deadline: Option<Instant>,
    step_cpu: Duration,
    ending: Option<Ending>,
    /// Closed when the attempt is over: each may hold a lock of the machine.
    _held: Vec<OwnedFd>,
}

impl Attempt {
    pub fn new(start: Box<Start>, folder: Folder, held: Vec<OwnedFd>, delegation: Option<&Delegation>) -> Attempt {
        let now = Instant::now();
        let cgroup = start.memory_bytes.and_then(|limit| make_cgroup(delegation?, limit));
        let sampled_limit = start.memory_bytes.filter(|_| cgroup.is_none());
        Attempt {
            began_at_ms: wall_clock_ms(),
            folder,
            output: Output::new(&start),
            began: now,
            results: Vec::new(),
            cause: None,
            fault: None,
            cpu: Duration::ZERO,
            largest_process: 0,
            memory: MemoryWatch::new(sampled_limit, now),
            own_log: start.own_log.as_ref().map(|name| OwnLog::new(name, start.head_bytes, start.tail_bytes, now)),
            cgroup,
            ended_processes: 0,
            survivors: Vec::new(),
            deadline: start.timeout_s.map(|s| now + seconds(s)),
            step: None,
            step_deadline: None,
            step_cpu: Duration::ZERO,
            ending: None,
            _held: held,
            start,
        }
    }

    pub fn write_spec(&self, line: &[u8]) -> std::io::Result<()> {
        self.folder.write_spec(line)
    }

    pub fn pid(&self) -> Option<libc::pid_t> {
        self.step.as_ref().map(|step| step.pid)
    }

    pub fn fds(&self) -> impl Iterator<Item = RawFd> + use<> {
        self.step.as_ref().map(Step::fds).into_iter().flatten()
    }

    /// When the loop has to come back even if nothing happens.
    pub fn wake_at(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(Ending::wake_at);
        let own_log = self.own_log.as_ref().map(OwnLog::wake_at);
        let limits = [self.deadline, self.step_deadline, Some(self.memory.wake_at()), own_log];
        // Limits are over once the end has begun.
        let next = ending.or_else(|| limits.into_iter().flatten().min());
        [next, self.output.wake_at()].into_iter().flatten().min()
    }

    /// Start the next step. False: there is none, or it could not be started, or the attempt is to end.
    pub fn start_next_step(&mut self, ground: &Ground) -> bool {
        let Some(spec) = self.start.steps.get(self.results.len()) else {
            return false;
        };
        let now = Instant::now();
        if self.cause.is_none() && self.deadline.is_some_and(|at| now >= at) {
            self.cause = Some(Outcome::TimedOut);
        }
        if self.cause.is_some() {
            return false;
        }
        let mut result = StepResult::named(&spec.name);
        match self.start_step(spec, ground) {
            Ok(step) => {
                self.step_deadline = spec.timeout_s.map(|s| step.started + seconds(s));
                self.step_cpu = Duration::ZERO;
                self.output.begin_step(spec.transcript.as_ref());
                self.step = Some(step);
            }
            Err(complaint) => {
                result.error = Some(complaint);
                self.cause = Some(Outcome::Spawn);
            }
        }
        self.results.push(result);
        self.step.is_some()
    }

    fn start_step(&self, spec: &StepSpec, ground: &Ground) -> Result<Step, Complaint> {
        let input = spec.stdin.as_ref().map(|path| self.open_input(path)).transpose()?;
        let program = Program::new(&spec.argv, &self.start.env, &self.start.cwd);
        let procs = self.cgroup.as_ref().map(Cgroup::procs);
        Step::start(&program, ground, input.as_ref(), self.start.contain, procs).map_err(|f| program.explain(f))
    }

    fn open_input(&self, path: &Text) -> Result<File, Complaint> {
        let complain = |e| Complaint { kind: "stdin", message: format!("{path}: {e}") };
        self.folder.open_input(&path.to_c()).map_err(complain)
    }

    /// Do what is due. True when the attempt is over.
    pub fn turn(&mut self, ground: &Ground, buffer: &mut [u8], child_ended: bool) -> bool {
        self.read_output(buffer, READS_PER_TURN);
        if let Some(step) = &mut self.step {
            step.look_for_report();
        }
        if (child_ended || self.ending.is_some()) && self.reap() {
            self.finish_step(buffer);
            let failed = self.results.last().is_some_and(|r| r.exit_code != Some(0));
            return failed || !self.start_next_step(ground);
        }
        let now = Instant::now();
        let written = self.output.look(&self.folder, now);
        self.note(written);
        self.keep_limits(now);
        if let Some(own_log) = &mut self.own_log {
            own_log.look(&self.folder, now);
        }
        let program_ended = self.step.as_ref().is_some_and(|step| step.status.is_some());
        if program_ended && self.ending.is_none() {
            self.begin_ending(now);
        }
        self.press(now)
    }

    /// Limit the time that is left, or no longer limit it.
    pub fn set_deadline(&mut self, in_s: Option<f64>, now: Instant) {
        self.deadline = in_s.map(|s| now + seconds(s));
    }

    /// Cause the end. What has ended by itself meanwhile keeps its exit code.
    pub fn end(&mut self, cause: Outcome, now: Instant) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            if self.ending.is_none() && self.step.is_some() {
                self.begin_ending(now);
            }
            // Every moment of grace could use up more of what the machine has not got.
            if let (Outcome::Memory, Some(ending)) = (cause, &mut self.ending) {
                ending.hurry(now);
            }
        }
    }

    pub fn fail(&mut self, fault: Complaint) {
        self.fault.get_or_insert(fault);
        self.end(Outcome::Fault, Instant::now());
    }

    fn tree(&self) -> Option<Tree> {
        self.step.as_ref().map(|step| Tree { top: step.pid, init: step.init() })
    }

    fn begin_ending(&mut self, now: Instant) {
        let grace = seconds(self.start.grace_s);
        self.ending = self.tree().map(|tree| Ending::begin(tree, now, grace));
    }

    fn keep_limits(&mut self, now: Instant) {
        if self.ending.is_some() {
            return;
        }
        if [self.deadline, self.step_deadline].into_iter().flatten().any(|at| now >= at) {
            if let Some(result) = self.results.last_mut() {
                result.timed_out = true;
            }
            self.end(Outcome::TimedOut, now);
        } else if self.tree().is_some_and(|tree| self.memory.is_over(tree, now)) {
            self.end(Outcome::Memory, now);
        }
    }

    fn press(&mut self, now: Instant) -> bool {
        let Some(ending) = &mut self.ending else {
            return false;
        };
        if ending.is_hopeless(now) {
            self.survivors = ending.survivors();
            return true;
        }
        ending.press(now);
        if let (true, Some(cgroup)) = (ending.is_killing(), &self.cgroup) {
            cgroup.kill();
        }
        false
    }

    /// Reap all that has ended. True when nothing of the step is left.
    fn reap(&mut self) -> bool {
        loop {
            match sys::wait_any() {
                Wait::Reaped(reaped) => {
                    self.step_cpu += reaped.cpu;
                    self.largest_process = self.largest_process.max(reaped.peak_memory_bytes);
                    if let Some(step) = self.step.as_mut().filter(|step| step.pid == reaped.pid) {
                        step.note_reaped(reaped.status);
                    }
                }
                Wait::StillRunning => return false,
                // Orphans become our children, so no children means nothing; where they do not, we must look.
                Wait::NoChildren if cfg!(target_os = "linux") => return true,
                Wait::NoChildren => {
                    return self.tree().is_none_or(|tree| tree.members().is_empty());
                }
            }
        }
    }

    fn read_output(&mut self, buffer: &mut [u8], reads: usize) {
        for _ in 0..reads {
            let Some(step) = &mut self.step else { return };
            let n = step.read_output(buffer);
            if n == 0 {
                return;
            }
            let taken = self.output.take(&self.folder, &buffer[..n]);
            self.note(taken);
        }
    }

    /// After a failed write the output is still read, so that nothing blocks on the way to its end.
    fn note(&mut self, written: Result<(), Complaint>) {
        if let Err(fault) = written {
            self.fail(fault);
        }
    }

    fn finish_step(&mut self, buffer: &mut [u8]) {
        self.read_output(buffer, READS_AT_THE_END);
        self.close_step();
        if self.cause.is_none() && self.cgroup.as_ref().is_some_and(Cgroup::ran_out) {
            self.cause = Some(Outcome::Memory);
        }
    }

    /// Take down what is known of the running step.
    pub(crate) fn close_step(&mut self) {
        let Some(step) = self.step.take() else { return };
        let written = self.output.end_step(&self.folder);
        self.note(written);
        if let Some(ending) = self.ending.take() {
            self.ended_processes += ending.ended_processes();
        }
        self.cpu += self.step_cpu;
        if let Some(result) = self.results.last_mut() {
            let ended = step.ended.unwrap_or_else(Instant::now);
            result.wall_s = rounded(ended - step.started);
            result.cpu_s = rounded(self.step_cpu);
            if let Some(status) = step.status {
                result.set_status(status);
            }
        }
    }
}

fn make_cgroup(delegation: &Delegation, limit_bytes: u64) -> Option<Cgroup> {
    delegation.create(limit_bytes).inspect_err(|e| complain!("no cgroup, memory is sampled: {e}")).ok()
}

pub fn wall_clock_ms() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_millis() as u64)
}

/// Seconds to the microsecond.
pub fn rounded(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}
