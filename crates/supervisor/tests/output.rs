//! The log: what is kept, what is dropped, what travels along.

mod common;
use common::*;
use serde_json::json;

#[test]
fn of_much_output_head_and_tail_are_kept_and_the_rest_is_counted() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script =
        "head -c 50000 /dev/zero | tr '\\0' a; head -c 99900000 /dev/zero; head -c 50000 /dev/zero | tr '\\0' z";
    let mut start = run.start("1", script);
    (start["head_bytes"], start["tail_bytes"]) = (json!(1000), json!(3000));
    let ended = driver.perform(&start);
    let result = &ended["result"];
    assert_eq!((&result["output_bytes"], &result["dropped_bytes"]), (&json!(100_000_000), &json!(99_996_000)));
    let expected = [&[b'a'; 1000][..], b"\n[budwood: 99996000 bytes dropped here]\n", &[b'z'; 3000]].concat();
    assert_eq!(run.log("1"), expected);
    assert_eq!(ended["log"].as_str().unwrap().as_bytes(), expected);
    assert!(result["wall_s"].as_f64().unwrap() < 20.0);
    assert_eq!(names(&run.dir("1")), ["begun", "log", "result.json", "spec.json"]);
}

#[test]
fn a_log_that_just_fits_is_whole() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "printf 0123456789");
    (start["head_bytes"], start["tail_bytes"]) = (json!(4), json!(6));
    assert_eq!(driver.perform(&start)["log"], "0123456789");
    let mut start = run.start("2", "printf 0123456789X");
    (start["head_bytes"], start["tail_bytes"]) = (json!(4), json!(6));
    assert_eq!(driver.perform(&start)["log"], "0123\n[budwood: 1 bytes dropped here]\n56789X");
}

#[test]
fn nul_travels_and_what_is_not_utf8_stays_in_the_file() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    assert_eq!(driver.perform(&run.start("1", "printf 'a\\0b'"))["log"], "a\0b");
    assert_eq!(driver.perform(&run.start("2", "printf 'a\\377b'"))["log"], json!(null));
    assert_eq!(run.log("2"), b"a\xffb");
}

#[test]
fn a_log_longer_than_asked_for_stays_in_the_file() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "echo 123456789");
    start["inline_log_bytes"] = json!(9);
    assert_eq!(driver.perform(&start)["log"], json!(null));
    assert_eq!(run.log("1"), b"123456789\n");
}

#[test]
fn output_of_all_steps_is_in_one_log_in_order() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "echo one; echo two >&2");
    start["steps"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "b", "argv": ["/bin/sh", "-c", "echo three >&2; echo four"]}));
    assert_eq!(driver.perform(&start)["log"], "one\ntwo\nthree\nfour\n");
}

#[test]
fn one_step_cannot_make_the_next_ones_output_nonblocking() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start_argv("1", json!(["python3", "-c", "import os; os.set_blocking(1, False)"]));
    let look = json!({"name": "b", "argv": ["python3", "-c", "import os; print(os.get_blocking(1))"]});
    start["steps"].as_array_mut().unwrap().push(look);
    assert_eq!(driver.perform(&start)["log"], "True\n");
}

#[test]
fn a_quiet_attempt_has_no_log_file() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    assert_eq!(driver.perform(&run.start("1", "true"))["log"], "");
    assert!(!run.dir("1").join("log").exists());
}

#[test]
fn the_log_can_be_read_while_the_attempt_runs() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", "echo early; sleep 60"));
    driver.expect("begun");
    wait_until("the log", || run.log("1") == b"early\n");
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    driver.expect("ended");
}

#[test]
#[cfg(target_os = "linux")]
fn a_log_that_it_writes_itself_does_not_fill_the_disk() {
    use std::os::unix::fs::MetadataExt;
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let log = run.dir("1").join("own");
    let script = format!(
        "exec >> {}; echo first; for i in 1 2 3 4 5 6 7 8; do head -c 20000000 /dev/zero | tr '\\0' x; sleep 0.1; done; \
         echo last; echo all > all; while [ ! -e go ]; do sleep 0.02; done",
        log.display()
    );
    let mut start = run.start("1", &script);
    start["own_log"] = json!("own");
    driver.send(&start);
    driver.expect("begun");
    run.wait_for_file("all");
    wait_until("the middle to be given back", || std::fs::metadata(&log).unwrap().blocks() * 512 < 1_000_000);
    std::fs::write(run.work().join("go"), "").unwrap();
    driver.expect("ended");
    let bytes = std::fs::read(&log).unwrap();
    assert_eq!(bytes.len(), 160_000_000 + "first\nlast\n".len());
    assert!(bytes.starts_with(b"first\nxxx") && bytes.ends_with(b"xxxlast\n"));
    assert!(bytes[6..65536].iter().chain(&bytes[bytes.len() - 65536..bytes.len() - 5]).all(|b| *b == b'x'));
}
