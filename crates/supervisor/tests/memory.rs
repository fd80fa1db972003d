//! Memory limits, as sampled where no cgroup was delegated.

mod common;
use common::*;
use serde_json::json;

#[test]
fn an_attempt_over_its_memory_limit_is_ended() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start =
        run.start_argv("1", json!(["python3", "-c", "x = bytearray(300 << 20); import time; time.sleep(30)"]));
    start["memory_bytes"] = json!(100 << 20);
    let result = driver.result_of(&start);
    assert_eq!(result["outcome"], "memory", "{result}");
    assert!(result["peak_memory_bytes"].as_u64().unwrap() > 100 << 20);
    assert!(result["wall_s"].as_f64().unwrap() < 15.0);
    run.assert_nothing_left();
}

#[test]
fn all_processes_together_count() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let one = "python3 -c 'x = bytearray(60 << 20); import time; time.sleep(30)' & ";
    let mut start = run.start("1", &format!("{one}{one}{one} wait"));
    start["memory_bytes"] = json!(120 << 20);
    assert_eq!(driver.result_of(&start)["outcome"], "memory");
}

#[test]
fn pages_shared_by_forked_processes_are_not_counted_again() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "import os, time\nx = bytes(100 << 20)\ny = bytearray(100 << 20)\n\
                  for _ in range(5):\n  if os.fork() == 0:\n    time.sleep(1); os._exit(0)\n\
                  for _ in range(5): os.wait()\n";
    let mut start = run.start_argv("1", json!(["python3", "-c", script]));
    start["memory_bytes"] = json!(400 << 20);
    let result = driver.result_of(&start);
    assert_eq!(result["outcome"], "ok", "{result}");
    assert!(result["peak_memory_bytes"].as_u64().unwrap() > 90 << 20);
}

#[test]
fn below_the_limit_nothing_happens() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "sleep 0.3");
    start["memory_bytes"] = json!(500 << 20);
    assert_eq!(driver.result_of(&start)["outcome"], "ok");
}
