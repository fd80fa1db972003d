//! The directory of one attempt, and the removal of directories.
//!
//! Knows the files of an attempt by name. Must not know what an attempt does with them.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::sys;

const USAGE_LIMIT: u64 = 64 * 1024;
/// Ends the name that a file has while it is written.
pub const DRAFT: &[u8] = b".new";
pub const OWN_FILES: [&CStr; 7] =
    [c"begun", c"spec.json", c"log", c"result.json", c"usage.json", c"log.new", c"result.json.new"];

pub struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Open the directory, making it where it is missing.
    pub fn create(path: PathBuf, exists: bool) -> io::Result<Folder> {
        if !exists {
            match fs::create_dir(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => fs::create_dir_all(&path)?,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => (),
                other => other?,
            }
        }
        let fd = sys::open_directory(&path)?;
        Ok(Folder { path, fd })
    }

    pub fn create_again(&mut self) -> io::Result<()> {
        *self = Folder::create(self.path.clone(), false)?;
        Ok(())
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Claim the attempt, once and for ever. False: somebody did before.
    pub fn claim(&self) -> io::Result<bool> {
        match sys::open_at(self.fd(), c"begun", libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o644) {
            Ok(mut file) => file.write_all(format!("{}\n", std::process::id()).as_bytes()).map(|()| true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Keep the message for people. Readable by its owner only: an environment may hold keys.
    pub fn write_spec(&self, line: &[u8]) -> io::Result<()> {
        self.fill(c"spec.json", 0o600, line).map(drop)
    }

    /// Make the file hold these bytes and no others.
    pub fn fill(&self, name: &CStr, mode: u32, bytes: &[u8]) -> io::Result<File> {
        let mut file = sys::open_to_overwrite(self.fd(), name, mode)?;
        file.write_all(bytes)?;
        // Cut last: ext4 writes a file out at once that was emptied and filled again.
        file.set_len(bytes.len() as u64)?;
        Ok(file)
    }

    /// What the attempt says it cost. A FIFO, a link or a huge file in its place is no answer.
    pub fn read_usage(&self) -> Option<String> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = sys::open_at(self.fd(), c"usage.json", flags, 0).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(USAGE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= USAGE_LIMIT).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Make the content of files durable that are in here; what the attempt has removed is gone.
    pub fn sync_content<'a>(&self, names: impl IntoIterator<Item = &'a CStr>) -> io::Result<()> {
        for name in names {
            let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
            if let Ok(file) = sys::open_at(self.fd(), name, flags, 0) {
                if file.metadata()?.is_file() {
                    file.sync_data()?;
                }
            }
        }
        Ok(())
    }

    /// Open what a step is to read. Only a file: a FIFO could keep it waiting, and us.
    pub fn open_input(&self, path: &CStr) -> io::Result<File> {
        let file = sys::open_at(self.fd(), path, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY, 0)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        // The step shares the flags of what we opened.
        sys::check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) })?;
        Ok(file)
    }

    /// Make names durable: of the files in here, and of the directory itself.
    pub fn sync(&self) -> io::Result<()> {
        sys::check(unsafe { libc::fsync(self.fd()) })?;
        match self.path.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// Whether `dir` lies directly below `attempts`. Lexical: a link is removed as a link, never followed.
pub fn is_directly_below(dir: &Path, attempts: &Path) -> bool {
    let plain = dir.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    plain && dir.is_absolute() && dir.parent() == Some(attempts)
}

/// Remove a directory of an ended attempt; one that is gone already is fine.
pub fn forget(dir: &Path) -> io::Result<()> {
    // Its own few files first, by name: an ordinary attempt has no others and needs no listing.
    match sys::open_directory(dir) {
        Ok(fd) => {
            for name in OWN_FILES {
                unsafe { libc::unlinkat(fd.as_raw_fd(), name.as_ptr(), 0) };
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => (),
    }
    match fs::remove_dir(dir) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => remove_all(dir),
    }
}

/// Leave `dir` there and empty, whatever was done to it.
pub fn empty(dir: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(dir).is_ok_and(|m| m.is_dir()) {
        let _ = fs::remove_file(dir);
        return fs::create_dir_all(dir);
    }
    empty_once(dir).or_else(|_| {
        open_up(dir);
        empty_once(dir)
    })
}

fn empty_once(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn remove_all(dir: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(dir)?.is_dir() {
        return fs::remove_file(dir);
    }
    fs::remove_dir_all(dir).or_else(|_| {
        open_up(dir);
        fs::remove_dir_all(dir)
    })
}

/// Directories without write permission (Go's module cache, chmod 000) stop their own owner.
fn open_up(top: &Path) {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        waiting.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_directly_below_the_attempts_may_be_forgotten() {
        let attempts = Path::new("/run/attempts");
        assert!(is_directly_below(Path::new("/run/attempts/1.1"), attempts));
        for bad in [
            "/run/attempts",
            "/run/attempts/..",
            "/run/attempts/a/../b",
            "/run/attempts/a/b",
            "/etc",
            "1.1",
            "/run/attempts/../x",
            "",
        ] {
            assert!(!is_directly_below(Path::new(bad), attempts), "{bad}");
        }
    }

    #[test]
    fn a_directory_is_emptied_and_a_missing_one_made() {
        let dir = std::env::temp_dir().join(format!("budwood-folder-{}", std::process::id()));
        empty(&dir).unwrap();
        fs::create_dir_all(dir.join("a/b")).unwrap();
        fs::write(dir.join("a/b/c"), "x").unwrap();
        std::os::unix::fs::symlink("/", dir.join("link")).unwrap();
        fs::set_permissions(dir.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        empty(&dir).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        forget(&dir).unwrap();
        forget(&dir).unwrap();
        assert!(!dir.exists());
    }
}
