//! The loop of a supervisor: wait, then do what is due.
//!
//! Knows who has to be woken when. Must not know what commands mean (`commands`) or how attempts work (`attempt`).

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::abilities::Abilities;
use crate::attempt::Attempt;
use crate::conclusion::Conclusion;
use crate::connection::Connection;
use crate::result::Outcome;
use crate::shelf::Shelf;
use crate::signals::{self, Signals};
use crate::slot::{Places, Slot};
use crate::step::Ground;
use crate::{folder, sys};

/// EX_TEMPFAIL: another supervisor has the slot.
const SLOT_TAKEN: u8 = 75;
const FIRST_CONNECTION: i32 = 3;
/// A driver that started us and died before it connected will not come.
const WAIT_FOR_FIRST: Duration = Duration::from_secs(60);
/// More are closed at once, so that descriptors never run out.
const CONNECTIONS: usize = 64;
const LAST_WORDS: Duration = Duration::from_secs(5);

pub struct Server {
    pub slot: Slot,
    pub connections: Vec<Connection>,
    pub attempt: Option<Attempt>,
    /// An attempt that is over while its result file could not be written and no driver has said that it has it.
    pub unwritten: Option<Conclusion>,
    pub ground: Ground,
    pub abilities: Abilities,
    /// The highest number that a driver showed.
    pub fence: u64,
    pub exiting: bool,
    pub retired: bool,
    /// Directories to remove once the step that waits has started.
    pub forgotten: VecDeque<PathBuf>,
    pub shelf: Shelf,
    listener: UnixListener,
    signals: Signals,
    polled: Vec<libc::pollfd>,
    buffer: Box<[u8]>,
    give_up_waiting_at: Option<Instant>,
}

pub fn serve(places: Places) -> io::Result<ExitCode> {
    let first = sys::is_socket(FIRST_CONNECTION).then(|| unsafe { UnixStream::from_raw_fd(FIRST_CONNECTION) });
    sys::close_from(if first.is_some() { FIRST_CONNECTION + 1 } else { FIRST_CONNECTION });
    let signals = Signals::install()?;
    let Some(slot) = Slot::take(places)? else {
        complain!("another supervisor has this slot");
        return Ok(ExitCode::from(SLOT_TAKEN));
    };
    let listener = slot.listen()?;
    slot.leave_terminal()?;
    sys::become_subreaper();
    folder::empty(&slot.places.tmp)?;
    let null = File::options().read(true).open("/dev/null")?.into();
    let shelf = Shelf::new(slot.places.slot_dir.join("spare"))?;
    let ground = Ground { null, signals_to_reset: signals.to_reset.clone() };
    let connections: Vec<_> = first.map(Connection::new).transpose()?.into_iter().collect();
    let server = Server {
        give_up_waiting_at: connections.is_empty().then(|| Instant::now() + WAIT_FOR_FIRST),
        slot,
        connections,
        attempt: None,
        unwritten: None,
        ground,
        abilities: Abilities::default(),
        fence: 0,
        exiting: false,
        retired: false,
        forgotten: VecDeque::new(),
        shelf,
        listener,
        signals,
        polled: Vec::new(),
        buffer: vec![0; 64 * 1024].into(),
    };
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

impl Server {
    fn run(mut self) -> io::Result<()> {
        while !self.is_done() {
            self.wait()?;
            self.signals.drain();
            if signals::take_terminate() {
                self.terminate();
            }
            self.hear_drivers();
            self.turn_attempt();
            self.retry_writing();
            self.connections.retain(|c| !c.is_finished());
            self.end_without_driver();
            self.forget_one();
        }
        self.say_last_words();
        self.slot.take_down_sign();
        Ok(())
    }

    fn is_done(&mut self) -> bool {
        if self.attempt.is_some() || self.unwritten.is_some() || !self.forgotten.is_empty() {
            return false;
        }
        let waits_for_first = self.give_up_waiting_at.is_some_and(|at| Instant::now() < at);
        if self.connections.iter().any(Connection::is_open) || waits_for_first {
            return self.exiting;
        }
        // Somebody may have connected between our last look and now.
        self.accept();
        self.exiting || !self.connections.iter().any(Connection::is_open)
    }

    fn wait(&mut self) -> io::Result<()> {
        let watch = |fd, events| libc::pollfd { fd, events, revents: 0 };
        self.polled.clear();
        self.polled.push(watch(self.signals.fd(), libc::POLLIN));
        self.polled.push(watch(self.listener.as_raw_fd(), libc::POLLIN));
        self.polled.extend(self.connections.iter().map(|c| watch(c.fd(), c.events())));
        if let Some(attempt) = &self.attempt {
            self.polled.extend(attempt.fds().map(|fd| watch(fd, libc::POLLIN)));
        }
        let wake_at = self.wake_at();
        let timeout = wake_at.map(|at| at.saturating_duration_since(Instant::now()));
        sys::poll(&mut self.polled, timeout)
    }

    fn wake_at(&self) -> Option<Instant> {
        if !self.forgotten.is_empty() {
            return Some(Instant::now());
        }
        let attempt = self.attempt.as_ref().and_then(Attempt::wake_at);
        let unwritten = self.unwritten.as_ref().map(Conclusion::retry_at);
        [attempt, unwritten, self.give_up_waiting_at].into_iter().flatten().min()
    }

    /// Connections were polled behind the two fixed descriptors, in their order.
    fn hear_drivers(&mut self) {
        for i in 0..self.connections.len() {
            let revents = self.polled[2 + i].revents;
            if revents & libc::POLLOUT != 0 {
                self.connections[i].flush();
            }
            if revents & (libc::POLLIN | libc::POLLHUP | libc::POLLERR) != 0 {
                self.connections[i].receive();
                self.obey_lines(i);
            }
        }
        if self.polled[1].revents != 0 {
            self.accept();
        }
    }

    fn obey_lines(&mut self, i: usize) {
        loop {
            match self.connections[i].next_line() {
                Ok(Some(line)) => self.obey(i, &line),
                Ok(None) => return,
                Err(message) => return self.refuse_as_bad(i, message),
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.give_up_waiting_at = None;
            if self.connections.len() >= CONNECTIONS {
                continue;
            }
            match Connection::new(stream) {
                Ok(connection) => self.connections.push(connection),
                Err(e) => complain!("a connection could not be taken: {e}"),
            }
        }
    }

    fn turn_attempt(&mut self) {
        let child_ended = signals::take_child();
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        if attempt.turn(&self.ground, &mut self.buffer, child_ended) {
            self.conclude();
        }
    }

    /// The attempt is over: file first, then the message, then room for the next.
    pub fn conclude(&mut self) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        let mut conclusion = Conclusion::of(attempt);
        if conclusion.result.retired {
            self.retired = true;
            self.exiting = true;
        }
        let written = conclusion.write(!self.has_driver());
        self.tell_driver(&conclusion.to_line());
        if let Err(e) = written {
            // Kept until a driver has it safe: what fills this disk may keep the driver from recording it, too.
            complain!("{}: the result cannot be written: {e}", conclusion.result.attempt);
            self.unwritten = Some(conclusion);
        }
        if let Err(e) = folder::empty(&self.slot.places.tmp) {
            complain!("{} cannot be emptied: {e}", self.slot.places.tmp.display());
        }
    }

    fn retry_writing(&mut self) {
        let now = Instant::now();
        let Some(conclusion) = self.unwritten.as_mut().filter(|c| now >= c.retry_at()) else {
            return;
        };
        if conclusion.write(true).is_ok() {
            self.unwritten = None;
        } else if conclusion.is_hopeless(now) {
            complain!("{}: given up, the result is lost", conclusion.result.attempt);
            self.unwritten = None;
        }
    }

    fn terminate(&mut self) {
        self.exiting = true;
        if let Some(attempt) = &mut self.attempt {
            attempt.end(Outcome::Cancelled, Instant::now());
        }
    }

    /// What serves its driver alone is of no use to the next one.
    fn end_without_driver(&mut self) {
        if self.attempt.as_ref().is_some_and(|a| a.start.with_driver) && !self.has_driver() {
            self.terminate();
        }
    }

    /// One at a time, so that a long list does not keep an attempt waiting.
    fn forget_one(&mut self) {
        if let Some(dir) = self.forgotten.pop_front() {
            self.forget_dir(&dir);
        }
    }

    fn say_last_words(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        loop {
            self.connections.iter_mut().for_each(Connection::flush);
            self.connections.iter_mut().for_each(Connection::close);
            self.connections.retain(|c| !c.is_finished());
            let left = until.saturating_duration_since(Instant::now());
            if self.connections.is_empty() || left.is_zero() {
                return;
            }
            let watch = |c: &Connection| libc::pollfd { fd: c.fd(), events: c.events(), revents: 0 };
            self.polled = self.connections.iter().map(watch).collect();
            let _ = sys::poll(&mut self.polled, Some(left));
        }
    }
}
