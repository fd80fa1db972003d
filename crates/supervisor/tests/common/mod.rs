//! A run with one slot, its supervisor, and a driver's end of the connection.
#![allow(dead_code)] // Each test file uses its own part.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const BINARY: &str = env!("CARGO_BIN_EXE_budwood-supervisor");
pub const PATIENCE: Duration = Duration::from_secs(40);
const NOBODY: u32 = 65534;

/// Directories of a run; removed at the end, with everything that still carries its mark.
pub struct Run {
    pub root: PathBuf,
    as_nobody: bool,
}

pub struct Supervisor {
    pub child: Child,
}

pub struct Driver {
    pub stream: UnixStream,
    reader: BufReader<UnixStream>,
    pub fence: u64,
}

pub fn is_root() -> bool {
    unsafe { libc::geteuid() == 0 }
}

/// One run as we are and, where we are root, one without privileges.
pub fn runs() -> Vec<Run> {
    let mut runs = vec![Run::new()];
    if is_root() {
        runs.push(Run::new().without_privileges());
    } else {
        println!("as root this is tried without privileges too");
    }
    runs
}

impl Run {
    pub fn new() -> Run {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bw{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Run::at(std::env::temp_dir().join(name))
    }

    pub fn at(root: PathBuf) -> Run {
        fs::create_dir_all(root.join("run/attempts")).unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        Run { root, as_nobody: false }
    }

    /// The supervisor and all below run without privileges. Only root can arrange that.
    pub fn without_privileges(mut self) -> Run {
        self.as_nobody = true;
        let script = format!("chown -R {NOBODY}:{NOBODY} {}", self.root.display());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        self
    }

    pub fn mark(&self) -> String {
        format!("{}/mark", self.root.display())
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("s")
    }

    pub fn dir(&self, id: &str) -> PathBuf {
        self.root.join("run/attempts").join(id)
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn command(&self) -> Command {
        let mut command = if self.as_nobody {
            // A copy that everybody may read and execute, wherever the build directory lies.
            let copy = self.root.join("supervisor");
            if !copy.exists() {
                fs::copy(BINARY, &copy).unwrap();
            }
            let mut command = Command::new("setpriv");
            let id = NOBODY.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(copy);
            command
        } else {
            Command::new(BINARY)
        };
        let at = |name: &str| self.root.join(name);
        command.arg("serve").arg("--slot-dir").arg(at("run/slots/0")).arg("--socket").arg(self.socket());
        command.arg("--tmp").arg(at("tmp")).arg("--run-dir").arg(at("run"));
        command
    }

    /// Start a supervisor with a connection as descriptor 3, and say hello.
    pub fn supervise(&self) -> (Supervisor, Driver) {
        let (supervisor, mut driver) = self.supervise_silently();
        driver.hello();
        (supervisor, driver)
    }

    pub fn supervise_silently(&self) -> (Supervisor, Driver) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut command = self.command();
        let fd = theirs.as_raw_fd();
        let hand_over = move || {
            let given = unsafe { if fd == 3 { libc::fcntl(3, libc::F_SETFD, 0) } else { libc::dup2(fd, 3) } };
            if given < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        };
        unsafe { command.pre_exec(hand_over) };
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        (Supervisor { child }, Driver::new(ours, 1))
    }

    pub fn connect(&self, fence: u64) -> Driver {
        let begun = Instant::now();
        loop {
            match UnixStream::connect(self.socket()) {
                Ok(stream) => return Driver::new(stream, fence),
                Err(e) if begun.elapsed() > PATIENCE => panic!("cannot connect: {e}"),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// A `start` for one shell script.
    pub fn start(&self, id: &str, script: &str) -> Value {
        self.start_argv(id, json!(["/bin/sh", "-c", script]))
    }

    pub fn start_argv(&self, id: &str, argv: Value) -> Value {
        json!({
            "type": "start", "fence": 1, "attempt": id, "dir": self.dir(id), "cwd": self.work(),
            "env": {"PATH": std::env::var("PATH").unwrap(), "BUDWOOD_MARK": self.mark()},
            "steps": [{"name": "run", "argv": argv, "timeout_s": null}],
            "timeout_s": 30, "grace_s": 0.3, "memory_bytes": null, "head_bytes": 65536, "tail_bytes": 65536,
            "contain": "tree", "forget": [], "inline_log_bytes": 65536,
        })
    }

    /// A `start` for several shell scripts; each step has the fields of its own object, too.
    pub fn start_steps(&self, id: &str, steps: &[(&str, Value)]) -> Value {
        let step = |(i, (script, fields)): (usize, &(&str, Value))| {
            let mut step = json!({"name": format!("s{i}"), "argv": ["/bin/sh", "-c", script]});
            step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            step
        };
        let mut start = self.start(id, "");
        start["steps"] = steps.iter().enumerate().map(step).collect();
        start
    }

    pub fn result(&self, id: &str) -> Value {
        serde_json::from_slice(&fs::read(self.dir(id).join("result.json")).unwrap()).unwrap()
    }

    pub fn log(&self, id: &str) -> Vec<u8> {
        fs::read(self.dir(id).join("log")).unwrap_or_default()
    }

    pub fn set_fence(&self, fence: u64) {
        fs::write(self.root.join("run/fence"), fence.to_string()).unwrap();
    }

    /// Process ids that carry our mark.
    pub fn marked(&self) -> Vec<i32> {
        let needle = format!("BUDWOOD_MARK={}", self.mark()).into_bytes();
        let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
        let carries = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|entry| entry == needle)
        };
        pids.filter(carries).collect()
    }

    pub fn assert_nothing_left(&self) {
        let left = self.marked();
        assert!(left.is_empty(), "left: {left:?}");
    }

    pub fn wait_for_file(&self, name: &str) -> String {
        let path = self.work().join(name);
        wait_until(name, || fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for pid in self.marked() {
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Supervisor {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Wait until it goes by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        wait_until("the supervisor to exit", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Driver {
    pub fn new(stream: UnixStream, fence: u64) -> Driver {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Driver { stream, reader, fence }
    }

    pub fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// None when the supervisor closed the connection.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(e) => panic!("nothing came: {e}"),
            Ok(_) => Some(serde_json::from_slice(&line).unwrap()),
        }
    }

    pub fn expect(&mut self, kind: &str) -> Value {
        let message = self.next().unwrap_or_else(|| panic!("closed instead of {kind}"));
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    pub fn hello(&mut self) -> Value {
        self.send(&json!({"type": "hello", "fence": self.fence}));
        self.expect("hello")
    }

    /// Start and wait for the end; the whole `ended` message.
    pub fn perform(&mut self, start: &Value) -> Value {
        self.send(start);
        self.expect("begun");
        self.expect("ended")
    }

    /// Start and wait for the end; the result alone.
    pub fn result_of(&mut self, start: &Value) -> Value {
        self.perform(start)["result"].take()
    }
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

pub fn sweep(mark: &str, more: &[&str]) -> (Output, Value) {
    let output = Command::new(BINARY).args(["sweep", "--mark", mark]).args(more).output().unwrap();
    let swept = serde_json::from_slice(&output.stdout).unwrap();
    (output, swept)
}

pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
