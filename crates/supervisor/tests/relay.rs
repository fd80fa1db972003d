//! Standard streams that are carried to a socket and back.
#![cfg(target_os = "linux")]

mod common;
use common::*;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

const MUCH: usize = 10_000_000;

struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    fn new(name: &str) -> Socket {
        let path = std::env::temp_dir().join(format!("bw-relay-{}-{name}", std::process::id()));
        Socket { listener: UnixListener::bind(&path).unwrap(), path }
    }

    /// A relay, and the server's end of its connection.
    fn relay(&self) -> (Child, UnixStream) {
        let mut command = Command::new(BINARY);
        command.arg("relay").arg(&self.path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let (server, _) = self.listener.accept().unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        (child, server)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[test]
fn much_goes_both_ways_at_once_and_the_end_of_one_is_not_the_end_of_the_other() {
    let socket = Socket::new("much");
    let (mut child, mut server) = socket.relay();
    let said: Vec<u8> = (0..MUCH).map(|at| (at % 253) as u8).collect();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (from_client, from_server) = (said.clone(), said.clone());
    let client = thread::spawn(move || {
        stdin.write_all(&from_client).unwrap();
        drop(stdin);
        let mut heard = Vec::new();
        stdout.read_to_end(&mut heard).unwrap();
        heard
    });
    let mut speaks = server.try_clone().unwrap();
    let speaking = thread::spawn(move || speaks.write_all(&from_server).unwrap());
    let mut heard = Vec::new();
    server.read_to_end(&mut heard).unwrap();
    assert!(heard == said, "{} bytes", heard.len());
    speaking.join().unwrap();
    server.write_all(b"last words").unwrap();
    drop(server);
    assert!(client.join().unwrap() == [&said[..], b"last words"].concat());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_message_is_there_at_once_though_no_line_has_ended() {
    let socket = Socket::new("message");
    let (mut child, mut server) = socket.relay();
    let mut byte = [0];
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    server.read_exact(&mut byte).unwrap();
    server.write_all(b"y").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"y");
    drop(child.stdin.take());
    drop(server);
    child.wait().unwrap();
}

#[test]
fn a_server_that_has_gone_is_an_exit_code_though_the_client_could_say_more() {
    let socket = Socket::new("gone");
    for unread in [false, true] {
        let (mut child, mut server) = socket.relay();
        let mut input = child.stdin.take().unwrap(); // waiting for the child would close it
        if unread {
            input.write_all(b"nobody reads this").unwrap();
            server.read_exact(&mut [0]).unwrap();
        }
        server.shutdown(Shutdown::Both).unwrap();
        drop(server);
        assert_eq!(child.wait().unwrap().code(), Some(1), "unread: {unread}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("the server has ended"), "{said}");
        drop(input);
    }
}

#[test]
fn where_no_socket_is_it_says_so() {
    for words in [&["relay", "/nowhere/door"][..], &["relay"], &["relay", "/a", "/b"]] {
        let output = Command::new(BINARY).args(words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(if words.len() == 2 { 1 } else { 2 }), "{words:?}");
        assert!(!output.stderr.is_empty());
    }
}
