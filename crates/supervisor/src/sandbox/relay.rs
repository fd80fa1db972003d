//! Inside the sandbox: standard input and output for who can start a program, carried to the door and back.
//!
//! Knows a socket's path. Must not look into what is carried.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const AT_ONCE: usize = 64 * 1024;

pub struct Order {
    door: PathBuf,
}

impl Order {
    pub fn parse(words: &[OsString]) -> Result<Order, String> {
        match words {
            [path] => Ok(Order { door: path.into() }),
            _ => Err("relay needs the path of a socket, and nothing else".into()),
        }
    }

    /// Success is that the client had said all that it had to say, and heard the rest.
    pub fn run(self) -> ExitCode {
        match UnixStream::connect(&self.door).and_then(carry) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => fail("the server has ended, or was not started"),
            Err(error) => fail(&format!("{}: {error}", self.door.display())),
        }
    }
}

fn fail(why: &str) -> ExitCode {
    complain!("budwood-supervisor relay: {why}");
    ExitCode::FAILURE
}

/// Carry both ways until the server has ended; say whether the client had.
fn carry(server: UnixStream) -> io::Result<bool> {
    let to_server = server.try_clone()?;
    let ended = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&ended);
    // Not waited for: it may sit in a read that nothing ends when the server is gone.
    thread::spawn(move || {
        // A server that does not listen any more may still have something to say.
        let client_ended = copy(plain_file(0), &to_server).is_ok();
        // Before the server can know.
        has_ended.store(client_ended, Ordering::SeqCst);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    match copy(&server, plain_file(1)) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
        _ => Ok(ended.load(Ordering::SeqCst)),
    }
}

/// Nothing is kept back, as standard output would the beginning of a line.
fn plain_file(fd: i32) -> File {
    unsafe { File::from_raw_fd(fd) }
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; AT_ONCE];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&buffer[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
}
