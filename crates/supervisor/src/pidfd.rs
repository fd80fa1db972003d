//! A handle on one process that no later process with the same number can be mistaken for.
//!
//! Knows pidfds and, where there are none, plain numbers. Must not know why a process is signalled.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};

use crate::{processes, sys};

pub struct Pidfd {
    pub pid: pid_t,
    fd: Option<OwnedFd>,
}

impl Pidfd {
    /// Err: there is no such process.
    pub fn open(pid: pid_t) -> io::Result<Pidfd> {
        #[cfg(target_os = "linux")]
        match sys::check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as c_int) {
            Ok(fd) => {
                return Ok(Pidfd { pid, fd: Some(unsafe { OwnedFd::from_raw_fd(fd) }) });
            }
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => return Err(e),
            Err(_) => (),
        }
        sys::kill(pid, 0).map(|()| Pidfd { pid, fd: None })
    }

    pub fn is_real(&self) -> bool {
        self.fd.is_some()
    }

    pub fn raw(&self) -> Option<RawFd> {
        self.fd.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub fn signal(&self, signal: c_int) {
        #[cfg(target_os = "linux")]
        if let Some(fd) = self.raw() {
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, 0, 0) };
            return;
        }
        let _ = sys::kill(self.pid, signal);
    }

    pub fn is_alive(&self) -> bool {
        if let Some(fd) = self.raw() {
            let mut ready = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
            return unsafe { libc::poll(ready.as_mut_ptr(), 1, 0) } == 0;
        }
        processes::look(self.pid).is_some_and(|p| !p.zombie)
    }
}
