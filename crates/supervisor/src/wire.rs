//! The messages between driver and supervisor: `docs/reference/supervisor-protocol.md`.
//!
//! Knows their fields and bounds. Must not know sockets, nor what is done about a message.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::folder::{DRAFT, OWN_FILES};
use crate::result::AttemptResult;
use crate::text::{Environment, Secret, Text};

#[derive(Debug)]
pub enum Command {
    Hello { fence: u64 },
    Start(Box<Start>),
    Cancel { fence: u64, attempt: String },
    Deadline { fence: u64, attempt: String, in_s: Option<f64> },
    Forget { fence: u64, dirs: Vec<Text> },
    Exit { fence: u64 },
}

#[derive(Debug, Deserialize)]
pub struct Start {
    pub fence: u64,
    pub attempt: String,
    pub dir: Text,
    pub cwd: Text,
    pub env: Environment,
    pub steps: Vec<StepSpec>,
    #[serde(default)]
    pub timeout_s: Option<f64>,
    #[serde(default = "default_grace_s")]
    pub grace_s: f64,
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    #[serde(default = "default_kept_bytes")]
    pub head_bytes: u64,
    #[serde(default = "default_kept_bytes")]
    pub tail_bytes: u64,
    #[serde(default)]
    pub contain: Contain,
    #[serde(default)]
    pub forget: Vec<Text>,
    #[serde(default)]
    pub inline_log_bytes: u64,
    /// Nobody wants it without a driver: it ends with the last connection.
    #[serde(default)]
    pub with_driver: bool,
    /// A file in its directory that it writes itself, to be kept from filling the disk.
    #[serde(default)]
    pub own_log: Option<Text>,
    /// What must not stand in the log or in a transcript.
    #[serde(default)]
    pub mask: Vec<Secret>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct StepSpec {
    pub name: String,
    pub argv: Vec<Text>,
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// A file to read, absolute or from the attempt's directory.
    #[serde(default)]
    pub stdin: Option<Text>,
    /// A file in the attempt's directory that gets what this step prints.
    #[serde(default)]
    pub transcript: Option<Text>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Contain {
    #[default]
    Tree,
    Namespace,
}

fn default_grace_s() -> f64 {
    2.0
}

fn default_kept_bytes() -> u64 {
    1 << 19
}

/// What every message has or may have; the rest is read once its type is known.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    r#type: std::borrow::Cow<'a, str>,
    fence: u64,
    #[serde(default)]
    attempt: Option<String>,
}

/// Read one line. The error is a sentence for the `refused` message.
pub fn read(line: &[u8]) -> Result<Command, String> {
    let head: Head = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let fence = head.fence;
    match &*head.r#type {
        "hello" => Ok(Command::Hello { fence }),
        "start" => Ok(Command::Start(Box::new(read_start(line)?))),
        "cancel" => Ok(Command::Cancel { fence, attempt: head.attempt.ok_or("cancel names no attempt")? }),
        "deadline" => {
            #[derive(Deserialize)]
            struct Deadline {
                in_s: Option<f64>,
            }
            let Deadline { in_s } = serde_json::from_slice(line).map_err(|e| e.to_string())?;
            check_seconds(in_s)?;
            Ok(Command::Deadline { fence, attempt: head.attempt.ok_or("deadline names no attempt")?, in_s })
        }
        "forget" => {
            #[derive(Deserialize)]
            struct Forget {
                dirs: Vec<Text>,
            }
            let Forget { dirs } = serde_json::from_slice(line).map_err(|e| e.to_string())?;
            Ok(Command::Forget { fence, dirs })
        }
        "exit" => Ok(Command::Exit { fence }),
        other => Err(format!("unknown message type {other:?}")),
    }
}

fn read_start(line: &[u8]) -> Result<Start, String> {
    let start: Start = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    if start.steps.is_empty() {
        return Err("start has no steps".into());
    }
    if let Some(step) = start.steps.iter().find(|s| s.argv.first().is_none_or(|a| a.bytes().is_empty())) {
        return Err(format!("step {:?} has no program", step.name));
    }
    let limits = start.steps.iter().filter_map(|s| s.timeout_s).chain(start.timeout_s);
    check_seconds(limits.chain([start.grace_s]))?;
    if let Some(name) = start.own_log.as_ref().filter(|name| !is_file_name(name.bytes())) {
        return Err(format!("own_log is {name}, not the name of a file"));
    }
    check_transcripts(&start)?;
    Ok(start)
}

/// Each has a file of its own, and a name beside it for the moment when it is put in order.
fn check_transcripts(start: &Start) -> Result<(), String> {
    let mut taken: HashSet<Vec<u8>> = OWN_FILES.iter().map(|name| name.to_bytes().to_vec()).collect();
    taken.extend(start.own_log.iter().map(|name| name.bytes().to_vec()));
    for name in start.steps.iter().filter_map(|step| step.transcript.as_ref()) {
        let draft = [name.bytes(), DRAFT].concat();
        if !is_file_name(name.bytes()) || !taken.insert(name.bytes().to_vec()) || !taken.insert(draft) {
            return Err(format!("transcript is {name}, not the name of a file that nothing else has"));
        }
    }
    Ok(())
}

fn check_seconds(limits: impl IntoIterator<Item = f64>) -> Result<(), String> {
    match limits.into_iter().find(|s| !(s.is_finite() && *s >= 0.0)) {
        Some(bad) => Err(format!("{bad} is no number of seconds")),
        None => Ok(()),
    }
}

fn is_file_name(bytes: &[u8]) -> bool {
    !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/')
}

/// Seconds as a duration; years are as good as for ever and cannot overflow the clock.
pub fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s.clamp(0.0, 1e9))
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Answer<'a> {
    Hello {
        fence: u64,
        pid: u32,
        version: &'a str,
        attempt: Option<&'a str>,
        pid_of_step: Option<i32>,
        begun_at_ms: Option<u64>,
        contain: &'a [&'a str],
        cgroup: bool,
    },
    Begun {
        attempt: &'a str,
        pid: i32,
        at_ms: u64,
    },
    Ended {
        attempt: &'a str,
        result: &'a AttemptResult,
        log: Option<&'a str>,
    },
    Refused {
        attempt: Option<&'a str>,
        reason: Reason,
        fence: u64,
        message: &'a str,
    },
}

#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Fence,
    Busy,
    Begun,
    Retired,
    Bad,
}

impl Answer<'_> {
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = Vec::with_capacity(1024);
        serde_json::to_writer(&mut line, self).expect("plain data can be written as JSON");
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"type":"start","fence":3,"attempt":"1.1","dir":"/d","cwd":"/","env":{},"steps":[{"name":"run","argv":["true"]}]}"#;

    #[test]
    fn start_is_read_with_defaults() {
        let Ok(Command::Start(start)) = read(START.as_bytes()) else { panic!() };
        assert_eq!((start.fence, start.contain, start.memory_bytes), (3, Contain::Tree, None));
        assert_eq!(start.grace_s, 2.0);
    }

    #[test]
    fn garbage_is_refused_with_a_reason() {
        for bad in ["", "{", "[]", r#"{"type":"hello"}"#, r#"{"type":"x","fence":1}"#, r#"{"type":"cancel","fence":1}"#]
        {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        let negative = START.replace("\"steps\"", "\"timeout_s\":-1,\"steps\"");
        assert!(read(negative.as_bytes()).unwrap_err().contains("seconds"));
        assert!(read(START.replace("[\"true\"]", "[]").as_bytes()).is_err());
        for name in ["", ".", "..", "a/b", "/etc/passwd"] {
            let bad = START.replace("\"steps\"", &format!("\"own_log\":\"{name}\",\"steps\""));
            assert!(read(bad.as_bytes()).unwrap_err().contains("own_log"), "{name}");
        }
    }

    #[test]
    fn a_transcript_has_a_name_of_its_own() {
        let with = |names: [&str; 2]| {
            let step = |name| format!(r#"{{"name":"run","argv":["true"],"transcript":"{name}"}}"#);
            let steps = names.map(step).join(",");
            let start = START.replace(r#"{"name":"run","argv":["true"]}"#, &steps);
            read(start.replace("\"steps\"", "\"own_log\":\"own\",\"steps\"").as_bytes())
        };
        let Ok(Command::Start(start)) = with(["a.txt", "b.txt"]) else { panic!() };
        assert_eq!(start.steps[1].transcript.as_ref().unwrap().bytes(), b"b.txt");
        for names in [
            ["a", "a"],
            ["a", "a.new"],
            ["a.new", "a"],
            ["log", "b"],
            ["log.new", "b"],
            ["result.json", "b"],
            ["begun", "b"],
            ["own", "b"],
            ["a/b", "b"],
            ["..", "b"],
            ["", "b"],
        ] {
            assert!(with(names).unwrap_err().contains("transcript"), "{names:?}");
        }
    }

    #[test]
    fn a_deadline_is_a_number_of_seconds_or_none() {
        let read =
            |in_s: &str| read(format!(r#"{{"type":"deadline","fence":1,"attempt":"1","in_s":{in_s}}}"#).as_bytes());
        assert!(matches!(read("0.5"), Ok(Command::Deadline { in_s: Some(0.5), .. })));
        assert!(matches!(read("null"), Ok(Command::Deadline { in_s: None, .. })));
        for bad in ["-1", "\"x\"", "1e999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
