//! Signals, turned into bytes on a pipe that the loop polls.
//!
//! Knows which signals the supervisor handles and ignores. Must not know what is done about them.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use libc::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ, c_int};

use crate::sys;

static WAKE: AtomicI32 = AtomicI32::new(-1);
static CHILD: AtomicBool = AtomicBool::new(false);
static TERMINATE: AtomicBool = AtomicBool::new(false);

// Without XFSZ ignored a file size limit would kill the supervisor instead of failing its write.
const IGNORED: [c_int; 4] = [SIGHUP, SIGINT, SIGPIPE, SIGXFSZ];
const HANDLED: [c_int; 2] = [SIGCHLD, SIGTERM];

pub struct Signals {
    wake: OwnedFd,
    /// Every signal whose disposition is not the default: a step must not inherit one.
    pub to_reset: Vec<c_int>,
}

extern "C" fn note(signal: c_int) {
    let saved = sys::errno();
    match signal {
        SIGCHLD => CHILD.store(true, Ordering::Relaxed),
        _ => TERMINATE.store(true, Ordering::Relaxed),
    }
    unsafe { libc::write(WAKE.load(Ordering::Relaxed), [0u8].as_ptr().cast(), 1) };
    set_errno(saved);
}

fn set_errno(value: c_int) {
    #[cfg(target_os = "linux")]
    unsafe {
        *libc::__errno_location() = value
    };
    #[cfg(not(target_os = "linux"))]
    unsafe {
        *libc::__error() = value
    };
}

impl Signals {
    pub fn install() -> io::Result<Signals> {
        let (wake, write_end) = sys::pipe()?;
        sys::set_nonblocking(write_end.as_raw_fd())?;
        WAKE.store(write_end.into_raw_fd(), Ordering::Relaxed);
        for signal in IGNORED {
            set(signal, libc::SIG_IGN)?;
        }
        for signal in HANDLED {
            set(signal, note as *const () as libc::sighandler_t)?;
        }
        // A driver may have been started with signals blocked; the wake-ups must come through.
        restore(&unsafe { empty_set() });
        Ok(Signals { wake, to_reset: not_default() })
    }

    pub fn fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }

    /// Empty the pipe. Flags are read after this, so a signal in between is seen now or wakes the loop again.
    pub fn drain(&self) {
        let mut buffer = [0; 256];
        while matches!(sys::read(self.fd(), &mut buffer), Ok(n) if n == buffer.len()) {}
    }
}

pub fn take_child() -> bool {
    CHILD.swap(false, Ordering::Relaxed)
}

pub fn take_terminate() -> bool {
    TERMINATE.swap(false, Ordering::Relaxed)
}

fn set(signal: c_int, handler: libc::sighandler_t) -> io::Result<()> {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    sys::check(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }).map(drop)
}

fn not_default() -> Vec<c_int> {
    (1..=64)
        .filter(|&signal| {
            let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
            unsafe { libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction != libc::SIG_DFL }
        })
        .collect()
}

unsafe fn empty_set() -> libc::sigset_t {
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        set
    }
}

/// Block every signal and return the mask that was in force.
pub fn block_all() -> libc::sigset_t {
    unsafe {
        let (mut all, mut old) = (empty_set(), empty_set());
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut old);
        old
    }
}

pub fn restore(mask: &libc::sigset_t) {
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Give a child default dispositions, then an empty mask. Safe between fork and exec.
pub fn reset_for_child(to_reset: &[c_int]) {
    for &signal in to_reset {
        let _ = set(signal, libc::SIG_DFL);
    }
    restore(&unsafe { empty_set() });
}
