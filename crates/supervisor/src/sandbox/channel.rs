//! What the inside tells the outside, over a pair of sockets that bwrap hands through.
//!
//! Knows messages and the one descriptor that travels with one of them. Must not know who acts on them.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::sys;

const LONGEST: usize = 4096;

pub enum Message {
    /// Connections of the step arrive at this listener, which belongs to the sandbox's own network: for the proxy, or
    /// for a port of this machine.
    Listener(OwnedFd, Option<u16>),
    /// The sandbox is made.
    Entered,
    /// The program could not be started: kind, and a sentence.
    Fault(String),
    /// How it ended, as `wait` tells.
    Ended(i32),
}

/// Both ends stay open in a child: bwrap must hand one of them on.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    sys::check(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, ends.as_mut_ptr()) })?;
    Ok(ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }).into())
}

pub fn send(to: RawFd, message: &Message) -> io::Result<()> {
    let (bytes, fd) = match message {
        Message::Listener(listener, port) => {
            ([&b"L"[..], &port.unwrap_or(0).to_ne_bytes()].concat(), Some(listener.as_raw_fd()))
        }
        Message::Entered => (b"I".to_vec(), None),
        Message::Fault(text) => ([b"F", text.as_bytes()].concat(), None),
        Message::Ended(status) => ([&b"E"[..], &status.to_ne_bytes()].concat(), None),
    };
    send_bytes(to, &bytes[..bytes.len().min(LONGEST)], fd)
}

/// None: the other side is gone, or says what nobody of us says.
pub fn receive(from: RawFd) -> Option<Message> {
    let mut buffer = [0u8; LONGEST];
    let (length, fd) = receive_bytes(from, &mut buffer).ok()?;
    match buffer[..length].split_first()? {
        (b'L', port) => {
            let port = u16::from_ne_bytes(port.try_into().ok()?);
            fd.map(|listener| Message::Listener(listener, (port != 0).then_some(port)))
        }
        (b'I', _) => Some(Message::Entered),
        (b'F', text) => Some(Message::Fault(String::from_utf8_lossy(text).into_owned())),
        (b'E', status) => Some(Message::Ended(i32::from_ne_bytes(status.try_into().ok()?))),
        _ => None,
    }
}

/// Room for one descriptor beside a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Beside([u8; 64]);

fn envelope(bytes: &mut libc::iovec, beside: &mut Beside) -> libc::msghdr {
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = bytes;
    header.msg_iovlen = 1;
    header.msg_control = beside.0.as_mut_ptr().cast();
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as usize;
    header
}

fn send_bytes(to: RawFd, bytes: &[u8], fd: Option<RawFd>) -> io::Result<()> {
    let mut vector = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
    let mut beside = Beside([0; 64]);
    let mut header = envelope(&mut vector, &mut beside);
    match fd {
        None => header.msg_controllen = 0,
        Some(fd) => unsafe {
            let control = libc::CMSG_FIRSTHDR(&header);
            (*control).cmsg_level = libc::SOL_SOCKET;
            (*control).cmsg_type = libc::SCM_RIGHTS;
            (*control).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
            libc::CMSG_DATA(control).cast::<RawFd>().write_unaligned(fd);
        },
    }
    let sent = unsafe { libc::sendmsg(to, &header, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn receive_bytes(from: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut beside = Beside([0; 64]);
    let mut header = envelope(&mut vector, &mut beside);
    let length = loop {
        let length = unsafe { libc::recvmsg(from, &mut header, libc::MSG_CMSG_CLOEXEC) };
        if length >= 0 {
            break length as usize;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    let control = unsafe { libc::CMSG_FIRSTHDR(&header) };
    if control.is_null() || unsafe { (*control).cmsg_type } != libc::SCM_RIGHTS {
        return Ok((length, None));
    }
    let fd = unsafe { libc::CMSG_DATA(control).cast::<RawFd>().read_unaligned() };
    Ok((length, Some(unsafe { OwnedFd::from_raw_fd(fd) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent_and_a_descriptor_with_them() {
        let (ours, theirs) = pair().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(theirs.as_raw_fd(), &Message::Listener(listener.into(), Some(5432))).unwrap();
        send(theirs.as_raw_fd(), &Message::Fault("not_found x: ü".into())).unwrap();
        send(theirs.as_raw_fd(), &Message::Ended(139)).unwrap();
        drop(theirs);
        let Some(Message::Listener(fd, Some(5432))) = receive(ours.as_raw_fd()) else { panic!() };
        assert_eq!(std::net::TcpListener::from(fd).local_addr().unwrap(), address);
        assert!(matches!(receive(ours.as_raw_fd()), Some(Message::Fault(text)) if text == "not_found x: ü"));
        assert!(matches!(receive(ours.as_raw_fd()), Some(Message::Ended(139))));
        assert!(receive(ours.as_raw_fd()).is_none());
    }
}
