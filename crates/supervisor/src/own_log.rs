//! A log that an attempt writes itself, kept from filling the disk.
//!
//! Knows one file by its name. Must not know who writes it, nor when it is read.
//!
//! What is neither among its first `head` nor among its last `tail` bytes goes back to the file system while the
//! attempt runs. The file keeps its length: whoever appends to it notices nothing, and its length still counts all that
//! was written. A file that was filled that far is not to be emptied and used again but replaced: we may be about to
//! give back a part of what we saw in it.

use std::ffi::CString;
use std::fs::File;
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::sys;
use crate::text::Text;

const PAUSE: Duration = Duration::from_millis(250);
const WHILE_IT_GROWS: Duration = Duration::from_millis(20);

pub struct OwnLog {
    name: CString,
    head: u64,
    tail: u64,
    /// Its length when a part was last given back.
    seen: u64,
    next: Instant,
}

impl OwnLog {
    pub fn new(name: &Text, head: u64, tail: u64, now: Instant) -> OwnLog {
        OwnLog { name: name.to_c(), head, tail, seen: 0, next: now + PAUSE }
    }

    pub fn wake_at(&self) -> Instant {
        self.next
    }

    /// Give back what nobody will read, when a look is due.
    pub fn look(&mut self, folder: &Folder, now: Instant) {
        if now < self.next {
            return;
        }
        let given_back = self.open(folder).is_some_and(|file| self.give_back(&file));
        self.next = now + if given_back { WHILE_IT_GROWS } else { PAUSE };
    }

    /// A FIFO or a link in its place is none of ours.
    fn open(&self, folder: &Folder) -> Option<File> {
        let flags = libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = sys::open_at(folder.fd(), &self.name, flags, 0).ok()?;
        file.metadata().is_ok_and(|m| m.is_file()).then_some(file)
    }

    fn give_back(&mut self, file: &File) -> bool {
        let size = file.metadata().map_or(0, |m| m.len());
        let kept = self.head.saturating_add(self.tail);
        if size <= kept || size == self.seen || !sys::punch_out(file, self.head, size - kept) {
            return false;
        }
        self.seen = size;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    fn text(name: &str) -> Text {
        serde_json::from_str(&format!("{name:?}")).unwrap()
    }

    #[test]
    fn the_middle_is_given_back_and_the_length_stays() {
        let dir = std::env::temp_dir().join(format!("budwood-own-log-{}", std::process::id()));
        let folder = Folder::create(dir.clone(), false).unwrap();
        let now = Instant::now();
        let mut log = OwnLog::new(&text("call.log"), 10_000, 20_000, now);
        log.look(&folder, now + PAUSE);
        let bytes: Vec<u8> = (0..1_000_000u32).map(|i| b'a' + (i % 26) as u8).collect();
        fs::write(dir.join("call.log"), &bytes).unwrap();
        let before = fs::metadata(dir.join("call.log")).unwrap().blocks();
        log.look(&folder, now + PAUSE);
        assert_eq!(fs::metadata(dir.join("call.log")).unwrap().blocks(), before, "not due");
        log.look(&folder, now + 2 * PAUSE);
        let after = fs::metadata(dir.join("call.log")).unwrap();
        let kept = fs::read(dir.join("call.log")).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!((kept.len(), &kept[..10_000], &kept[980_000..]), (1_000_000, &bytes[..10_000], &bytes[980_000..]));
        if cfg!(target_os = "linux") {
            assert!(after.blocks() * 512 < 100_000, "{}", after.blocks());
        }
    }
}
