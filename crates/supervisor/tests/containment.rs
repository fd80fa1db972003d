//! Namespaces, killed supervisors, and the sweep.

mod common;
use common::*;
use serde_json::{Value, json};
use std::process::Command;

fn inside(run: &Run, id: &str, script: &str) -> Value {
    let mut start = run.start(id, script);
    start["contain"] = json!("namespace");
    start
}

#[test]
fn in_a_namespace_attempts_run_as_everywhere() {
    for run in runs() {
        let (_supervisor, mut driver) = run.supervise_silently();
        assert_eq!(driver.hello()["contain"], json!(["tree", "namespace"]));
        let ended =
            driver.perform(&inside(&run, "1", "echo $$; id -u; echo x > made; ls /proc | grep -c '^[0-9]'; exit 3"));
        let lines: Vec<&str> = ended["log"].as_str().unwrap().lines().collect();
        assert!(lines[0].parse::<i32>().unwrap() < 10, "{lines:?}");
        assert_eq!(
            lines[1],
            std::fs::metadata(run.work().join("made"))
                .map(|m| std::os::unix::fs::MetadataExt::uid(&m).to_string())
                .unwrap()
        );
        assert!(lines[2].parse::<i32>().unwrap() < 10, "a fresh /proc shows the namespace only: {lines:?}");
        assert_eq!(
            (&ended["result"]["outcome"], &ended["result"]["steps"][0]["exit_code"]),
            (&json!("failed"), &json!(3))
        );
        assert_eq!(driver.result_of(&inside(&run, "2", "kill -SEGV $$"))["steps"][0]["signal"], 11);
    }
}

#[test]
fn in_a_namespace_leftovers_limits_and_errors_work_too() {
    for run in runs() {
        let (_supervisor, mut driver) = run.supervise();
        let result =
            driver.result_of(&inside(&run, "1", "setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & sleep 0.1"));
        assert_eq!(result["outcome"], "ok", "{result}");
        assert!(result["ended_processes"].as_u64().unwrap() >= 1, "{result}");
        let mut slow = inside(&run, "2", "trap '' TERM; while :; do sleep 0.05; done");
        slow["timeout_s"] = json!(0.2);
        let result = driver.result_of(&slow);
        assert_eq!((&result["outcome"], &result["steps"][0]["signal"]), (&json!("timed_out"), &json!(9)));
        let mut missing = inside(&run, "3", "");
        missing["steps"][0]["argv"] = json!(["no-such-program"]);
        driver.send(&missing);
        assert_eq!(driver.expect("ended")["result"]["steps"][0]["error"]["kind"], "not_found");
        let result = driver.result_of(&inside(&run, "4", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"));
        assert!(result["cpu_s"].as_f64().unwrap() > 0.05, "{result}");
        assert!(result["peak_memory_bytes"].as_u64().unwrap() > 100_000);
        run.assert_nothing_left();
    }
}

#[test]
fn a_namespace_dies_with_its_supervisor() {
    for run in runs() {
        let (mut supervisor, mut driver) = run.supervise();
        let script = "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.1; done' >&- 2>&- &); done; echo up > up; sleep 60";
        driver.send(&inside(&run, "1", script));
        driver.expect("begun");
        run.wait_for_file("up");
        assert!(run.marked().len() >= 4);
        supervisor.kill();
        wait_until("everything to die", || run.marked().is_empty());
    }
}

#[test]
fn a_namespace_holds_no_lock_of_the_supervisor() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&inside(&run, "1", "echo up > up; sleep 60"));
    driver.expect("begun");
    run.wait_for_file("up");
    supervisor.kill();
    let (_next, mut driver) = run.supervise();
    assert_eq!(driver.result_of(&inside(&run, "2", "true"))["outcome"], "ok");
}

#[test]
fn the_tree_of_a_killed_supervisor_is_swept() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > grandchild; while :; do sleep 0.1; done' >&- 2>&- & sleep 60";
    driver.send(&run.start("1", script));
    driver.expect("begun");
    let grandchild: i32 = run.wait_for_file("grandchild").parse().unwrap();
    supervisor.kill();
    assert!(is_alive(grandchild), "nothing else ends it");
    let prefix = format!("{}/*", run.root.display());
    for mark in [run.mark() + "x", "no".into()] {
        assert_eq!(sweep(&mark, &[]).1, json!({"ended": [], "left": []}));
    }
    let (output, swept) = sweep(&prefix, &["--grace-s", "0.2"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(swept["ended"].as_array().unwrap().iter().any(|p| p["pid"] == grandchild), "{swept}");
    assert!(!is_alive(grandchild));
    run.assert_nothing_left();
}

#[test]
fn a_sweep_spares_itself_and_whoever_called_it() {
    let run = Run::new();
    let script = format!("sleep 60 & sleep 0.3; '{BINARY}' sweep --mark '{0}'; echo alive", run.mark());
    let output = Command::new("sh").args(["-c", &script]).env("BUDWOOD_MARK", run.mark()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (swept, rest) = text.split_once('\n').unwrap();
    let swept: Value = serde_json::from_str(swept).unwrap();
    assert_eq!(swept["ended"].as_array().unwrap().len(), 1, "{swept}");
    assert_eq!(swept["ended"][0]["command"], "sleep 60");
    assert_eq!(rest, "alive\n");
}

#[test]
fn a_sweep_finds_what_is_born_while_it_sweeps() {
    let run = Run::new();
    let script = "trap '' TERM; while :; do sleep 5 & sleep 0.01; done";
    let mut parent = Command::new("sh").args(["-c", script]).env("BUDWOOD_MARK", run.mark()).spawn().unwrap();
    wait_until("some children", || run.marked().len() > 3);
    let (output, _) = sweep(&run.mark(), &["--grace-s", "0.2"]);
    assert_eq!(output.status.code(), Some(0));
    parent.wait().unwrap();
    run.assert_nothing_left();
}

#[test]
fn what_cannot_be_killed_is_listed_and_the_supervisor_retires() {
    if !is_root() {
        println!("skipped: only root can make a process that its starter may not kill");
        return;
    }
    let run = Run::new().without_privileges();
    let become_root = run.work().join("become-root");
    std::fs::copy("/usr/bin/setpriv", &become_root).unwrap();
    std::fs::set_permissions(&become_root, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    let (mut supervisor, mut driver) = run.supervise();
    let script = "./become-root --reuid 0 sh -c 'echo $$ > root; exec sleep 60' >&- 2>&- & while [ ! -s root ]; do sleep 0.02; done";
    let result = driver.result_of(&run.start("1", script));
    let pid: i32 = run.wait_for_file("root").parse().unwrap();
    assert_eq!((&result["outcome"], &result["retired"]), (&json!("ok"), &json!(true)), "{result}");
    assert_eq!(result["survivors"], json!([{"pid": pid, "command": "sleep 60"}]));
    assert_eq!(supervisor.exit_code(), Some(0));
    assert_eq!(run.result("1")["retired"], true);
    unsafe { libc::kill(pid, libc::SIGKILL) };
}
