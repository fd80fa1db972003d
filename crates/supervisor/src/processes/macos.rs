//! Processes as libproc and sysctl show them.

use std::mem;

use libc::{c_int, c_void, pid_t};

use super::{Process, readable};

pub fn all_pids() -> Vec<pid_t> {
    let room = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) }.max(0) as usize + 64;
    let mut pids = vec![0 as pid_t; room];
    let bytes = (room * mem::size_of::<pid_t>()) as c_int;
    let n = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(n.max(0) as usize);
    pids
}

pub fn look(pid: pid_t) -> Option<Process> {
    let info: libc::proc_bsdinfo = ask(pid, libc::PROC_PIDTBSDINFO)?;
    Some(Process {
        pid,
        parent: info.pbi_ppid as pid_t,
        group: info.pbi_pgid as pid_t,
        zombie: info.pbi_status == libc::SZOMB,
    })
}

fn ask<T>(pid: pid_t, flavor: c_int) -> Option<T> {
    let mut info: T = unsafe { mem::zeroed() };
    let size = mem::size_of::<T>() as c_int;
    let n = unsafe { libc::proc_pidinfo(pid, flavor, 0, (&raw mut info).cast(), size) };
    (n == size).then_some(info)
}

pub fn resident_bytes(pid: pid_t) -> u64 {
    ask::<libc::proc_taskinfo>(pid, libc::PROC_PIDTASKINFO).map_or(0, |info| info.pti_resident_size)
}

pub fn proportional_bytes(_pid: pid_t) -> Option<u64> {
    None
}

pub fn command(pid: pid_t) -> String {
    let (words, _) = arguments_and_environment(pid).unwrap_or_default();
    readable(&words)
}

/// NUL-separated `NAME=value`; empty where it may not be read.
pub fn environment(pid: pid_t) -> Vec<u8> {
    arguments_and_environment(pid).unwrap_or_default().1
}

/// KERN_PROCARGS2: the count of arguments, the program's path, padding, the arguments, the environment.
fn arguments_and_environment(pid: pid_t) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut mib = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut size = 1 << 20;
    let mut bytes = vec![0u8; size];
    let to = bytes.as_mut_ptr().cast::<c_void>();
    let asked = unsafe { libc::sysctl(mib.as_mut_ptr(), 3, to, &mut size, std::ptr::null_mut(), 0) };
    if asked != 0 || size < 4 {
        return None;
    }
    let count = c_int::from_ne_bytes(bytes[..4].try_into().ok()?).max(0) as usize;
    let rest = &bytes[4..size];
    let path_end = rest.iter().position(|b| *b == 0)?;
    let padding = rest[path_end..].iter().position(|b| *b != 0)?;
    let words = &rest[path_end + padding..];
    let ends = words.iter().enumerate().filter(|(_, b)| **b == 0).map(|(i, _)| i + 1);
    let split = if count == 0 { 0 } else { ends.clone().nth(count - 1)? };
    Some((words[..split].to_vec(), words[split..].to_vec()))
}
