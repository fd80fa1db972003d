//! Processes as `/proc` shows them.

use std::fs;
use std::sync::OnceLock;

use libc::pid_t;

use super::{Process, readable};

pub fn all_pids() -> Vec<pid_t> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub fn look(pid: pid_t) -> Option<Process> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(pid: pid_t, stat: &[u8]) -> Option<Process> {
    // The name is whatever the process chose, brackets and spaces included: the last bracket ends it.
    let end = stat.iter().rposition(|b| *b == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        zombie: matches!(fields[0], "Z" | "X") && threads <= 1,
    })
}

/// Whether this kernel was built with the list of a process's children.
pub fn knows_children() -> bool {
    static KNOWS: OnceLock<bool> = OnceLock::new();
    *KNOWS.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// Children of all threads of `pid`: each thread has its own.
pub fn children(pid: pid_t) -> Vec<pid_t> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<_>>()).collect()
}

pub fn resident_bytes(pid: pid_t) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = statm.split_ascii_whitespace().nth(1).and_then(|w| w.parse().ok()).unwrap_or(0);
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// Memory with shared pages divided among their users; None where the kernel does not say.
pub fn proportional_bytes(pid: pid_t) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

pub fn command(pid: pid_t) -> String {
    let line = readable(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    if line.is_empty() {
        return readable(&fs::read(format!("/proc/{pid}/comm")).unwrap_or_default()).trim().into();
    }
    line
}

/// NUL-separated `NAME=value`; empty where it may not be read.
pub fn environment(pid: pid_t) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let stat = b"7 (a) Z 1 (b) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 9 9";
        let process = parse_stat(7, stat).unwrap();
        assert_eq!(process, Process { pid: 7, parent: 3, group: 4, zombie: false });
    }

    #[test]
    fn a_zombie_leader_with_running_threads_is_alive() {
        let stat = |threads| format!("7 (x) Z 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 9");
        assert!(parse_stat(7, stat(1).as_bytes()).unwrap().zombie);
        assert!(!parse_stat(7, stat(2).as_bytes()).unwrap().zombie);
    }

    #[test]
    fn memory_of_this_process_is_told() {
        let pid = std::process::id() as pid_t;
        assert!(resident_bytes(pid) > 100_000);
        assert!(proportional_bytes(pid).is_none_or(|b| b > 100_000));
    }
}
