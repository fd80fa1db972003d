//! The process of one slot: it starts an attempt, contains it, and outlives the driver.
//!
//! `serve` is the loop, `commands` what drivers may ask, `attempt` one attempt, `tree` its end. The contract with the
//! driver is `docs/reference/supervisor-protocol.md`. One thread; nothing here may wait for a driver.

#[cfg(not(unix))]
compile_error!("budwood needs POSIX processes; on Windows use it inside WSL");

/// Say it on stderr, if that is possible: unlike `eprintln!` this does not panic when the disk under it is full.
macro_rules! complain {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod abilities;
mod args;
mod attempt;
mod cgroup;
mod commands;
mod conclusion;
mod connection;
mod folder;
mod log;
mod mask;
mod memory;
#[cfg(target_os = "linux")]
mod namespace;
mod output;
mod own_log;
mod pidfd;
mod processes;
mod result;
#[cfg(target_os = "linux")]
mod sandbox;
mod serve;
mod shelf;
mod signals;
mod slot;
mod spawn;
mod step;
mod sweep;
mod sys;
mod text;
mod tree;
mod wire;

use std::process::ExitCode;

use args::Request;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const USAGE: u8 = 2;
/// EX_CANTCREAT: the disk is full, so that a complaint would be lost as well.
const NO_ROOM: u8 = 73;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(asked) = sandbox::Request::parse(&std::env::args_os().skip(1).collect::<Vec<_>>()) {
        return asked.map_or_else(refuse, sandbox::Request::run);
    }
    let words = std::env::args_os().skip(1).map(|word| word.into_string());
    let Ok(words) = words.collect::<Result<Vec<String>, _>>() else {
        complain!("arguments have to be UTF-8");
        return ExitCode::from(USAGE);
    };
    args::parse(words).map_or_else(refuse, answer)
}

fn refuse(message: String) -> ExitCode {
    complain!("{message}\n\nhint: budwood-supervisor --help");
    ExitCode::from(USAGE)
}

fn answer(request: Request) -> ExitCode {
    match request {
        Request::Serve(places) => serve::serve(places).unwrap_or_else(|e| {
            complain!("cannot serve: {e}");
            if result::is_full(&e) { ExitCode::from(NO_ROOM) } else { ExitCode::FAILURE }
        }),
        Request::Sweep(sweep) => {
            let swept = sweep.run();
            println!("{}", serde_json::to_string(&swept).expect("plain data can be written as JSON"));
            if swept.left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Request::Probe => {
            println!("{}", abilities::probe());
            ExitCode::SUCCESS
        }
        Request::Version => {
            println!("budwood-supervisor {VERSION}");
            ExitCode::SUCCESS
        }
        Request::Help => {
            print!("{}", args::HELP);
            ExitCode::SUCCESS
        }
    }
}
