//! Drivers that come, go, compete and misbehave.

mod common;
use common::*;
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn hello_tells_who_is_there() {
    let run = Run::new();
    let (supervisor, mut driver) = run.supervise_silently();
    let hello = driver.hello();
    assert_eq!(
        (&hello["pid"], &hello["fence"], &hello["attempt"]),
        (&json!(supervisor.pid()), &json!(1), &json!(null))
    );
    assert_eq!(hello["contain"][0], "tree");
    let info: serde_json::Value =
        serde_json::from_slice(&fs::read(run.root.join("run/slots/0/info.json")).unwrap()).unwrap();
    assert_eq!((&info["pid"], &info["socket"]), (&json!(supervisor.pid()), &json!(run.socket())));
    assert!(info["boot_id"].as_str().unwrap().len() > 8);
}

#[test]
fn a_second_supervisor_of_a_slot_is_refused() {
    let run = Run::new();
    let (mut supervisor, _driver) = run.supervise();
    assert_eq!(run.command().stderr(Stdio::null()).status().unwrap().code(), Some(75));
    supervisor.kill();
    let (_supervisor, mut driver) = run.supervise();
    assert_eq!(driver.result_of(&run.start("1", "true"))["outcome"], "ok");
}

#[test]
fn an_idle_supervisor_goes_with_its_last_driver() {
    let run = Run::new();
    let (mut supervisor, driver) = run.supervise();
    drop(driver);
    assert_eq!(supervisor.exit_code(), Some(0));
    assert_eq!(names(&run.root.join("run/slots/0")), ["lock", "stderr"]);
    assert_eq!(fs::read(run.root.join("run/slots/0/stderr")).unwrap(), b"");
    assert!(!run.socket().exists());
}

#[test]
fn exit_waits_for_the_attempt() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 0.3; echo done"));
    driver.expect("begun");
    driver.send(&json!({"type": "exit", "fence": 1}));
    assert_eq!(driver.expect("ended")["log"], "done\n");
    assert!(driver.next().is_none());
    assert_eq!(supervisor.exit_code(), Some(0));
}

#[test]
fn a_lower_fence_is_refused_and_a_higher_one_takes_over() {
    let run = Run::new();
    let (_supervisor, mut old) = run.supervise();
    let mut new = run.connect(5);
    new.hello();
    assert!(old.next().is_none(), "the older connection is closed");
    let mut late = run.connect(4);
    late.send(&json!({"type": "hello", "fence": 4}));
    let refused = late.expect("refused");
    assert_eq!((&refused["reason"], &refused["fence"]), (&json!("fence"), &json!(5)));
    assert!(late.next().is_none());
    let mut start = run.start("1", "true");
    new.send(&start);
    assert_eq!(new.expect("refused")["reason"], "fence");
    start["fence"] = json!(5);
    assert_eq!(new.result_of(&start)["fence"], 5);
}

#[test]
fn a_driver_that_lost_its_lease_on_disk_can_start_nothing() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    run.set_fence(2);
    driver.send(&run.start("1", "echo ran > ran"));
    let refused = driver.expect("refused");
    assert_eq!((&refused["reason"], &refused["attempt"], &refused["fence"]), (&json!("fence"), &json!("1"), &json!(2)));
    assert!(!run.dir("1").exists() && !run.work().join("ran").exists());
    let mut late = run.connect(1);
    late.send(&json!({"type": "hello", "fence": 1}));
    assert_eq!(late.expect("refused")["reason"], "fence");
}

#[test]
fn an_attempt_begins_once() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.result_of(&run.start("1", "echo once >> ran"));
    driver.send(&run.start("1", "echo twice >> ran"));
    assert_eq!(driver.expect("refused")["reason"], "begun");
    assert_eq!(fs::read_to_string(run.work().join("ran")).unwrap(), "once\n");
    assert_eq!(run.result("1")["outcome"], "ok");
}

#[test]
fn a_busy_supervisor_refuses_more_work() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 0.3"));
    driver.send(&run.start("2", "true"));
    driver.expect("begun");
    let refused = driver.expect("refused");
    assert_eq!((&refused["reason"], &refused["attempt"]), (&json!("busy"), &json!("2")));
    assert_eq!(driver.expect("ended")["attempt"], "1");
}

#[test]
fn without_its_driver_an_attempt_finishes_and_leaves_its_result() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 0.3; echo done"));
    driver.expect("begun");
    drop(driver);
    assert_eq!(supervisor.exit_code(), Some(0));
    assert_eq!((&run.result("1")["outcome"], run.log("1").as_slice()), (&json!("ok"), &b"done\n"[..]));
    run.assert_nothing_left();
}

#[test]
fn a_new_driver_adopts_a_running_attempt() {
    let run = Run::new();
    let (_supervisor, mut old) = run.supervise();
    old.send(&run.start("1", "while [ ! -e go ]; do sleep 0.02; done; echo done"));
    let begun = old.expect("begun");
    drop(old);
    let mut new = run.connect(2);
    let hello = new.hello();
    assert_eq!((&hello["attempt"], &hello["pid_of_step"]), (&json!("1"), &begun["pid"]));
    assert!(hello["begun_at_ms"].as_u64().unwrap() > 0);
    fs::write(run.work().join("go"), "").unwrap();
    let ended = new.expect("ended");
    assert_eq!((&ended["log"], &ended["result"]["fence"]), (&json!("done\n"), &json!(1)));
}

#[test]
fn what_serves_its_driver_alone_ends_with_it() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "setsid sleep 60 & trap '' TERM; echo up > up; while :; do sleep 0.05; done");
    start["with_driver"] = json!(true);
    start["timeout_s"] = json!(null);
    driver.send(&start);
    driver.expect("begun");
    run.wait_for_file("up");
    drop(driver);
    assert_eq!(supervisor.exit_code(), Some(0));
    let result = run.result("1");
    assert_eq!((&result["outcome"], &result["steps"][0]["signal"]), (&json!("cancelled"), &json!(9)));
    run.assert_nothing_left();
}

#[test]
fn a_driver_that_takes_over_has_what_served_the_one_before() {
    let run = Run::new();
    let (mut supervisor, mut old) = run.supervise();
    let mut start = run.start("1", "sleep 60");
    start["with_driver"] = json!(true);
    old.send(&start);
    old.expect("begun");
    let mut new = run.connect(2);
    assert_eq!(new.hello()["attempt"], "1");
    assert!(old.next().is_none());
    drop(old);
    assert!(supervisor.is_running());
    new.send(&json!({"type": "cancel", "fence": 2, "attempt": "1"}));
    assert_eq!(new.expect("ended")["result"]["outcome"], "cancelled");
    let mut next = run.start("2", "echo next");
    next["fence"] = json!(2);
    assert_eq!(new.perform(&next)["log"], "next\n");
}

#[test]
fn garbage_is_refused_and_the_attempt_does_not_notice() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "while [ ! -e go ]; do sleep 0.02; done"));
    driver.expect("begun");
    let garbage: [&[u8]; 6] = [
        b"{nonsense\n",
        b"\xff\xfe\n",
        b"\n",
        b"[1,2]\n",
        b"{\"type\":\"start\",\"fence\":9}\n",
        b"{\"type\":\"exit\",\"fence\":9}\n",
    ];
    for bytes in garbage {
        let mut stranger = run.connect(1);
        stranger.send_bytes(bytes);
        assert_eq!(stranger.expect("refused")["reason"], "bad");
        assert!(stranger.next().is_none());
    }
    run.connect(1).send_bytes(b"{\"type\":\"hel");
    fs::write(run.work().join("go"), "").unwrap();
    assert_eq!(driver.expect("ended")["result"]["outcome"], "ok");
    assert!(supervisor.is_running());
}

#[test]
fn a_message_without_end_is_cut_off() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut stranger = run.connect(1);
    let chunk = vec![b'x'; 1 << 20];
    let mut cut = false;
    for _ in 0..70 {
        cut = cut || stranger.stream.write_all(&chunk).is_err();
    }
    assert!(cut || stranger.next().is_none_or(|m| m["reason"] == "bad"));
    assert_eq!(driver.result_of(&run.start("1", "true"))["outcome"], "ok");
}

#[test]
fn a_long_message_is_read() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "echo read");
    start["comment"] = json!("x".repeat(8 << 20));
    assert_eq!(driver.perform(&start)["log"], "read\n");
}

#[test]
fn a_driver_that_does_not_read_does_not_stall_the_attempt() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "head -c 4000000 /dev/zero | tr '\\0' x");
    for field in ["head_bytes", "tail_bytes", "inline_log_bytes"] {
        start[field] = json!(8 << 20);
    }
    driver.send(&start);
    // More than a socket takes: the rest waits in the supervisor, which goes on with the next.
    wait_until("the result", || run.dir("1").join("result.json").exists());
    driver.send(&run.start("2", "echo second > second"));
    wait_until("the next", || run.work().join("second").exists());
    driver.expect("begun");
    assert_eq!(driver.expect("ended")["log"].as_str().unwrap().len(), 4_000_000);
    driver.expect("begun");
    driver.expect("ended");
}

#[test]
fn a_lock_sent_along_is_held_until_the_end_and_not_inherited() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let path = run.root.join("machine-slot");
    let file = File::create(&path).unwrap();
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }, 0);
    let start = run.start("1", "ls -l /proc/self/fd; while [ ! -e go ]; do sleep 0.02; done");
    send_with_descriptor(&driver, format!("{start}\n").as_bytes(), &file);
    drop(file);
    driver.expect("begun");
    let is_free = || unsafe { libc::flock(File::open(&path).unwrap().as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 };
    assert!(!is_free());
    fs::write(run.work().join("go"), "").unwrap();
    let ended = driver.expect("ended");
    assert!(is_free());
    assert!(!ended["log"].as_str().unwrap().contains("machine-slot"));
}

#[test]
fn a_lock_sent_with_a_refused_start_is_let_go() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let path = run.root.join("machine-slot");
    let file = File::create(&path).unwrap();
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }, 0);
    let mut start = run.start("1", "true");
    start["fence"] = json!(0);
    send_with_descriptor(&driver, format!("{start}\n").as_bytes(), &file);
    drop(file);
    driver.expect("refused");
    assert_eq!(unsafe { libc::flock(File::open(&path).unwrap().as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB,) }, 0);
}

fn send_with_descriptor(driver: &Driver, bytes: &[u8], file: &File) {
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        ((*header).cmsg_level, (*header).cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(file.as_raw_fd());
        assert_eq!(libc::sendmsg(driver.stream.as_raw_fd(), &message, 0), bytes.len() as isize);
    }
}

#[test]
fn forget_removes_attempts_and_nothing_else() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.result_of(&run.start("1", &format!("mkdir -p {0}/more/x; echo y > {0}/more/x/y", run.dir("1").display())));
    let mut second = run.start("2", "true");
    second["forget"] = json!([run.dir("1")]);
    driver.perform(&second);
    wait_until("the first to be forgotten", || !run.dir("1").exists());
    let bad = [run.root.clone(), run.dir(".."), run.dir("../../work"), run.dir("2/more"), "/etc".into(), "2".into()];
    for dir in bad {
        driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("2"), dir]}));
        assert_eq!(driver.expect("refused")["reason"], "bad");
        let mut start = run.start("3", "true");
        start["forget"] = json!([dir]);
        driver.send(&start);
        assert_eq!(driver.expect("refused")["reason"], "bad");
    }
    assert!(run.dir("2").exists() && run.work().exists() && !run.dir("3").exists());
    std::os::unix::fs::symlink(run.work(), run.dir("link")).unwrap();
    fs::write(run.work().join("log"), "mine").unwrap();
    driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("2"), run.dir("link"), run.dir("gone")]}));
    wait_until("both to be forgotten", || !run.dir("2").exists() && fs::symlink_metadata(run.dir("link")).is_err());
    assert_eq!(fs::read(run.work().join("log")).unwrap(), b"mine", "a link is not followed");
}

#[test]
fn a_driver_may_connect_by_the_socket_alone() {
    let run = Run::new();
    let child = run.command().stdin(Stdio::null()).spawn().unwrap();
    let mut supervisor = Supervisor { child };
    let mut driver = run.connect(1);
    driver.hello();
    assert_eq!(driver.result_of(&run.start("1", "true"))["outcome"], "ok");
    drop(driver);
    assert_eq!(supervisor.exit_code(), Some(0));
}

#[test]
fn an_idle_supervisor_never_wakes_up() {
    let run = Run::new();
    let (supervisor, mut driver) = run.supervise();
    driver.result_of(&run.start("1", "true"));
    std::thread::sleep(Duration::from_millis(100));
    let switches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", supervisor.pid())).unwrap();
        let line = |name: &str| status.lines().find(|l| l.starts_with(name)).unwrap().to_owned();
        (line("voluntary_ctxt_switches"), line("nonvoluntary_ctxt_switches"))
    };
    let before = switches();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(before, switches());
}

#[test]
fn the_command_line_explains_itself_and_refuses_what_it_does_not_know() {
    let run = |words: &[&str]| Command::new(BINARY).args(words).output().unwrap();
    assert!(String::from_utf8(run(&["--help"]).stdout).unwrap().contains("sweep --mark"));
    assert!(String::from_utf8(run(&["--version"]).stdout).unwrap().starts_with("budwood-supervisor "));
    assert_eq!(run(&["serve", "--wrong", "x"]).status.code(), Some(2));
    assert_eq!(run(&[]).status.code(), Some(2));
    let probe: serde_json::Value = serde_json::from_slice(&run(&["probe"]).stdout).unwrap();
    assert_eq!(probe["subreaper"], true);
    let mut rest = String::new();
    run(&["probe"]).stderr.as_slice().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}
