//! Where what an attempt prints goes: into its log and, where a step has one, into that step's transcript.
//!
//! Knows files and what must not stand in them. Must not know processes, nor what a failure means for the attempt.

use std::ffi::{CStr, CString};
use std::time::Instant;

use crate::folder::Folder;
use crate::log::Log;
use crate::mask::Mask;
use crate::result::{self, Complaint};
use crate::text::Text;
use crate::wire::Start;

pub struct Output {
    pub log: Log,
    /// Of the running step.
    transcript: Option<Log>,
    /// Of steps that have ended.
    finished: Vec<CString>,
    mask: Mask,
    /// What may be shown of what was taken last.
    clear: Vec<u8>,
    head_bytes: u64,
    tail_bytes: u64,
    /// After a failed write no further one is tried: it would leave a hole.
    failed: bool,
}

impl Output {
    pub fn new(start: &Start) -> Output {
        let (head_bytes, tail_bytes) = (start.head_bytes, start.tail_bytes);
        Output {
            log: Log::new(c"log", head_bytes, tail_bytes, start.inline_log_bytes),
            transcript: None,
            finished: Vec::new(),
            mask: Mask::new(&start.mask),
            clear: Vec::new(),
            head_bytes,
            tail_bytes,
            failed: false,
        }
    }

    pub fn begin_step(&mut self, transcript: Option<&Text>) {
        self.transcript = transcript.map(|name| Log::new(&name.to_c(), self.head_bytes, self.tail_bytes, 0));
    }

    /// When the loop has to come back even if nothing is printed.
    pub fn wake_at(&self) -> Option<Instant> {
        self.mask.flush_at()
    }

    /// Write what the step printed.
    pub fn take(&mut self, folder: &Folder, bytes: &[u8]) -> Result<(), Complaint> {
        if self.mask.is_empty() {
            return self.write(folder, bytes);
        }
        self.mask.push(bytes, Instant::now(), &mut self.clear);
        self.write_clear(folder)
    }

    /// Write what was held back, when it was long enough.
    pub fn look(&mut self, folder: &Folder, now: Instant) -> Result<(), Complaint> {
        self.mask.look(now, &mut self.clear);
        self.write_clear(folder)
    }

    /// Write all that is left of the step's output: the next one may read the transcript.
    pub fn end_step(&mut self, folder: &Folder) -> Result<(), Complaint> {
        self.mask.flush(&mut self.clear);
        let written = self.write_clear(folder);
        let Some(mut transcript) = self.transcript.take() else { return written };
        // A step that prints nothing has a transcript, too: whoever reads it need not know.
        let ordered = transcript.append(folder, b"").and_then(|()| transcript.put_in_order(folder));
        self.finished.push(transcript.into_name());
        written.and(ordered.map_err(|e| result::fault("the transcript cannot be written", &e)))
    }

    /// The files of it.
    pub fn names(&self) -> impl Iterator<Item = &CStr> {
        self.finished.iter().map(CString::as_c_str).chain([self.log.name()])
    }

    fn write_clear(&mut self, folder: &Folder) -> Result<(), Complaint> {
        if self.clear.is_empty() {
            return Ok(());
        }
        let mut clear = std::mem::take(&mut self.clear);
        let written = self.write(folder, &clear);
        clear.clear();
        self.clear = clear;
        written
    }

    fn write(&mut self, folder: &Folder, bytes: &[u8]) -> Result<(), Complaint> {
        if self.failed {
            return Ok(());
        }
        let written = self.log.append(folder, bytes).map_err(|e| result::fault("the log cannot be written", &e));
        let copied = match &mut self.transcript {
            Some(transcript) => transcript.append(folder, bytes),
            None => Ok(()),
        };
        let written = written.and(copied.map_err(|e| result::fault("the transcript cannot be written", &e)));
        self.failed = written.is_err();
        written
    }
}
