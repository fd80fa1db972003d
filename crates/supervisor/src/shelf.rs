//! The directory of a forgotten attempt, kept for the next one.
//!
//! Knows what may be left inside. Must not know messages or running attempts.
//!
//! Why: ext4 does not give out an inode again for some seconds after its file was removed, and searches past all of
//! them for a new one. Making and removing some of them for each short attempt costs more than the attempt. So the
//! directory and its files go from attempt to attempt. The content of `result.json` and `log` is given back to the file
//! system before: after a crash of the machine they may be empty, as new files may, but never show an older attempt's.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::folder::{self, Folder};
use crate::sys;

/// Drivers forget an attempt soon after its end; older ones are removed the ordinary way.
const REMEMBERED: usize = 16;
/// A longer log gives its room back with its name.
const LARGEST_KEPT: u64 = 64 * 1024;

pub struct Shelf {
    spare: PathBuf,
    has_spare: bool,
    /// Directories that this very process began: their `begun` holds its id.
    own: VecDeque<PathBuf>,
}

impl Shelf {
    /// What a killed supervisor left on it is removed.
    pub fn new(spare: PathBuf) -> io::Result<Shelf> {
        folder::forget(&spare)?;
        Ok(Shelf { spare, has_spare: false, own: VecDeque::new() })
    }

    /// Make and claim the directory of an attempt. None: it has begun before.
    pub fn begin(&mut self, path: PathBuf) -> io::Result<Option<Folder>> {
        let reused = self.has_spare && fs::rename(&self.spare, &path).is_ok();
        if reused {
            // The rename brought `begun` along: it fails where anything is in the way, so it is the claim, too.
            self.has_spare = false;
        }
        let folder = Folder::create(path, reused)?;
        if !reused && !folder.claim()? {
            return Ok(None);
        }
        if self.own.len() == REMEMBERED {
            self.own.pop_front();
        }
        self.own.push_back(folder.path().to_path_buf());
        Ok(Some(folder))
    }

    /// Remove a directory of an ended attempt, or keep it as the spare one; one that is gone already is fine.
    pub fn forget(&mut self, dir: &Path) -> io::Result<()> {
        let known = self.own.iter().position(|own| own == dir).and_then(|i| self.own.remove(i));
        if known.is_some() && !self.has_spare && strip(dir).unwrap_or(false) {
            self.has_spare = fs::rename(dir, &self.spare).is_ok();
            if self.has_spare {
                return Ok(());
            }
        }
        folder::forget(dir)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let _ = folder::forget(&self.spare);
    }
}

/// Leave `begun`, `spec.json` and emptied files under their temporary names. False: the attempt did more to it, and it is
/// not used again.
fn strip(dir: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(dir)?.mode() & 0o700 != 0o700 {
        return Ok(false);
    }
    let mut kept = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_name().as_encoded_bytes() {
            b"begun" if is_plain(&entry.metadata()?) => kept += 1,
            b"spec.json" if is_private(&entry.metadata()?) => kept += 1,
            b"result.json" => put_aside(&entry, "result.json.new")?,
            b"log" => put_aside(&entry, "log.new")?,
            b"usage.json" if !entry.file_type()?.is_dir() => fs::remove_file(entry.path())?,
            // Not used by the last attempt, or just put aside.
            b"result.json.new" | b"log.new" if is_plain(&entry.metadata()?) => (),
            _ => return Ok(false),
        }
    }
    Ok(kept == 2)
}

fn put_aside(entry: &fs::DirEntry, name: &str) -> io::Result<()> {
    let path = entry.path();
    let meta = entry.metadata()?;
    let small = is_plain(&meta) && meta.len() <= LARGEST_KEPT;
    if small && sys::punch_out(&File::options().write(true).open(&path)?, 0, meta.len()) {
        return fs::rename(&path, path.with_file_name(name));
    }
    fs::remove_file(path)
}

/// A file of ours that nobody linked elsewhere: writing to it changes nothing but itself.
fn is_plain(file: &fs::Metadata) -> bool {
    file.is_file() && file.nlink() == 1 && file.mode() & 0o600 == 0o600
}

/// The next attempt's keys will be in it.
fn is_private(file: &fs::Metadata) -> bool {
    is_plain(file) && file.mode() & 0o077 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Place(PathBuf, Shelf);

    fn place(name: &str) -> Place {
        let root = std::env::temp_dir().join(format!("budwood-shelf-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let shelf = Shelf::new(root.join("spare")).unwrap();
        Place(root, shelf)
    }

    impl Place {
        fn begin(&mut self, id: &str, spec: &str) -> Option<PathBuf> {
            let dir = self.0.join(id);
            let folder = self.1.begin(dir.clone()).unwrap()?;
            folder.write_spec(spec.as_bytes()).unwrap();
            Some(dir)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_directory_goes_from_attempt_to_attempt() {
        let mut place = place("again");
        let first = place.begin("1", "a long message").unwrap();
        let inode = fs::metadata(&first).unwrap().ino();
        fs::write(first.join("result.json"), "1").unwrap();
        place.1.forget(&first).unwrap();
        let second = place.begin("2", "short").unwrap();
        assert_eq!(fs::metadata(&second).unwrap().ino(), inode);
        assert!(!first.exists() && !second.join("result.json").exists());
        assert_eq!(fs::read_to_string(second.join("spec.json")).unwrap(), "short");
        assert_eq!(fs::read_to_string(second.join("begun")).unwrap(), format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_spare_directory_does_not_hide_that_an_attempt_has_begun() {
        let mut place = place("claim");
        let first = place.begin("1", "x").unwrap();
        place.begin("2", "x").unwrap();
        place.1.forget(&first).unwrap();
        assert_eq!(place.begin("2", "y"), None);
        fs::create_dir(place.0.join("3")).unwrap();
        fs::write(place.0.join("3/note"), "of the driver").unwrap();
        let third = place.begin("3", "z").unwrap();
        assert!(third.join("note").exists() && third.join("begun").exists());
    }

    #[test]
    fn what_the_attempt_changed_is_not_used_again() {
        let mut place = place("changed");
        let changes: [fn(&Path); 5] = [
            |dir| fs::write(dir.join("more"), "").unwrap(),
            |dir| fs::hard_link(dir.join("spec.json"), dir.parent().unwrap().join("elsewhere")).unwrap(),
            |dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o500)).unwrap(),
            |dir| fs::remove_file(dir.join("begun")).unwrap(),
            |dir| fs::set_permissions(dir.join("spec.json"), fs::Permissions::from_mode(0o640)).unwrap(),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let dir = place.begin(&i.to_string(), "x").unwrap();
            change(&dir);
            place.1.forget(&dir).unwrap();
            assert!(!dir.exists() && !place.1.has_spare, "change {i}");
        }
    }
}
