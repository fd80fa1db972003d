//! Thin wrappers over the system calls that the standard library lacks.
//!
//! Knows errno and file descriptors. Must not know attempts, messages or limits.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use libc::{c_int, pid_t};

pub fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

pub fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Open `name` below `dir`; always close-on-exec.
pub fn open_at(dir: RawFd, name: &CStr, flags: c_int, mode: u32) -> io::Result<File> {
    let fd = check(unsafe { libc::openat(dir, name.as_ptr(), flags | libc::O_CLOEXEC, mode as libc::c_uint) })?;
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// A new file `name` below `dir`. What is there already is removed: a link or FIFO that an attempt laid would lead
/// our bytes elsewhere or nowhere.
pub fn create_at(dir: RawFd, name: &CStr, mode: u32) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    match open_at(dir, name, flags, mode) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            check(unsafe { libc::unlinkat(dir, name.as_ptr(), 0) })?;
            open_at(dir, name, flags, mode)
        }
        other => other,
    }
}

/// The file `name` below `dir` to be written from its beginning, made where it is missing; the caller sets its length.
pub fn open_to_overwrite(dir: RawFd, name: &CStr, mode: u32) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    match open_at(dir, name, flags, mode) {
        Ok(file) if file.metadata().is_ok_and(|m| m.is_file() && m.nlink() == 1) => Ok(file),
        _ => create_at(dir, name, mode),
    }
}

/// Give back so much of a file's content, but not its length. False: this file system cannot.
pub fn punch_out(file: &File, from: u64, bytes: u64) -> bool {
    #[cfg(target_os = "linux")]
    {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        unsafe { libc::fallocate(file.as_raw_fd(), mode, from as libc::off_t, bytes as libc::off_t) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, from, bytes);
        false
    }
}

pub fn rename_at(dir: RawFd, from: &CStr, to: &CStr) -> io::Result<()> {
    check(unsafe { libc::renameat(dir, from.as_ptr(), dir, to.as_ptr()) }).map(drop)
}

/// A link in its place is an error, never followed.
pub fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let fd = check(unsafe {
        libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
    })?;
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A pipe (read end, write end), both close-on-exec; the read end does not block.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    #[cfg(target_os = "linux")]
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    #[cfg(not(target_os = "linux"))]
    check(unsafe { libc::pipe(ends.as_mut_ptr()) })?;
    let ends = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    #[cfg(not(target_os = "linux"))]
    for end in &ends {
        set_cloexec(end.as_raw_fd())?;
    }
    set_nonblocking(ends[0].as_raw_fd())?;
    Ok(ends.into())
}

pub fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    // Pipes and sockets of ours have no other flag to keep.
    check(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) }).map(drop)
}

pub fn set_cloexec(fd: RawFd) -> io::Result<()> {
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) }).map(drop)
}

pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

pub fn is_socket(fd: RawFd) -> bool {
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    unsafe { libc::fstat(fd, &mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFSOCK }
}

/// Take the lock, or say at once that another process holds it.
pub fn lock_exclusively(file: &File) -> io::Result<bool> {
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::EWOULDBLOCK) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Wait for events; a signal ends the wait early and is no error.
pub fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    // Rounded up: rounding down would spin through the last millisecond before a deadline.
    let ms = timeout.map_or(-1, |t| c_int::try_from(t.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX));
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) }) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
            fds.iter_mut().for_each(|fd| fd.revents = 0);
            Ok(())
        }
        other => other.map(drop),
    }
}

pub struct Reaped {
    pub pid: pid_t,
    pub status: c_int,
    pub cpu: Duration,
    pub peak_memory_bytes: u64,
}

pub enum Wait {
    Reaped(Reaped),
    StillRunning,
    NoChildren,
}

/// Reap one child that has ended, if there is one.
pub fn wait_any() -> Wait {
    let mut status = 0;
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        match unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage) } {
            0 => return Wait::StillRunning,
            pid if pid > 0 => {
                return Wait::Reaped(Reaped {
                    pid,
                    status,
                    cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                    peak_memory_bytes: peak_bytes(&usage),
                });
            }
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => continue,
            _ => return Wait::NoChildren,
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec.max(0) as u64, time.tv_usec.max(0) as u32 * 1000)
}

fn peak_bytes(usage: &libc::rusage) -> u64 {
    let peak = usage.ru_maxrss.max(0) as u64;
    if cfg!(target_os = "macos") { peak } else { peak * 1024 }
}

pub fn kill(pid: pid_t, signal: c_int) -> io::Result<()> {
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Orphans below this process become its children, whatever they did with sessions and groups.
pub fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    return unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } == 0;
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Close every descriptor from `first` on, inherited ones included.
pub fn close_from(first: RawFd) {
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    #[cfg(target_os = "linux")]
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    let highest = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) }.clamp(0, 65_536) as RawFd;
    for fd in first..=last.min(highest) {
        unsafe { libc::close(fd) };
    }
}

/// Close everything above stderr but `keep`; sorts `keep`. Allocates nothing: used between fork and exec.
#[cfg(target_os = "linux")]
pub fn close_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut next = 3;
    for &fd in keep.iter().filter(|&&fd| fd >= 3) {
        if fd > next {
            close_range(next, fd - 1);
        }
        next = fd + 1;
    }
    close_from(next);
}

pub fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
