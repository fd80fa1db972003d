//! The files of a slot and its run: lock, socket, info, fence.
//!
//! Knows paths and who may hold a slot. Must not know messages or attempts.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::attempt::wall_clock_ms;
use crate::sys;

const BIND_TRIES: u32 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub slot_dir: PathBuf,
    pub socket: PathBuf,
    pub tmp: PathBuf,
    pub run_dir: PathBuf,
}

/// The slot is ours until this is dropped or we die.
pub struct Slot {
    pub places: Places,
    _lock: File,
}

#[derive(Serialize)]
struct Info<'a> {
    pid: u32,
    socket: &'a Path,
    version: &'a str,
    boot_id: Option<String>,
    started_at_ms: u64,
}

impl Slot {
    /// None: another supervisor has it.
    pub fn take(places: Places) -> io::Result<Option<Slot>> {
        fs::create_dir_all(&places.slot_dir)?;
        let path = places.slot_dir.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(path)?;
        Ok(sys::lock_exclusively(&lock)?.then_some(Slot { places, _lock: lock }))
    }

    /// Complain into the slot's own file from now on: the driver's terminal may be gone tomorrow.
    pub fn leave_terminal(&self) -> io::Result<()> {
        let complaints = File::options().create(true).append(true).open(self.places.slot_dir.join("stderr"))?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        for (from, to) in [(&null, 0), (&null, 1), (&complaints, 2)] {
            sys::check(unsafe { libc::dup2(from.as_raw_fd(), to) })?;
        }
        // Fails where the driver has done it.
        unsafe { libc::setsid() };
        std::env::set_current_dir("/")
    }

    pub fn listen(&self) -> io::Result<UnixListener> {
        // Whoever made this file is dead: we hold the lock.
        match fs::remove_file(&self.places.socket) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => (),
        }
        let listener = self.bind()?;
        listener.set_nonblocking(true)?;
        self.write_info()?;
        Ok(listener)
    }

    /// The last supervisor of an earlier drive may remove the directory just now; once our socket is in it, it cannot.
    fn bind(&self) -> io::Result<UnixListener> {
        let mut tries_left = BIND_TRIES;
        loop {
            match UnixListener::bind(&self.places.socket) {
                Err(e) if e.kind() == io::ErrorKind::NotFound && tries_left > 0 => tries_left -= 1,
                bound => return bound,
            }
            if let Some(runtime) = self.places.socket.parent() {
                DirBuilder::new().mode(0o700).recursive(true).create(runtime)?;
            }
        }
    }

    fn write_info(&self) -> io::Result<()> {
        let info = Info {
            pid: std::process::id(),
            socket: &self.places.socket,
            version: crate::VERSION,
            boot_id: boot_id(),
            started_at_ms: wall_clock_ms(),
        };
        let new = self.places.slot_dir.join("info.json.new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(&info).map_err(io::Error::other)?)?;
        fs::rename(&new, self.places.slot_dir.join("info.json"))
    }

    /// The highest number that any driver took for this run.
    pub fn fence_on_disk(&self) -> u64 {
        let text = match fs::read_to_string(self.places.run_dir.join("fence")) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return 0,
            Err(e) => {
                complain!("the file fence cannot be read: {e}");
                return 0;
            }
        };
        text.trim().parse().unwrap_or_else(|_| {
            complain!("the file fence holds no number: {text:?}");
            0
        })
    }

    pub fn attempts_dir(&self) -> PathBuf {
        self.places.run_dir.join("attempts")
    }

    /// Nobody should knock here any more. The lock file stays: deleting one lets two hold "it".
    pub fn take_down_sign(&self) {
        let _ = fs::remove_file(&self.places.socket);
        let _ = fs::remove_file(self.places.slot_dir.join("info.json"));
        let _ = fs::remove_dir(&self.places.tmp);
        // Fails while another slot of the run has something in it: the last one to leave turns off the light.
        if let Some(runtime) = self.places.socket.parent() {
            let _ = fs::remove_dir(runtime);
        }
    }
}

/// A process id means nothing after the machine has started again.
fn boot_id() -> Option<String> {
    if cfg!(target_os = "linux") {
        return Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().into());
    }
    #[cfg(target_os = "macos")]
    {
        let mut bytes = [0u8; 64];
        let mut size = bytes.len();
        let to = bytes.as_mut_ptr().cast();
        let name = c"kern.bootsessionuuid".as_ptr();
        let asked = unsafe { libc::sysctlbyname(name, to, &mut size, std::ptr::null_mut(), 0) };
        if asked == 0 {
            return Some(String::from_utf8_lossy(&bytes[..size]).trim_end_matches('\0').into());
        }
    }
    None
}
