//! Outside the sandbox: start bwrap, serve as the way to named hosts, open the door, and end as the step ended.
//!
//! Knows the words for bwrap, and that its init outlives it while something is left inside. Must not know what is
//! mounted where.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::channel::{self, Message};
use super::door::{Door, Open, Server};
use super::hosts::Hosts;
use super::proxy::Proxy;
use super::{DOOR, PLACE, ignore_term};
use crate::{processes, sys};

/// What a step ends with that never began; the fault file says why.
const NOT_STARTED: u8 = 125;
/// How long bwrap's init may take to notice that it is alone.
const ALONE_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_micros(500);

#[derive(Default)]
pub struct Order {
    /// Directories that must be there.
    make: Vec<PathBuf>,
    /// Where in those something will be mounted.
    places: Vec<PathBuf>,
    /// Files that must be there.
    touch: Vec<PathBuf>,
    /// Where to write why the step could not begin.
    fault: Option<PathBuf>,
    /// The hosts that can be reached; without any, bwrap alone says what can.
    hosts: Vec<String>,
    /// Variables that are not inside, for no process.
    unset: Vec<OsString>,
    /// Where the socket is made that whoever is inside is served at, and by what.
    door: Option<PathBuf>,
    server: Server,
    bwrap: Vec<OsString>,
    step: Vec<OsString>,
}

impl Order {
    pub fn parse(words: &[OsString]) -> Result<Order, String> {
        let mut order = Order::default();
        let mut words = words.iter();
        loop {
            let name = words.next().ok_or("sandbox needs -- and the words for bwrap")?;
            if name == OsStr::new("--") {
                break;
            }
            let value = words.next().ok_or(format!("{name:?} needs a value"))?;
            match name.to_str() {
                Some("--make") => order.make.push(value.into()),
                Some("--place") => order.places.push(value.into()),
                Some("--touch") => order.touch.push(value.into()),
                Some("--fault") => order.fault = Some(value.into()),
                Some("--host") => order.hosts.push(value.to_str().ok_or("a host's name is no text")?.into()),
                Some("--unset") => order.unset.push(value.clone()),
                Some("--door") => order.door = Some(value.into()),
                Some("--server") => order.server.words.push(value.clone()),
                Some("--keep") => order.server.keep.push(value.clone()),
                _ => return Err(format!("unknown argument {name:?}")),
            }
        }
        let rest: Vec<OsString> = words.cloned().collect();
        let end = rest.iter().position(|word| word == OsStr::new("--")).ok_or("sandbox needs a second --")?;
        (order.bwrap, order.step) = (rest[..end].to_vec(), rest[end + 1..].to_vec());
        if order.bwrap.is_empty() || order.step.is_empty() {
            return Err("sandbox needs words for bwrap and a program".into());
        }
        if order.door.is_some() == order.server.words.is_empty() {
            return Err("sandbox needs --door and --server, or neither".into());
        }
        Ok(order)
    }

    pub fn run(self) -> ExitCode {
        ignore_term();
        sys::become_subreaper();
        let ended = self.prepare().and_then(|(proxy, door)| self.enclose(proxy, door));
        ended.unwrap_or_else(|error| self.give_up(&format!("spawn the sandbox could not be made: {error}")))
    }

    fn prepare(&self) -> io::Result<(Option<Arc<Proxy>>, Option<Door>)> {
        for path in &self.make {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
        for path in &self.places {
            clear_way(path, &self.make)?;
        }
        for path in &self.touch {
            OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
        }
        let door = self.door.as_ref().map(|path| Door::make(path, self.server.clone())).transpose()?;
        if self.hosts.is_empty() {
            return Ok((None, door));
        }
        let hosts = Hosts::parse(&self.hosts).map_err(io::Error::other)?;
        Ok((Some(Arc::new(Proxy::new(hosts))), door))
    }

    fn enclose(&self, proxy: Option<Arc<Proxy>>, door: Option<Door>) -> io::Result<ExitCode> {
        let (ours, theirs) = channel::pair()?;
        sys::set_cloexec(ours.as_raw_fd())?;
        // For the step; what bwrap itself complains about is asked for only where nothing began.
        let stderr = unsafe { OwnedFd::from_raw_fd(sys::check(libc::dup(2))?) };
        let mut child = self.command(&theirs, &stderr, proxy.as_deref())?.spawn()?;
        drop((theirs, stderr));
        // Not before: a server would inherit what was meant for bwrap, and the channel would not close.
        let door = door.map(Door::open).transpose()?;
        let mut entered = false;
        let (mut fault, mut status) = (None, None);
        // It closes when the process inside has gone, whatever ended that.
        while let Some(message) = channel::receive(ours.as_raw_fd()) {
            match message {
                Message::Listener(listener, port) => serve(proxy.as_ref(), listener, port),
                Message::Entered => {
                    entered = true;
                    door.iter().for_each(Open::hide);
                }
                Message::Fault(text) => fault = Some(text),
                Message::Ended(found) => status = Some(found),
            }
        }
        let of_bwrap = child.wait()?;
        // With what is left inside nobody speaks any more, and a server would be taken for something left running.
        let told = door.map(Open::shut);
        wait_until_alone();
        if let Some(proxy) = proxy {
            proxy.tell_refused();
        }
        if let Some(told) = told {
            told.tell();
        }
        Ok(match (fault, status) {
            (Some(text), _) => self.give_up(&text),
            (None, Some(status)) => end_as(status),
            (None, None) if entered => end_as(killed_inside(of_bwrap)),
            (None, None) => {
                let why = complaint(&mut child).unwrap_or_else(|| of_bwrap.to_string());
                self.give_up(&format!("spawn the sandbox could not be made: {why}"))
            }
        })
    }

    fn command(&self, theirs: &OwnedFd, stderr: &OwnedFd, proxy: Option<&Proxy>) -> io::Result<Command> {
        let mut command = Command::new(&self.bwrap[0]);
        command.args(&self.bwrap[1..]);
        for name in &self.unset {
            command.env_remove(name); // bwrap's own --unsetenv leaves it in what /proc shows of its init
        }
        command.arg("--ro-bind").arg(std::env::current_exe()?).arg(PLACE);
        if let Some(door) = &self.door {
            command.arg("--ro-bind").arg(door).arg(DOOR);
        }
        // What is under none of the mounts is bwrap's own empty root, which nothing shall be written to by mistake.
        command.args(["--remount-ro", "/", "--", PLACE, "sandboxed"]);
        command.arg(theirs.as_raw_fd().to_string()).arg(stderr.as_raw_fd().to_string());
        command.arg(proxy.map_or("plain".into(), Proxy::word)).args(&self.step).stderr(Stdio::piped());
        Ok(command)
    }

    fn give_up(&self, text: &str) -> ExitCode {
        complain!("[budwood: {text}]");
        if let Some(path) = &self.fault {
            if let Err(error) = fs::write(path, text.as_bytes()) {
                complain!("[budwood: {}: {error}]", String::from_utf8_lossy(path.as_os_str().as_bytes()));
            }
        }
        ExitCode::from(NOT_STARTED)
    }
}

/// Take links away that an earlier step laid where something will be mounted: bwrap would follow them, outside.
fn clear_way(place: &Path, made: &[PathBuf]) -> io::Result<()> {
    let Some(base) = made.iter().find(|base| place.starts_with(base)) else {
        return Ok(());
    };
    let mut path = base.clone();
    for part in place.strip_prefix(base).into_iter().flatten() {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => return fs::remove_file(&path),
            Ok(_) => (),
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// The last line that bwrap said; what is left inside may hold the pipe open, so nobody waits for its end.
fn complaint(child: &mut Child) -> Option<String> {
    let mut pipe = child.stderr.take()?;
    sys::set_nonblocking(pipe.as_raw_fd()).ok()?;
    let mut said = [0; 4096];
    let length = pipe.read(&mut said).ok()?;
    let text = String::from_utf8_lossy(&said[..length]);
    text.trim_end().lines().last().map(String::from)
}

fn serve(proxy: Option<&Arc<Proxy>>, listener: OwnedFd, port: Option<u16>) {
    if let Some(proxy) = proxy {
        let proxy = Arc::clone(proxy);
        thread::spawn(move || proxy.serve(&TcpListener::from(listener), port));
    }
}

/// bwrap tells of the step's end before its init is gone. One that is alone goes by itself, and shall not be taken for
/// something that was left running; one that is not stays with what is left, for the supervisor to end.
fn wait_until_alone() {
    let (own, until) = (std::process::id() as libc::pid_t, Instant::now() + ALONE_WITHIN);
    while Instant::now() < until {
        while matches!(sys::wait_any(), sys::Wait::Reaped(_)) {}
        let living = processes::below(own).into_iter().filter(|process| !process.zombie).count();
        if living != 1 {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// How the process inside ended that could not say how its step did: by a signal, which bwrap tells as a shell does.
fn killed_inside(of_bwrap: ExitStatus) -> i32 {
    match of_bwrap.code() {
        Some(code) if code > 128 => code - 128,
        _ => of_bwrap.into_raw(),
    }
}

/// End by the same exit code or the same signal.
fn end_as(status: i32) -> ExitCode {
    if libc::WIFEXITED(status) {
        return ExitCode::from(libc::WEXITSTATUS(status) as u8);
    }
    let signal = libc::WTERMSIG(status);
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0); // the memory that was to be looked at is the program's
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
    }
    ExitCode::from((128 + signal) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_killed_inside_ended_by_that_signal() {
        let of_code = |code: i32| killed_inside(ExitStatus::from_raw(code << 8));
        assert_eq!(of_code(137), libc::SIGKILL);
        assert_eq!(libc::WEXITSTATUS(of_code(1)), 1);
        assert_eq!(killed_inside(ExitStatus::from_raw(libc::SIGKILL)), libc::SIGKILL);
    }

    fn parse(line: &str) -> Result<Order, String> {
        Order::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn words_for_bwrap_and_for_the_step_are_told_apart() {
        let order = parse("--make /t --host a.org -- bwrap --proc /proc -- sh -c -- x").unwrap();
        assert_eq!(order.bwrap, ["bwrap", "--proc", "/proc"]);
        assert_eq!(order.step, ["sh", "-c", "--", "x"]);
        assert_eq!(order.hosts, ["a.org"]);
    }

    #[test]
    fn links_on_the_way_to_a_mount_are_taken_away_and_nothing_else() {
        let base = std::env::temp_dir().join(format!("budwood-way-{}", std::process::id()));
        let (home, outside) = (base.join("home"), base.join("outside"));
        fs::create_dir_all(home.join("a")).unwrap();
        fs::create_dir_all(outside.join("c")).unwrap();
        std::os::unix::fs::symlink(&outside, home.join("a/b")).unwrap();
        std::os::unix::fs::symlink(&outside, home.join("kept")).unwrap();
        clear_way(&home.join("a/b/c"), std::slice::from_ref(&home)).unwrap();
        clear_way(&outside.join("c"), std::slice::from_ref(&home)).unwrap();
        assert!(!home.join("a/b").exists() && home.join("kept").exists() && outside.join("c").exists());
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn what_is_missing_or_unknown_is_refused() {
        let halves = ["--door /d -- bwrap -- sh", "--server cat -- bwrap -- sh"];
        for line in ["", "--", "-- bwrap", "-- bwrap --", "-- -- sh", "--make", "--else x -- bwrap -- sh"]
            .into_iter()
            .chain(halves)
        {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
