//! What this machine lets a supervisor do.
//!
//! Knows how to find out, once, when first asked. Must not know who asks.

use std::cell::OnceCell;

use serde::Serialize;

use crate::cgroup::Delegation;
#[cfg(target_os = "linux")]
use crate::namespace;

#[derive(Default)]
pub struct Abilities {
    namespace: OnceCell<Result<(), String>>,
    delegation: OnceCell<Result<Delegation, String>>,
}

impl Abilities {
    pub fn contain(&self) -> &'static [&'static str] {
        if self.namespace().is_ok() { &["tree", "namespace"] } else { &["tree"] }
    }

    pub fn delegation(&self) -> Option<&Delegation> {
        self.cgroup().as_ref().ok()
    }

    fn namespace(&self) -> &Result<(), String> {
        #[cfg(target_os = "linux")]
        return self.namespace.get_or_init(namespace::probe);
        #[cfg(not(target_os = "linux"))]
        return self.namespace.get_or_init(|| Err("only Linux has PID namespaces".into()));
    }

    fn cgroup(&self) -> &Result<Delegation, String> {
        self.delegation.get_or_init(|| {
            if cfg!(target_os = "linux") { Delegation::find() } else { Err("only Linux has cgroups".into()) }
        })
    }
}

#[derive(Serialize)]
struct Probe {
    subreaper: bool,
    namespace: bool,
    cgroup: Option<String>,
    pidfd: bool,
    reason: Reasons,
}

#[derive(Serialize)]
struct Reasons {
    namespace: Option<String>,
    cgroup: Option<String>,
}

/// One JSON object for people and for `doctor`.
pub fn probe() -> String {
    let abilities = Abilities::default();
    let probe = Probe {
        subreaper: crate::sys::become_subreaper(),
        namespace: abilities.namespace().is_ok(),
        cgroup: abilities.delegation().map(|d| d.path().display().to_string()),
        pidfd: crate::pidfd::Pidfd::open(std::process::id() as libc::pid_t).is_ok_and(|fd| fd.is_real()),
        reason: Reasons { namespace: abilities.namespace().clone().err(), cgroup: abilities.cgroup().clone().err() },
    };
    serde_json::to_string(&probe).expect("plain data can be written as JSON")
}
