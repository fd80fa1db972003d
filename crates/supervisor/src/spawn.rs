//! Start one program in a session of its own.
//!
//! Knows what has to be set between clone and exec. Must not know attempts, limits or messages.
//!
//! The child shares our memory until it execs, as with vfork, and we sleep meanwhile: nothing is copied, and an
//! error comes back through a plain field. So everything is prepared before; the child allocates nothing.

#[cfg(target_os = "linux")]
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;

use libc::{c_char, c_int, pid_t};

use crate::result::Complaint;
use crate::text::{Environment, Text};
use crate::{signals, sys};

// Raised above the supervisor's own: when memory runs out the kernel should end the work, not its keeper.
const OOM_SCORE_ADJ: &[u8] = b"500";
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Clone,
    Contain,
    Directory,
    Exec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub stage: Stage,
    pub errno: c_int,
}

/// Strings of a step, owned, as exec wants them.
pub struct Program {
    /// Where the program may be, in the order to try.
    places: Vec<CString>,
    argv: Vec<CString>,
    envp: Vec<CString>,
    cwd: CString,
}

impl Program {
    pub fn new(argv: &[Text], env: &Environment, cwd: &Text) -> Program {
        Program {
            places: places(argv[0].bytes(), env),
            argv: argv.iter().map(Text::to_c).collect(),
            envp: env.to_c(),
            cwd: cwd.to_c(),
        }
    }

    pub fn explain(&self, failure: Failure) -> Complaint {
        let error = io::Error::from_raw_os_error(failure.errno);
        let (program, cwd) = (self.argv[0].to_string_lossy(), self.cwd.to_string_lossy());
        let missing = matches!(failure.errno, libc::ENOENT | libc::ENOTDIR);
        let denied = matches!(failure.errno, libc::EACCES | libc::EPERM);
        let (kind, message) = match failure.stage {
            Stage::Directory if missing => ("no_directory", format!("{cwd}: {error}")),
            Stage::Directory if denied => ("denied", format!("{cwd}: {error}")),
            Stage::Directory => ("other", format!("{cwd}: {error}")),
            Stage::Exec if missing => ("not_found", format!("{program}: {error}")),
            Stage::Exec if denied => ("denied", format!("{program}: {error}")),
            Stage::Exec => ("other", format!("{program}: {error}")),
            Stage::Contain => ("other", format!("namespace containment is not possible here: {error}")),
            Stage::Clone => ("other", format!("cannot start a process: {error}")),
        };
        Complaint { kind, message }
    }
}

/// The PATH is the attempt's own, never the supervisor's.
fn places(program: &[u8], env: &Environment) -> Vec<CString> {
    let c = |bytes: Vec<u8>| CString::new(bytes).expect("checked for NUL when it was read");
    if program.contains(&b'/') {
        return vec![c(program.to_vec())];
    }
    let path = env.get("PATH").map_or(DEFAULT_PATH, Text::bytes);
    let join = |dir: &[u8]| c([if dir.is_empty() { b"." } else { dir }, b"/", program].concat());
    path.split(|b| *b == b':').map(join).collect()
}

/// Descriptors and settings of one step.
pub struct Setting<'a> {
    pub input: RawFd,
    pub output: RawFd,
    pub signals_to_reset: &'a [c_int],
    /// `cgroup.procs` of the cgroup to join.
    pub cgroup: Option<RawFd>,
}

/// Everything the child touches, as plain pointers.
pub struct Image<'a> {
    places: Vec<*const c_char>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    cwd: &'a CStr,
    pub setting: &'a Setting<'a>,
    #[cfg(target_os = "linux")]
    failure: Cell<Option<Failure>>,
}

impl<'a> Image<'a> {
    pub fn new(program: &'a Program, setting: &'a Setting<'a>) -> Image<'a> {
        Image {
            places: pointers(&program.places),
            argv: pointers(&program.argv),
            envp: pointers(&program.envp),
            cwd: &program.cwd,
            setting,
            #[cfg(target_os = "linux")]
            failure: Cell::new(None),
        }
    }

    /// Start the program; returns when it has been executed or could not be.
    pub fn start(&self) -> Result<pid_t, Failure> {
        // A signal that came in between would run our handler inside the child.
        let mask = signals::block_all();
        let started = start_child(self);
        signals::restore(&mask);
        started
    }

    fn become_program(&self) -> Failure {
        let Setting { input, output, signals_to_reset, cgroup } = *self.setting;
        unsafe {
            libc::setsid();
            libc::dup2(input, 0);
            libc::dup2(output, 1);
            libc::dup2(output, 2);
            if let Some(procs) = cgroup {
                libc::write(procs, c"0".as_ptr().cast(), 1);
            }
            raise_oom_score();
            if libc::chdir(self.cwd.as_ptr()) != 0 {
                return Failure { stage: Stage::Directory, errno: sys::errno() };
            }
        }
        signals::reset_for_child(signals_to_reset);
        Failure { stage: Stage::Exec, errno: self.execute() }
    }

    /// Look on, but remember that one was there and not permitted. A directory of the PATH that we may not search
    /// (root's, say) says nothing about the program.
    fn execute(&self) -> c_int {
        let mut verdict = libc::ENOENT;
        let searching = self.places.len() > 2;
        for &place in self.places.iter().take_while(|p| !p.is_null()) {
            unsafe { libc::execve(place, self.argv.as_ptr(), self.envp.as_ptr()) };
            match sys::errno() {
                libc::ENOENT | libc::ENOTDIR => (),
                libc::EACCES if searching && unsafe { libc::access(place, libc::F_OK) } != 0 => (),
                libc::EACCES => verdict = libc::EACCES,
                other => return other,
            }
        }
        verdict
    }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Best effort: where it is not allowed the step is as likely a victim as we are.
pub fn raise_oom_score() {
    #[cfg(target_os = "linux")]
    unsafe {
        let fd = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, OOM_SCORE_ADJ.as_ptr().cast(), OOM_SCORE_ADJ.len());
            libc::close(fd);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = OOM_SCORE_ADJ;
}

#[cfg(target_os = "linux")]
fn start_child(image: &Image) -> Result<pid_t, Failure> {
    extern "C" fn run(image: *mut libc::c_void) -> c_int {
        let image = unsafe { &*(image as *const Image) };
        image.failure.set(Some(image.become_program()));
        unsafe { libc::_exit(127) }
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let argument = std::ptr::from_ref(image) as *mut libc::c_void;
    let pid = unsafe { libc::clone(run, stack_top(), flags, argument) };
    match image.failure.take() {
        _ if pid < 0 => Err(Failure { stage: Stage::Clone, errno: sys::errno() }),
        Some(failure) => {
            reap(pid);
            Err(failure)
        }
        None => Ok(pid),
    }
}

/// A stack for the moment between clone and exec, mapped once.
#[cfg(target_os = "linux")]
fn stack_top() -> *mut libc::c_void {
    use std::sync::OnceLock;
    const BYTES: usize = 256 * 1024;
    static STACK: OnceLock<usize> = OnceLock::new();
    let top = *STACK.get_or_init(|| {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK);
        let base = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "no memory for a stack");
        base as usize + BYTES
    });
    top as *mut libc::c_void
}

/// Elsewhere: fork, and a pipe that exec closes or an error comes through.
#[cfg(not(target_os = "linux"))]
fn start_child(image: &Image) -> Result<pid_t, Failure> {
    use std::os::fd::AsRawFd;
    let clone_failed = |_| Failure { stage: Stage::Clone, errno: sys::errno() };
    let (read_end, write_end) = sys::pipe().map_err(clone_failed)?;
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let failure = image.become_program();
        let words = [(failure.stage == Stage::Directory) as c_int, failure.errno];
        unsafe {
            libc::write(write_end.as_raw_fd(), words.as_ptr().cast(), 8);
            libc::_exit(127)
        }
    }
    drop(write_end);
    sys::check(pid).map_err(clone_failed)?;
    let mut ready = [libc::pollfd { fd: read_end.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
    let mut words = [0u8; 8];
    let _ = sys::poll(&mut ready, None);
    match sys::read(read_end.as_raw_fd(), &mut words) {
        Ok(8) => {
            reap(pid);
            let stage = if words[0] == 1 { Stage::Directory } else { Stage::Exec };
            Err(Failure { stage, errno: c_int::from_ne_bytes([words[4], words[5], words[6], words[7]]) })
        }
        _ => Ok(pid),
    }
}

fn reap(pid: pid_t) {
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(json: &str) -> Environment {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_program_is_looked_for_on_the_path_of_the_attempt() {
        let found = places(b"x", &env(r#"{"PATH":"/a::/b"}"#));
        assert_eq!(found, [c"/a/x".to_owned(), c"./x".to_owned(), c"/b/x".to_owned()]);
        assert_eq!(places(b"d/x", &env("{}")), [c"d/x".to_owned()]);
        assert_eq!(places(b"sh", &env("{}")).len(), 3);
    }
}
