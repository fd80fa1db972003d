//! Limits, cancellation, and the end of everything that an attempt started.

mod common;
use common::*;
use serde_json::json;

const DAEMON: &str =
    "setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon; exec sleep 60\" <&- >&- 2>&- &' <&- >&- 2>&- & ";

#[test]
fn the_time_limit_of_a_step_ends_it() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "sleep 60");
    start["steps"][0]["timeout_s"] = json!(0.2);
    let result = driver.result_of(&start);
    assert_eq!((&result["outcome"], &result["steps"][0]["timed_out"]), (&json!("timed_out"), &json!(true)));
    assert_eq!(result["steps"][0]["signal"], 15);
    assert!(result["wall_s"].as_f64().unwrap() < 5.0);
    run.assert_nothing_left();
}

#[test]
fn the_time_limit_of_the_attempt_counts_all_steps() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "sleep 0.3");
    let step = start["steps"][0].clone();
    start["steps"] = json!([step, step, step, step, step, step]);
    start["timeout_s"] = json!(0.5);
    let result = driver.result_of(&start);
    assert_eq!(result["outcome"], "timed_out");
    assert_eq!(result["steps"].as_array().unwrap().len(), 2);
}

#[test]
fn a_deadline_can_be_set_moved_and_cleared_while_it_runs() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let deadline = |in_s| json!({"type": "deadline", "fence": 1, "attempt": "1", "in_s": in_s});
    let mut start = run.start("1", "while [ ! -e go ]; do sleep 0.02; done");
    start["timeout_s"] = json!(null);
    driver.send(&start);
    driver.expect("begun");
    for in_s in [json!(0.3), json!(60), json!(0.3), json!(null)] {
        driver.send(&deadline(in_s));
    }
    std::thread::sleep(std::time::Duration::from_millis(600));
    std::fs::write(run.work().join("go"), "").unwrap();
    assert_eq!(driver.expect("ended")["result"]["outcome"], "ok");
    driver.send(&deadline(json!(0.1)));
    driver.send(&run.start("2", "sleep 60"));
    driver.expect("begun");
    let mut second = deadline(json!(0.2));
    second["attempt"] = json!("2");
    driver.send(&second);
    let result = driver.expect("ended")["result"].take();
    assert_eq!((&result["outcome"], &result["steps"][0]["timed_out"]), (&json!("timed_out"), &json!(true)));
    assert!(result["wall_s"].as_f64().unwrap() < 5.0);
    run.assert_nothing_left();
}

#[test]
fn a_deadline_of_an_older_driver_is_refused() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 0.4"));
    driver.expect("begun");
    run.set_fence(2);
    driver.send(&json!({"type": "deadline", "fence": 1, "attempt": "1", "in_s": 0}));
    let refused = driver.expect("refused");
    assert_eq!((&refused["reason"], &refused["attempt"]), (&json!("fence"), &json!("1")));
    assert_eq!(driver.expect("ended")["result"]["outcome"], "ok");
}

#[test]
fn cancel_ends_the_attempt_and_a_late_one_does_nothing() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 60 & sleep 60"));
    driver.expect("begun");
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "other"}));
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    assert_eq!(driver.expect("ended")["result"]["outcome"], "cancelled");
    run.assert_nothing_left();
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    assert_eq!(driver.result_of(&run.start("2", "true"))["outcome"], "ok");
}

#[test]
fn term_ends_the_attempt_as_cancelled_and_the_supervisor_goes() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "sleep 60"));
    driver.expect("begun");
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGPIPE, libc::SIGTERM] {
        unsafe { libc::kill(supervisor.pid(), signal) };
    }
    assert_eq!(driver.expect("ended")["result"]["outcome"], "cancelled");
    assert_eq!(supervisor.exit_code(), Some(0));
    run.assert_nothing_left();
}

#[test]
fn a_step_that_ignores_term_is_killed_after_the_grace() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "trap '' TERM; while :; do sleep 0.05; done");
    start["timeout_s"] = json!(0.2);
    let result = driver.result_of(&start);
    assert_eq!((&result["outcome"], &result["steps"][0]["signal"]), (&json!("timed_out"), &json!(9)));
    assert!(result["wall_s"].as_f64().unwrap() >= 0.5);
    run.assert_nothing_left();
}

#[test]
fn a_step_may_use_its_grace_to_clean_up() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.02; done");
    start["timeout_s"] = json!(0.3);
    start["grace_s"] = json!(20);
    let ended = driver.perform(&start);
    assert!(ended["log"].as_str().unwrap().ends_with("cleaned\n"), "{ended}");
    assert_eq!(ended["result"]["steps"][0]["exit_code"], 3);
    assert_eq!(ended["result"]["outcome"], "timed_out");
}

#[test]
fn a_stopped_step_is_ended_too() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "kill -STOP $$; sleep 60");
    (start["timeout_s"], start["grace_s"]) = (json!(0.2), json!(20));
    let result = driver.result_of(&start);
    assert_eq!(result["steps"][0]["signal"], 15);
    assert!(result["wall_s"].as_f64().unwrap() < 10.0);
}

#[test]
fn a_daemon_is_ended_after_its_step_and_counted() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = format!("{DAEMON} while [ ! -s daemon ]; do sleep 0.02; done");
    let mut start = run.start("1", &script);
    let look = json!({"name": "look", "argv": ["/bin/sh", "-c", "if kill -0 $(cat daemon); then echo alive; else echo gone; fi 2>&-"]});
    start["steps"].as_array_mut().unwrap().push(look);
    let ended = driver.perform(&start);
    assert_eq!(ended["result"]["outcome"], "ok");
    assert_eq!(ended["log"], "gone\n", "the next step finds a quiet workspace");
    assert!(ended["result"]["ended_processes"].as_u64().unwrap() >= 1);
    run.assert_nothing_left();
}

#[test]
fn a_daemon_is_ended_on_cancel() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", &format!("{DAEMON} sleep 60")));
    driver.expect("begun");
    let daemon: i32 = run.wait_for_file("daemon").parse().unwrap();
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    driver.expect("ended");
    assert!(!is_alive(daemon));
    run.assert_nothing_left();
}

#[test]
fn a_daemon_without_its_environment_is_ended_too() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "setsid env -i /bin/sh -c 'trap \"\" TERM HUP; echo $$ > bare; while :; do /bin/sleep 0.1; done' >&- 2>&- & \
                  while [ ! -s bare ]; do sleep 0.02; done";
    let result = driver.result_of(&run.start("1", script));
    assert_eq!(result["outcome"], "ok");
    let pid: i32 = run.wait_for_file("bare").parse().unwrap();
    assert!(!is_alive(pid));
}

#[test]
fn an_attempt_that_kills_its_own_group_harms_nobody_else() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    let result = driver.result_of(&run.start("1", "sleep 60 & kill -KILL 0"));
    assert_eq!((&result["outcome"], &result["steps"][0]["signal"]), (&json!("failed"), &json!(9)));
    assert!(supervisor.is_running());
    assert_eq!(driver.result_of(&run.start("2", "true"))["outcome"], "ok");
}

#[test]
fn a_tree_that_forks_while_it_is_killed_is_ended() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    // Each process of the chain forks the next and exits; all ignore TERM.
    let chain = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nend = time.time() + 20\n\
                 while time.time() < end:\n  if os.fork(): os._exit(0)\n";
    let mut start = run.start_argv("1", json!(["python3", "-c", chain]));
    start["grace_s"] = json!(0.1);
    let result = driver.result_of(&start);
    assert_eq!(result["survivors"], json!([]), "{result}");
    assert!(result["wall_s"].as_f64().unwrap() < 15.0);
    run.assert_nothing_left();
}

#[test]
fn many_processes_are_ended() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "trap '' TERM; i=0; while [ $i -lt 100 ]; do (setsid sleep 60 &); i=$((i+1)); done; echo ready > ready; sleep 60";
    driver.send(&run.start("1", script));
    driver.expect("begun");
    run.wait_for_file("ready");
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    let result = driver.expect("ended")["result"].take();
    assert!(result["ended_processes"].as_u64().unwrap() >= 100, "{result}");
    run.assert_nothing_left();
}

#[test]
fn zombies_of_the_attempt_are_reaped() {
    let run = Run::new();
    let (supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "for i in 1 2 3 4 5; do (setsid true &); done; echo made > made; sleep 0.5"));
    driver.expect("begun");
    driver.expect("ended");
    let children = std::process::Command::new("ps")
        .args(["--ppid", &supervisor.pid().to_string(), "-o", "pid="])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(children.stdout).unwrap(), "");
}
