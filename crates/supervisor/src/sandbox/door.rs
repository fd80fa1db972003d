//! The door of a sandbox: a socket that is seen inside, and for each connection a server of its own, outside.
//!
//! A server has the connection for standard input and output, and of everything else what was there before the sandbox
//! was: nobody inside can say where it stands, what it is given or what it starts with. One thread, which polls. Must
//! not look into what is said, nor know who serves.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::heed_term;
use crate::pidfd::Pidfd;
use crate::sys;

const MOST_CONNECTIONS: usize = 8;
/// How long a server may take to end whose client has gone.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// Between looks at what cannot wake us.
const PAUSE: Duration = Duration::from_millis(50);
/// So much of what a server said last is told, of so many servers.
const SAID_BYTES: usize = 600;
const MOST_TOLD: usize = 5;
/// What a pipe may hold, as reads of ours.
const PIPE_READS: usize = 16;

/// What is to serve whoever comes.
#[derive(Clone, Default)]
pub struct Server {
    pub words: Vec<OsString>,
    /// The variables that it has of ours; it has no others.
    pub keep: Vec<OsString>,
}

/// A socket that is there, and nobody at it yet.
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    server: Server,
}

impl Door {
    pub fn make(path: &Path, server: Server) -> io::Result<Door> {
        let _ = fs::remove_file(path); // of a step that was killed before it had entered
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Door { listener, path: path.into(), server })
    }

    /// Let in who comes from now on.
    pub fn open(self) -> io::Result<Open> {
        let (woken, wake) = sys::pipe()?;
        let path = self.path.clone();
        let porter =
            Porter { listener: self.listener, server: self.server, attended: Vec::new(), told: Told::default() };
        let thread = thread::Builder::new().spawn(move || porter.attend(&woken))?;
        Ok(Open { path, wake, thread })
    }
}

/// A door with somebody at it.
pub struct Open {
    path: PathBuf,
    wake: OwnedFd,
    thread: JoinHandle<Told>,
}

impl Open {
    /// Take its name away outside: the mount inside keeps it, and nobody else can come to it any more.
    pub fn hide(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// End every server that is left; when this returns nothing of them is there.
    pub fn shut(self) -> Told {
        self.hide();
        drop(self.wake);
        self.thread.join().unwrap_or_default()
    }
}

/// What is to be said when nothing else is printed any more: a line in the middle could break a record.
#[derive(Default)]
pub struct Told {
    refused: usize,
    failed: Vec<String>,
    further: usize,
}

impl Told {
    pub fn tell(&self) {
        for each in &self.failed {
            complain!("[budwood: a server at the door of the sandbox ended: {each}]");
        }
        if self.further > 0 {
            complain!("[budwood: so did others, {} times]", self.further);
        }
        if self.refused > 0 {
            let times = if self.refused == 1 { String::new() } else { format!(", {} times", self.refused) };
            complain!("[budwood: the door of the sandbox let nobody in{times}: {MOST_CONNECTIONS} were there already]");
        }
    }

    fn note(&mut self, failure: String) {
        if self.failed.len() < MOST_TOLD {
            self.failed.push(failure);
        } else {
            self.further += 1;
        }
    }
}

struct Porter {
    listener: UnixListener,
    server: Server,
    attended: Vec<Attended>,
    told: Told,
}

impl Porter {
    /// Until the other end of `woken` is closed.
    fn attend(mut self, woken: &OwnedFd) -> Told {
        loop {
            let mut fds = vec![watch(woken.as_raw_fd(), libc::POLLIN), watch(self.listener.as_raw_fd(), libc::POLLIN)];
            fds.extend(self.attended.iter().flat_map(Attended::watched));
            let waited = sys::poll(&mut fds, self.attended.iter().filter_map(Attended::look_within).min());
            if waited.is_err() || fds[0].revents != 0 {
                return self.end_all();
            }
            for (each, ready) in self.attended.iter_mut().zip(fds[2..].chunks_exact(Attended::WATCHED)) {
                each.turn(ready);
            }
            self.let_go();
            if fds[1].revents != 0 {
                self.let_in();
            }
        }
    }

    fn let_in(&mut self) {
        match self.listener.accept() {
            Ok(_) if self.attended.len() >= MOST_CONNECTIONS => self.told.refused += 1, // closed at once
            Ok((connection, _)) => match Attended::start(&self.server, connection) {
                Ok(attended) => self.attended.push(attended),
                Err(error) => self.told.note(format!("it could not be started: {error}")),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
            Err(_) => thread::sleep(PAUSE), // no descriptor is left, say: it is still there in a moment
        }
    }

    /// Forget those whose server has ended: with it goes our end of the connection.
    fn let_go(&mut self) {
        let told = &mut self.told;
        self.attended.retain_mut(|each| match each.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                if let Some(failure) = each.failure(status) {
                    told.note(failure);
                }
                false
            }
            Err(_) => false,
        });
    }

    fn end_all(mut self) -> Told {
        self.let_go();
        for each in &mut self.attended {
            each.end();
        }
        for each in &mut self.attended {
            let _ = each.child.wait();
        }
        self.told
    }
}

/// One connection and its server.
struct Attended {
    child: Child,
    ends: Option<Pidfd>,
    /// Ours only to see that the client has gone.
    connection: UnixStream,
    gone_at: Option<Instant>,
    said: Vec<u8>,
}

impl Attended {
    /// How many descriptors of each are watched.
    const WATCHED: usize = 3;

    fn start(server: &Server, connection: UnixStream) -> io::Result<Attended> {
        connection.set_nonblocking(false)?;
        let mut command = Command::new(&server.words[0]);
        command.args(&server.words[1..]).current_dir("/").env_clear();
        for name in &server.keep {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        heed_term(&mut command);
        command.process_group(0);
        command.stdin(OwnedFd::from(connection.try_clone()?)).stdout(OwnedFd::from(connection.try_clone()?));
        let child = command.stderr(Stdio::piped()).spawn()?;
        if let Some(pipe) = &child.stderr {
            sys::set_nonblocking(pipe.as_raw_fd())?;
        }
        let ends = Pidfd::open(child.id() as libc::pid_t).ok();
        Ok(Attended { child, ends, connection, gone_at: None, said: Vec::new() })
    }

    fn watched(&self) -> [libc::pollfd; Attended::WATCHED] {
        // One that has gone is seen again at every look.
        let connection = if self.gone_at.is_none() { self.connection.as_raw_fd() } else { -1 };
        let says = self.child.stderr.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        [watch(connection, 0), watch(self.wakes(), libc::POLLIN), watch(says, libc::POLLIN)]
    }

    fn wakes(&self) -> RawFd {
        self.ends.as_ref().and_then(Pidfd::raw).unwrap_or(-1)
    }

    fn look_within(&self) -> Option<Duration> {
        let gone = self.gone_at.map(|at| (at + ENDS_WITHIN).saturating_duration_since(Instant::now()).max(PAUSE));
        let blind = (self.wakes() < 0).then_some(PAUSE);
        gone.into_iter().chain(blind).min()
    }

    fn turn(&mut self, ready: &[libc::pollfd]) {
        if ready[0].revents != 0 {
            self.gone_at.get_or_insert_with(Instant::now);
        }
        if ready[2].revents != 0 {
            self.hear();
        }
        if self.gone_at.is_some_and(|at| at.elapsed() >= ENDS_WITHIN) {
            self.end();
        }
    }

    /// With whatever it has started: that would keep the connection open. It is not reaped yet, so the group is its own.
    fn end(&self) {
        let _ = sys::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL);
    }

    /// Take what it says, so that it does not wait for a reader, and keep the end of it.
    fn hear(&mut self) {
        let mut buffer = [0; 4096];
        let Some(pipe) = &mut self.child.stderr else { return };
        match pipe.read(&mut buffer) {
            Ok(0) => self.child.stderr = None,
            Ok(length) => {
                self.said.extend_from_slice(&buffer[..length]);
                self.said.drain(..self.said.len().saturating_sub(SAID_BYTES));
            }
            Err(_) => (),
        }
    }

    /// What is wrong with how it ended, if its client was there and nobody ended it.
    fn failure(&mut self, status: ExitStatus) -> Option<String> {
        let was_ended = matches!(status.signal(), Some(libc::SIGTERM | libc::SIGKILL));
        if self.gone_at.is_some() || status.success() || was_ended {
            return None;
        }
        (0..PIPE_READS).for_each(|_| self.hear());
        let said = String::from_utf8_lossy(&self.said).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(if said.is_empty() { status.to_string() } else { format!("{status}: {said}") })
    }
}

fn watch(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

#[cfg(test)]
mod tests;
