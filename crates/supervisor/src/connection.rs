//! One connection to a driver: bytes to lines, lines to bytes.
//!
//! Knows sockets, buffers and descriptors that come along. Must not know what the lines mean.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::sys;

const LINE_LIMIT: usize = 64 << 20;
/// A driver that asks and never reads is cut off here; the attempt does not notice.
const UNREAD_LIMIT: usize = 256 << 20;
const HELD_LIMIT: usize = 256;
const CHUNK: usize = 64 * 1024;

pub struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    /// Up to here there is no line end; not to be searched again.
    searched: usize,
    outgoing: Vec<u8>,
    /// Descriptors that came with bytes whose line is not complete yet.
    pub held: Vec<OwnedFd>,
    /// The number it said hello with.
    pub fence: Option<u64>,
    /// Nothing more is read; it goes when all is written.
    closing: bool,
    broken: bool,
}

impl Connection {
    pub fn new(stream: UnixStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        sys::set_cloexec(stream.as_raw_fd())?;
        Ok(Connection {
            stream,
            incoming: Vec::new(),
            searched: 0,
            outgoing: Vec::new(),
            held: Vec::new(),
            fence: None,
            closing: false,
            broken: false,
        })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub fn events(&self) -> libc::c_short {
        let read = if self.closing { 0 } else { libc::POLLIN };
        read | if self.outgoing.is_empty() { 0 } else { libc::POLLOUT }
    }

    pub fn is_open(&self) -> bool {
        !self.closing && !self.broken
    }

    pub fn is_closing(&self) -> bool {
        self.closing
    }

    pub fn is_finished(&self) -> bool {
        self.broken || self.closing && self.outgoing.is_empty()
    }

    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Read once. An end or error closes the connection; complete lines read before stay to be taken.
    pub fn receive(&mut self) {
        match self.receive_some() {
            Ok(0) => self.broken = true,
            Ok(_) => (),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => (),
            Err(_) => self.broken = true,
        }
    }

    fn receive_some(&mut self) -> io::Result<usize> {
        let at = self.incoming.len();
        self.incoming.resize(at + CHUNK, 0);
        let received = receive_with_descriptors(&self.stream, &mut self.incoming[at..], &mut self.held);
        self.incoming.truncate(at + *received.as_ref().unwrap_or(&0));
        received
    }

    /// The next complete line, without its end. Err: no line, and what is there is too long to become one.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, &'static str> {
        if self.held.len() > HELD_LIMIT {
            return Err("too many descriptors");
        }
        let Some(found) = self.incoming[self.searched..].iter().position(|b| *b == b'\n') else {
            self.searched = self.incoming.len();
            return if self.searched > LINE_LIMIT { Err("a message of more than 64 MiB") } else { Ok(None) };
        };
        let end = self.searched + found;
        let rest = self.incoming.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.incoming, rest);
        line.truncate(end);
        self.searched = 0;
        Ok(Some(line))
    }

    /// Send a line: at once as far as it goes, the rest when the driver reads.
    pub fn send(&mut self, line: &[u8]) {
        if self.broken || self.outgoing.len() + line.len() > UNREAD_LIMIT {
            self.broken = true;
            return;
        }
        if !self.outgoing.is_empty() {
            self.outgoing.extend_from_slice(line);
            return;
        }
        let sent = self.send_some(line);
        self.outgoing.extend_from_slice(&line[sent..]);
    }

    pub fn flush(&mut self) {
        let outgoing = std::mem::take(&mut self.outgoing);
        let sent = self.send_some(&outgoing);
        self.outgoing = outgoing;
        self.outgoing.drain(..sent);
    }

    fn send_some(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            let rest = &bytes[sent..];
            match unsafe { libc::send(self.fd(), rest.as_ptr().cast(), rest.len(), 0) } {
                n if n >= 0 => sent += n as usize,
                _ => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => (),
                    io::ErrorKind::WouldBlock => break,
                    _ => {
                        self.broken = true;
                        break;
                    }
                },
            }
        }
        sent
    }
}

fn receive_with_descriptors(stream: &UnixStream, buffer: &mut [u8], held: &mut Vec<OwnedFd>) -> io::Result<usize> {
    // Aligned as a control message has to be; room for 253 descriptors, the most the kernel sends at once.
    let mut control = [0u64; 136];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    #[cfg(target_os = "linux")]
    let flags = libc::MSG_CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = 0;
    let n = unsafe { libc::recvmsg(stream.as_raw_fd(), &mut message, flags) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    take_descriptors(&message, held);
    Ok(n)
}

fn take_descriptors(message: &libc::msghdr, held: &mut Vec<OwnedFd>) {
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(header).cast::<RawFd>();
                for i in 0..bytes / size_of::<RawFd>() {
                    let fd = first.add(i).read_unaligned();
                    let _ = sys::set_cloexec(fd);
                    held.push(OwnedFd::from_raw_fd(fd));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}
