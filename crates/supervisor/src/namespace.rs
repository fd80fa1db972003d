//! A PID namespace for one step: its init, and what the init does.
//!
//! Knows clone flags, id maps and mounts. Must not know attempts or messages.
//!
//! The init is a copy of the supervisor that never executes anything else. It starts the step, reaps whatever is
//! left to it, tells how the step ended and goes when nothing is left. Its death ends everything in the namespace.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};

use crate::signals;
use crate::spawn::{Failure, Image, Stage, raise_oom_score};
use crate::sys;

const NEW_PID: c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
/// Kind, then a number: what the init tells over its pipe, in one write.
type Report = [c_int; 2];
const STARTED: c_int = 1;
const ENDED: c_int = 2;
const NO_CONTAINMENT: c_int = 10;
const NO_DIRECTORY: c_int = 11;
const NO_EXEC: c_int = 12;
const NO_CLONE: c_int = 13;

pub struct Init {
    pub pid: pid_t,
    reports: OwnedFd,
    /// Held open as long as the supervisor lives; see `tie_to_parent`.
    _life: OwnedFd,
}

impl Init {
    pub fn start(image: &Image) -> Result<Init, Failure> {
        let failed = |stage| Failure { stage, errno: sys::errno() };
        let (reports, tell) = sys::pipe().map_err(|_| failed(Stage::Clone))?;
        let (watch, life) = sys::pipe().map_err(|_| failed(Stage::Clone))?;
        let mask = signals::block_all();
        let pid = clone_init(|own_user| {
            // Only our copy may hold the pipe open, or the init would wait for itself.
            unsafe { libc::close(life.as_raw_fd()) };
            be_init(image, own_user, tell.as_raw_fd(), watch.as_raw_fd())
        });
        let error = failed(Stage::Contain);
        signals::restore(&mask);
        drop(tell);
        let init = Init { pid: if pid < 0 { return Err(error) } else { pid }, reports, _life: life };
        init.wait_for_start()?;
        Ok(init)
    }

    fn wait_for_start(&self) -> Result<(), Failure> {
        let mut ready = [libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 }];
        while ready[0].revents == 0 {
            if sys::poll(&mut ready, None).is_err() {
                break;
            }
        }
        let (stage, errno) = match self.report() {
            Some([STARTED, _]) => return Ok(()),
            Some([NO_DIRECTORY, errno]) => (Stage::Directory, errno),
            Some([NO_EXEC, errno]) => (Stage::Exec, errno),
            Some([NO_CLONE, errno]) => (Stage::Clone, errno),
            Some([_, errno]) => (Stage::Contain, errno),
            None => (Stage::Contain, 0),
        };
        let mut status = 0;
        unsafe { libc::waitpid(self.pid, &mut status, 0) };
        // An init that could not map its ids says why by its exit code.
        Err(Failure { stage, errno: if errno == 0 { libc::WEXITSTATUS(status) } else { errno } })
    }

    pub fn fd(&self) -> RawFd {
        self.reports.as_raw_fd()
    }

    /// How the step ended, if the init has told.
    pub fn take_status(&self) -> Option<c_int> {
        match self.report() {
            Some([ENDED, status]) => Some(status),
            _ => None,
        }
    }

    fn report(&self) -> Option<Report> {
        let mut bytes = [0; 8];
        match sys::read(self.fd(), &mut bytes) {
            Ok(8) => {
                let word = |i: usize| c_int::from_ne_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
                Some([word(0), word(4)])
            }
            _ => None,
        }
    }
}

/// Try a namespace of the machine's own first (root), then one below a user namespace.
fn clone_init(child: impl Fn(bool) -> c_int) -> pid_t {
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    if uid == 0 {
        let pid = clone_with(NEW_PID, || child(false));
        if pid >= 0 {
            return pid;
        }
    }
    clone_with(NEW_PID | libc::CLONE_NEWUSER, || match map_ids(uid, gid) {
        Ok(()) => child(true),
        Err(errno) => errno,
    })
}

fn clone_with(flags: c_int, child: impl Fn() -> c_int) -> pid_t {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // Like fork: a copy of our memory. One thread only, so the copy is whole and may run ordinary code.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } as pid_t;
    if pid == 0 {
        let code = child();
        unsafe { libc::_exit(code) }
    }
    pid
}

/// The user stays who it was: mapped to itself.
fn map_ids(uid: libc::uid_t, gid: libc::gid_t) -> Result<(), c_int> {
    let write =
        |path: &str, text: String| std::fs::write(path, text).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO));
    // The kernel asks for this before an unprivileged process may map its group.
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

fn be_init(image: &Image, own_user: bool, tell: RawFd, watch: RawFd) -> c_int {
    if !tie_to_parent(watch) {
        return 1;
    }
    // Locks and connections of the supervisor must not live on in this copy.
    let setting = image.setting;
    sys::close_all_but(&mut [tell, setting.input, setting.output, setting.cgroup.unwrap_or(tell)]);
    raise_oom_score();
    mount_proc();
    if own_user {
        // What runs inside has the same user and must not be able to trace its init.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    }
    match image.start() {
        Ok(pid) => {
            report(tell, [STARTED, 0]);
            close_output(image);
            reap_until_alone(pid, tell);
            0
        }
        Err(failure) => {
            let kind = match failure.stage {
                Stage::Directory => NO_DIRECTORY,
                Stage::Exec => NO_EXEC,
                Stage::Clone => NO_CLONE,
                Stage::Contain => NO_CONTAINMENT,
            };
            report(tell, [kind, failure.errno]);
            1
        }
    }
}

fn close_output(image: &Image) {
    unsafe { libc::close(image.setting.output) };
}

/// Die with the supervisor. False: it is dead already.
fn tie_to_parent(watch: RawFd) -> bool {
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    // It may have died before that call took effect. In here getppid is 0 either way; the pipe that only the
    // supervisor holds open tells.
    let mut life = [libc::pollfd { fd: watch, events: libc::POLLIN, revents: 0 }];
    unsafe { libc::poll(life.as_mut_ptr(), 1, 0) == 0 }
}

/// Best effort: without it the step sees the machine's processes, but still cannot reach them by number.
fn mount_proc() {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let nothing = std::ptr::null();
    unsafe {
        let private = libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_SLAVE, std::ptr::null());
        // Never without: the mount would show in the machine's own tree.
        if private == 0 {
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null());
        }
    }
}

fn reap_until_alone(step: pid_t, tell: RawFd) {
    loop {
        let mut status = 0;
        match unsafe { libc::waitpid(-1, &mut status, 0) } {
            pid if pid == step => report(tell, [ENDED, status]),
            pid if pid < 0 && sys::errno() == libc::ECHILD => return,
            _ => (),
        }
    }
}

fn report(tell: RawFd, report: Report) {
    unsafe { libc::write(tell, report.as_ptr().cast(), size_of::<Report>()) };
}

/// Whether the kernel lets us; the error is a reason for people.
pub fn probe() -> Result<(), String> {
    let pid = clone_init(|_| 0);
    if pid < 0 {
        return Err(std::io::Error::from_raw_os_error(sys::errno()).to_string());
    }
    let mut status = 0;
    unsafe { libc::waitpid(pid, &mut status, 0) };
    match libc::WEXITSTATUS(status) {
        _ if libc::WIFSIGNALED(status) => Err(format!("its init was ended by signal {}", libc::WTERMSIG(status))),
        0 => Ok(()),
        errno => Err(format!("ids cannot be mapped: {}", std::io::Error::from_raw_os_error(errno))),
    }
}
