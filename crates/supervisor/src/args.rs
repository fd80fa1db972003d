//! The command line.
//!
//! Knows flags and their forms. Must not know what the commands do.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::slot::Places;
use crate::sweep::Sweep;
use crate::wire::seconds;

pub const HELP: &str = "\
budwood-supervisor: the process of one slot of budwood. The driver starts it; you rarely need to.

  budwood-supervisor serve --slot-dir DIR --socket PATH --tmp DIR --run-dir DIR
      Take the slot (exit code 75 if another supervisor has it), listen on the socket, run one attempt
      at a time. A socket inherited as descriptor 3 is the first driver's connection. On TERM it ends
      its attempt, writes the result and exits.

  budwood-supervisor sweep --mark TEXT [--grace-s 2] [--limit-s 10]
      End every process whose environment holds BUDWOOD_MARK=TEXT; a TEXT that ends in * matches by
      its beginning. Prints what was ended and what is left; exit code 1 if anything is left.

  budwood-supervisor sandbox [--make DIR] [--place PATH] [--touch FILE] [--fault FILE] [--host NAME] [--unset NAME]
      [--door PATH --server WORD [--keep NAME]] -- BWRAP … -- PROGRAM …
      Run a step's program in bubblewrap, and end as it ended. Each option may be given again.

  budwood-supervisor relay PATH
      Carry standard input and output to a socket and back: inside of a sandbox, to its door.

  budwood-supervisor probe
      Print what this machine can do.

  budwood-supervisor --version | --help

What is said on the socket: docs/reference/supervisor-protocol.md
";

pub enum Request {
    Serve(Places),
    Sweep(Sweep),
    Probe,
    Version,
    Help,
}

/// The error is a sentence for stderr; the exit code is then 2.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let command = arguments.next().ok_or("no command given")?;
    let rest: Vec<String> = arguments.collect();
    match command.as_str() {
        "serve" => {
            let mut flags = flags(rest, &["--slot-dir", "--socket", "--tmp", "--run-dir"])?;
            let mut path = |name| absolute(flags.remove(name).ok_or(format!("serve needs {name}"))?);
            Ok(Request::Serve(Places {
                slot_dir: path("--slot-dir")?,
                socket: path("--socket")?,
                tmp: path("--tmp")?,
                run_dir: path("--run-dir")?,
            }))
        }
        "sweep" => {
            let mut flags = flags(rest, &["--mark", "--grace-s", "--limit-s"])?;
            let mark = flags.remove("--mark").filter(|m| !m.is_empty()).ok_or("sweep needs --mark")?;
            let grace = duration(flags.remove("--grace-s"), 2.0)?;
            let limit = duration(flags.remove("--limit-s"), 10.0)?;
            Ok(Request::Sweep(Sweep { mark, grace, limit }))
        }
        _ if !rest.is_empty() => Err(format!("unknown argument {:?}", rest[0])),
        "probe" => Ok(Request::Probe),
        "--version" | "-V" => Ok(Request::Version),
        "--help" | "-h" | "help" => Ok(Request::Help),
        other => Err(format!("unknown argument {other:?}")),
    }
}

fn flags(rest: Vec<String>, allowed: &[&'static str]) -> Result<HashMap<&'static str, String>, String> {
    let mut found = HashMap::new();
    let mut rest = rest.into_iter();
    while let Some(word) = rest.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        let known = allowed.iter().find(|a| **a == name).ok_or(format!("unknown argument {name:?}"))?;
        let value = value.or_else(|| rest.next()).ok_or(format!("{name} needs a value"))?;
        if found.insert(*known, value).is_some() {
            return Err(format!("{name} was given twice"));
        }
    }
    Ok(found)
}

fn absolute(path: String) -> Result<PathBuf, String> {
    std::path::absolute(&path).map_err(|e| format!("{path:?}: {e}"))
}

fn duration(text: Option<String>, default: f64) -> Result<Duration, String> {
    let Some(text) = text else {
        return Ok(seconds(default));
    };
    match text.parse::<f64>() {
        Ok(s) if s.is_finite() && s >= 0.0 => Ok(seconds(s)),
        _ => Err(format!("{text:?} is no number of seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn paths_become_absolute() {
        let Ok(Request::Serve(places)) = parse_line("serve --slot-dir s --socket /k --tmp=t --run-dir /r") else {
            panic!()
        };
        assert!(places.slot_dir.is_absolute() && places.tmp.ends_with("t"));
    }

    #[test]
    fn what_is_unknown_missing_or_double_is_refused() {
        for line in [
            "",
            "x",
            "probe x",
            "serve",
            "sweep",
            "sweep --mark",
            "sweep --mark a --mark b",
            "sweep --mark a --grace-s x",
            "--version 1",
        ] {
            assert!(parse_line(line).is_err(), "{line}");
        }
    }
}
