//! What was printed, in a file: its beginning, its end, and how much was dropped between. An attempt has one, the log; a
//! step may have one of its own, its transcript.
//!
//! Knows the layout of the file. Must not know where the bytes come from.
//!
//! Byte `i` of the output lies at offset `i` while it belongs to the head; the bytes behind it lie in a ring of
//! `tail_bytes` right behind the head, so a killed supervisor loses none of what was to be kept.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use crate::folder::{DRAFT, Folder};
use crate::sys;

pub struct Log {
    name: CString,
    draft: CString,
    file: Option<File>,
    head_bytes: u64,
    tail_bytes: u64,
    total: u64,
    /// The first bytes again, so that a short log need not be read back.
    memory: Vec<u8>,
    memory_limit: usize,
}

impl Log {
    pub fn new(name: &CStr, head_bytes: u64, tail_bytes: u64, inline_bytes: u64) -> Log {
        let memory_limit = usize::try_from(inline_bytes).unwrap_or(usize::MAX);
        let draft = CString::new([name.to_bytes(), DRAFT].concat()).expect("a name has no NUL");
        Log { name: name.into(), draft, file: None, head_bytes, tail_bytes, total: 0, memory: Vec::new(), memory_limit }
    }

    /// Add output. The file is made with the first byte: an attempt that says nothing costs none.
    pub fn append(&mut self, folder: &Folder, bytes: &[u8]) -> io::Result<()> {
        let at = self.total;
        self.total += bytes.len() as u64;
        let room = self.memory_limit.saturating_sub(self.memory.len());
        // Beyond the limit nothing is added, so a prefix is never taken for the whole.
        self.memory.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let head = (self.head_bytes.saturating_sub(at)).min(bytes.len() as u64) as usize;
        if let Some(file) = &self.file {
            if head > 0 {
                file.write_all_at(&bytes[..head], at)?;
            }
        } else {
            // Filled before it has its name: it may be an older attempt's file that is used again (`shelf`).
            self.file = Some(folder.fill(&self.draft, 0o644, &bytes[..head])?);
            sys::rename_at(folder.fd(), &self.draft, &self.name)?;
        }
        let Some(file) = &self.file else { return Ok(()) };
        self.append_to_ring(file, &bytes[head..], at + head as u64)
    }

    fn append_to_ring(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        if self.tail_bytes == 0 || bytes.is_empty() {
            return Ok(());
        }
        // Of more than a ringful only the last ringful would remain.
        let skipped = (bytes.len() as u64).saturating_sub(self.tail_bytes);
        let mut rest = &bytes[skipped as usize..];
        let mut at = at + skipped - self.head_bytes;
        while !rest.is_empty() {
            let offset = at % self.tail_bytes;
            let n = (self.tail_bytes - offset).min(rest.len() as u64) as usize;
            file.write_all_at(&rest[..n], self.head_bytes + offset)?;
            rest = &rest[n..];
            at += n as u64;
        }
        Ok(())
    }

    pub fn into_name(self) -> CString {
        self.name
    }

    pub fn name(&self) -> &CStr {
        &self.name
    }

    pub fn output_bytes(&self) -> u64 {
        self.total
    }

    pub fn dropped_bytes(&self) -> u64 {
        self.total.saturating_sub(self.head_bytes.saturating_add(self.tail_bytes))
    }

    /// Put the file in order, by rename: a kill at any moment leaves the ring or the ordered file.
    pub fn put_in_order(&mut self, folder: &Folder) -> io::Result<()> {
        if self.dropped_bytes() == 0 {
            return Ok(());
        }
        let Some(ring) = &mut self.file else {
            return Ok(());
        };
        let mut ordered = sys::create_at(folder.fd(), &self.draft, 0o644)?;
        copy(ring, 0, self.head_bytes, &mut ordered)?;
        let mut last = *b"\n";
        if self.head_bytes > 0 {
            ring.read_exact_at(&mut last, self.head_bytes - 1)?;
        }
        let dropped = self.total - self.head_bytes - self.tail_bytes;
        let line_break = if last == *b"\n" { "" } else { "\n" };
        ordered.write_all(format!("{line_break}[budwood: {dropped} bytes dropped here]\n").as_bytes())?;
        if self.tail_bytes > 0 {
            let oldest = (self.total - self.head_bytes) % self.tail_bytes;
            copy(ring, self.head_bytes + oldest, self.tail_bytes - oldest, &mut ordered)?;
            copy(ring, self.head_bytes, oldest, &mut ordered)?;
        }
        sys::rename_at(folder.fd(), &self.draft, &self.name)?;
        self.file = Some(ordered);
        Ok(())
    }

    /// The whole log, where it is short enough and text.
    pub fn inline(&mut self) -> Option<String> {
        if self.total <= self.memory_limit as u64 && self.dropped_bytes() == 0 {
            return String::from_utf8(std::mem::take(&mut self.memory)).ok();
        }
        let file = self.file.as_ref()?;
        let len = file.metadata().ok()?.len();
        if len > self.memory_limit as u64 {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0).ok()?;
        String::from_utf8(bytes).ok()
    }
}

fn copy(from: &mut File, at: u64, bytes: u64, to: &mut File) -> io::Result<()> {
    from.seek(SeekFrom::Start(at))?;
    io::copy(&mut from.take(bytes), to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn log_of(chunks: &[&[u8]], head: u64, tail: u64) -> (Vec<u8>, u64, Option<String>) {
        let dir =
            std::env::temp_dir().join(format!("budwood-log-{}-{:?}", std::process::id(), std::thread::current().id()));
        let folder = Folder::create(dir.clone(), false).unwrap();
        let mut log = Log::new(c"log", head, tail, 1000);
        for chunk in chunks {
            log.append(&folder, chunk).unwrap();
        }
        log.put_in_order(&folder).unwrap();
        let bytes = fs::read(dir.join("log")).unwrap_or_default();
        fs::remove_dir_all(&dir).unwrap();
        (bytes, log.dropped_bytes(), log.inline())
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let (bytes, dropped, inline) = log_of(&[b"abc", b"defg", b"hi"], 4, 5);
        assert_eq!((bytes.as_slice(), dropped, inline.as_deref()), (&b"abcdefghi"[..], 0, Some("abcdefghi")));
    }

    #[test]
    fn the_middle_is_dropped_and_counted_whatever_the_chunks() {
        let text: Vec<u8> = (0..997u32).map(|i| b'a' + (i % 26) as u8).collect();
        for size in [1, 2, 3, 7, 10, 64, 500, 997] {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            let (bytes, dropped, inline) = log_of(&chunks, 10, 13);
            let expected = [&text[..10], b"\n[budwood: 974 bytes dropped here]\n", &text[997 - 13..]].concat();
            assert_eq!((bytes, dropped), (expected.clone(), 974), "chunks of {size}");
            assert_eq!(inline.unwrap().as_bytes(), expected);
        }
    }

    #[test]
    fn the_line_is_its_own_line_without_an_empty_one() {
        let (bytes, ..) = log_of(&[b"abc\ndef\nghi\n"], 4, 4);
        assert_eq!(bytes, b"abc\n[budwood: 4 bytes dropped here]\nghi\n");
    }

    #[test]
    fn no_head_or_no_tail_is_fine() {
        assert_eq!(log_of(&[b"abcdef"], 0, 2).0, b"[budwood: 4 bytes dropped here]\nef");
        assert_eq!(log_of(&[b"abcdef"], 2, 0).0, b"ab\n[budwood: 4 bytes dropped here]\n");
        assert_eq!(log_of(&[b"abcdef"], 0, 0).0, b"[budwood: 6 bytes dropped here]\n");
    }

    #[test]
    fn what_is_not_text_does_not_travel_inline() {
        assert_eq!(log_of(&[b"a\xffb"], 10, 10).2, None);
        assert_eq!(log_of(&[b"a\0b"], 10, 10).2.as_deref(), Some("a\0b"));
    }
}
