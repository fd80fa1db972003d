//! One step while it runs: its process, its output, how it ended.
//!
//! Knows one process (or the init above it). Must not know the steps before and after, nor what is left below.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Instant;

use libc::{c_int, pid_t};

#[cfg(target_os = "linux")]
use crate::namespace::Init;
use crate::spawn::{Failure, Image, Program, Setting, Stage};
use crate::sys;
use crate::wire::Contain;

/// What every step of a supervisor shares.
pub struct Ground {
    pub null: OwnedFd,
    pub signals_to_reset: Vec<c_int>,
}

pub struct Step {
    /// The process we wait for: the program itself or, in a namespace, its init.
    pub pid: pid_t,
    pub started: Instant,
    pub ended: Option<Instant>,
    pub status: Option<c_int>,
    output: OwnedFd,
    output_open: bool,
    #[cfg(target_os = "linux")]
    init: Option<Init>,
}

impl Step {
    /// Without an input it reads nothing.
    pub fn start(
        program: &Program,
        ground: &Ground,
        input: Option<&File>,
        contain: Contain,
        cgroup: Option<RawFd>,
    ) -> Result<Step, Failure> {
        // A pipe of its own: what an earlier step did to its end (O_NONBLOCK, say) would hold for this one too.
        let (output, write_end) = sys::pipe().map_err(|_| Failure { stage: Stage::Clone, errno: sys::errno() })?;
        let setting = Setting {
            input: input.map_or(ground.null.as_raw_fd(), AsRawFd::as_raw_fd),
            output: write_end.as_raw_fd(),
            signals_to_reset: &ground.signals_to_reset,
            cgroup,
        };
        let image = Image::new(program, &setting);
        let started = Instant::now();
        match contain {
            Contain::Tree => Ok(Step {
                pid: image.start()?,
                started,
                ended: None,
                status: None,
                output,
                output_open: true,
                #[cfg(target_os = "linux")]
                init: None,
            }),
            #[cfg(target_os = "linux")]
            Contain::Namespace => {
                let init = Init::start(&image)?;
                Ok(Step {
                    pid: init.pid,
                    started,
                    ended: None,
                    status: None,
                    output,
                    output_open: true,
                    init: Some(init),
                })
            }
            #[cfg(not(target_os = "linux"))]
            Contain::Namespace => Err(Failure { stage: Stage::Contain, errno: libc::ENOSYS }),
        }
    }

    /// The init of the step's namespace, which is no part of the work.
    pub fn init(&self) -> Option<pid_t> {
        #[cfg(target_os = "linux")]
        return self.init.as_ref().map(|init| init.pid);
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Descriptors to poll while they can still say something.
    pub fn fds(&self) -> impl Iterator<Item = RawFd> + use<> {
        let output = self.output_open.then(|| self.output.as_raw_fd());
        #[cfg(target_os = "linux")]
        let report = self.init.as_ref().filter(|_| self.status.is_none()).map(Init::fd);
        #[cfg(not(target_os = "linux"))]
        let report = None;
        output.into_iter().chain(report)
    }

    /// Read what is there, at most a buffer; 0 means nothing now.
    pub fn read_output(&mut self, buffer: &mut [u8]) -> usize {
        if !self.output_open {
            return 0;
        }
        loop {
            match sys::read(self.output.as_raw_fd(), buffer) {
                Ok(0) => self.output_open = false,
                Ok(n) => return n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => (),
            }
            return 0;
        }
    }

    /// Look whether the init has told how the step ended.
    pub fn look_for_report(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(status) = self.init.as_ref().filter(|_| self.status.is_none()).and_then(Init::take_status) {
            self.note_status(status);
        }
    }

    /// Take note that `self.pid` was reaped.
    pub fn note_reaped(&mut self, status: c_int) {
        // An init tells before it goes; one that did not was killed, and the step with it.
        self.look_for_report();
        if self.status.is_none() {
            self.note_status(status);
        }
    }

    fn note_status(&mut self, status: c_int) {
        self.status = Some(status);
        self.ended = Some(Instant::now());
    }
}
