//! A cgroup (version 2) for one attempt, where somebody delegated one to us.
//!
//! Knows the files of the memory controller. Must not know how an attempt is run.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

/// A directory below which we may make cgroups with a memory limit.
#[derive(Clone, Debug)]
pub struct Delegation(PathBuf);

pub struct Cgroup {
    dir: PathBuf,
    procs: File,
}

impl Delegation {
    /// Look for one; the error is a reason for people.
    pub fn find() -> Result<Delegation, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|e| e.to_string())?;
        let own = own_directory(&mounts, &groups).ok_or("no cgroup version 2 is mounted here")?;
        Delegation::among(&own)
    }

    /// Our own cgroup, or the one above: a cgroup that holds processes cannot hand controllers down, so where we run
    /// inside a scope of the user's own service manager it is the parent that can.
    fn among(own: &Path) -> Result<Delegation, String> {
        let mut reason = String::new();
        for dir in [Some(own), own.parent()].into_iter().flatten() {
            match accept(dir) {
                Ok(()) => return Ok(Delegation(dir.to_path_buf())),
                Err(e) if reason.is_empty() => reason = format!("{}: {e}", dir.display()),
                Err(_) => (),
            }
        }
        Err(reason)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Make the cgroup of one attempt.
    pub fn create(&self, limit_bytes: u64) -> io::Result<Cgroup> {
        let dir = self.0.join(format!("budwood-{}", std::process::id()));
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir(&dir).and_then(|()| fs::create_dir(&dir))?
            }
            other => other?,
        }
        Cgroup::set_up(dir, limit_bytes)
    }
}

fn accept(dir: &Path) -> Result<(), String> {
    let read = |name: &str| fs::read_to_string(dir.join(name)).map_err(|e| e.to_string());
    let lists_memory = |list: &str| list.split_ascii_whitespace().any(|word| word == "memory");
    if !lists_memory(&read("cgroup.controllers")?) {
        return Err("the memory controller is not available".into());
    }
    if !lists_memory(&read("cgroup.subtree_control")?) {
        fs::write(dir.join("cgroup.subtree_control"), "+memory")
            .map_err(|e| format!("cannot hand down the memory controller: {e}"))?;
    }
    let trial = dir.join(format!("budwood-trial-{}", std::process::id()));
    fs::create_dir(&trial).map_err(|e| format!("not delegated: {e}"))?;
    let _ = fs::remove_dir(&trial);
    // Moving a process needs leave to write here, too.
    File::options().write(true).open(dir.join("cgroup.procs")).map_err(|e| format!("not delegated: {e}"))?;
    Ok(())
}

/// Mount point plus own path, minus the part of the path that the mount begins at.
fn own_directory(mountinfo: &str, cgroup: &str) -> Option<PathBuf> {
    let own = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if !after.starts_with("cgroup2 ") {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}

impl Cgroup {
    fn set_up(dir: PathBuf, limit_bytes: u64) -> io::Result<Cgroup> {
        fs::write(dir.join("memory.max"), limit_bytes.to_string())?;
        // All or nothing: half an attempt must not run on. Both are missing on older kernels.
        let _ = fs::write(dir.join("memory.oom.group"), "1");
        // Swap is no way around the limit.
        let _ = fs::write(dir.join("memory.swap.max"), "0");
        let procs = File::options().write(true).open(dir.join("cgroup.procs"))?;
        Ok(Cgroup { dir, procs })
    }

    pub fn procs(&self) -> RawFd {
        self.procs.as_raw_fd()
    }

    pub fn peak_bytes(&self) -> Option<u64> {
        fs::read_to_string(self.dir.join("memory.peak")).ok()?.trim().parse().ok()
    }

    /// Whether the kernel ended something in here because of the limit.
    pub fn ran_out(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("memory.events")).unwrap_or_default();
        let counts = events.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        counts.filter_map(|n| n.trim().parse::<u64>().ok()).any(|n| n > 0)
    }

    /// KILL to everything in here at one stroke.
    pub fn kill(&self) {
        let _ = fs::write(self.dir.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir(&self.dir) {
            complain!("cannot remove {}: {e}", self.dir.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand_in(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("budwood-cgroup-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        for (file, text) in files {
            fs::write(dir.join(file), text).unwrap();
        }
        dir
    }

    #[test]
    fn the_own_directory_is_found_below_the_mount() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(own_directory(mounts, "0::/a/b\n").unwrap(), Path::new("/sys/fs/cgroup/a/b"));
        let inner = "30 23 0:26 /a /cg rw,nosuid shared:4 - cgroup2 none rw\n";
        assert_eq!(own_directory(inner, "1:x:/y\n0::/a/b\n").unwrap(), Path::new("/cg/b"));
        assert_eq!(own_directory("30 23 0:26 / /cg rw - cgroup none rw\n", "0::/a\n"), None);
    }

    #[test]
    fn a_directory_with_the_controller_is_accepted_and_others_say_why_not() {
        let good = stand_in(
            "good",
            &[("cgroup.controllers", "cpu memory"), ("cgroup.subtree_control", ""), ("cgroup.procs", "")],
        );
        assert_eq!(Delegation::among(&good).unwrap().path(), good);
        assert_eq!(fs::read_to_string(good.join("cgroup.subtree_control")).unwrap(), "+memory");
        let bad = stand_in("bad", &[("cgroup.controllers", "cpu"), ("cgroup.subtree_control", "")]);
        assert!(Delegation::among(&bad).unwrap_err().contains("memory controller"));
        fs::remove_dir_all(good).unwrap();
        fs::remove_dir_all(bad).unwrap();
    }

    #[test]
    fn the_limit_is_written_and_events_and_peak_are_read() {
        let dir = stand_in(
            "own",
            &[("cgroup.procs", ""), ("memory.peak", "4096\n"), ("memory.events", "low 0\noom 1\noom_kill 0\n")],
        );
        let group = Cgroup::set_up(dir.clone(), 1 << 20).unwrap();
        assert_eq!(fs::read_to_string(dir.join("memory.max")).unwrap(), "1048576");
        assert_eq!((group.peak_bytes(), group.ran_out()), (Some(4096), false));
        fs::write(dir.join("memory.events"), "oom 1\noom_kill 2\n").unwrap();
        assert!(group.ran_out());
        group.kill();
        assert_eq!(fs::read_to_string(dir.join("cgroup.kill")).unwrap(), "1");
        fs::remove_dir_all(&dir).unwrap();
        std::mem::forget(group);
    }
}
