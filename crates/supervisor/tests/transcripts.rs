//! What a step printed, in a file of its own.

mod common;
use common::*;
use serde_json::{Value, json};
use std::fs;

fn transcript(run: &Run, name: &str) -> Vec<u8> {
    fs::read(run.dir("1").join(name)).unwrap()
}

fn noted(script: &str) -> [(&str, Value); 1] {
    [(script, json!({"transcript": "t"}))]
}

#[test]
fn each_step_has_its_own_and_the_log_has_all() {
    for run in runs() {
        let (_supervisor, mut driver) = run.supervise();
        let steps = [
            ("echo one; echo two >&2; echo three", json!({"transcript": "a.txt"})),
            ("echo unnoted", json!({})),
            ("true", json!({"transcript": "b.txt"})),
            ("echo four; exit 3", json!({"transcript": "c.txt"})),
            ("echo never", json!({"transcript": "d.txt"})),
        ];
        let ended = driver.perform(&run.start_steps("1", &steps));
        assert_eq!(ended["log"], "one\ntwo\nthree\nunnoted\nfour\n");
        assert_eq!(transcript(&run, "a.txt"), b"one\ntwo\nthree\n");
        assert_eq!((transcript(&run, "b.txt"), transcript(&run, "c.txt")), (vec![], b"four\n".to_vec()));
        let files = ["a.txt", "b.txt", "begun", "c.txt", "log", "result.json", "spec.json"];
        assert_eq!(names(&run.dir("1")), files);
        driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("1")]}));
        wait_until("its directory to go", || !run.dir("1").exists());
    }
}

#[test]
fn each_is_cut_by_its_own_count() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let steps = [
        ("printf 0123456789", json!({"transcript": "short"})),
        ("printf abc; head -c 5000000 /dev/zero; printf xyz", json!({"transcript": "long"})),
    ];
    let mut start = run.start_steps("1", &steps);
    (start["head_bytes"], start["tail_bytes"]) = (json!(4), json!(6));
    driver.perform(&start);
    assert_eq!(transcript(&run, "short"), b"0123456789");
    assert_eq!(transcript(&run, "long"), b"abc\0\n[budwood: 4999996 bytes dropped here]\n\0\0\0xyz");
    assert_eq!(run.log("1"), b"0123\n[budwood: 5000006 bytes dropped here]\n\0\0\0xyz");
}

#[test]
fn it_is_whole_however_the_attempt_ends() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "echo first; trap 'echo last words; exit 1' TERM; echo there > there; while :; do sleep 0.02; done";
    for outcome in ["timed_out", "cancelled"] {
        driver.send(&run.start_steps("1", &noted(script)));
        driver.expect("begun");
        run.wait_for_file("there");
        match outcome {
            "cancelled" => driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"})),
            _ => driver.send(&json!({"type": "deadline", "fence": 1, "attempt": "1", "in_s": 0})),
        }
        let result = driver.expect("ended")["result"].take();
        assert_eq!((&result["outcome"], &run.result("1")["outcome"]), (&json!(outcome), &json!(outcome)));
        // Between the two the shell may say that its sleep was terminated.
        let bytes = transcript(&run, "t");
        assert!(bytes.starts_with(b"first\n") && bytes.ends_with(b"last words\n"), "{outcome}: {bytes:?}");
        assert_eq!(bytes, run.log("1"));
        driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("1")]}));
        wait_until("its directory to go", || !run.dir("1").exists());
        fs::remove_file(run.work().join("there")).unwrap();
    }
    let eat = "echo first; exec python3 -c 'x = bytearray(300 << 20); import time; time.sleep(30)'";
    let mut start = run.start_steps("1", &noted(eat));
    start["memory_bytes"] = json!(100 << 20);
    assert_eq!(driver.result_of(&start)["outcome"], "memory");
    assert_eq!(transcript(&run, "t"), b"first\n");
}

#[test]
fn without_a_driver_it_is_whole_when_the_result_appears() {
    let run = Run::new();
    let (mut supervisor, mut driver) = run.supervise();
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; while [ ! -e go ]; do sleep 0.02; done; echo last";
    let mut start = run.start_steps("1", &noted(script));
    (start["head_bytes"], start["tail_bytes"]) = (json!(1_000_000), json!(1_000_000));
    driver.send(&start);
    driver.expect("begun");
    drop(driver);
    fs::write(run.work().join("go"), "").unwrap();
    wait_until("the result", || run.dir("1").join("result.json").exists());
    let bytes = transcript(&run, "t");
    assert_eq!(bytes, run.log("1"));
    assert!(bytes.ends_with(b"xxlast\n") && bytes.len() < 2_000_100, "{}", bytes.len());
    assert_eq!(supervisor.exit_code(), Some(0));
}

#[test]
fn what_an_attempt_laid_in_its_place_is_not_followed() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let victim = run.work().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let (dir, target) = (run.dir("1"), victim.display());
    let lay = format!("cd {0} && ln -s {target} t && ln -s {target} t.new && echo laid", dir.display());
    let steps = [(lay.as_str(), json!({})), ("echo mine", json!({"transcript": "t"}))];
    assert_eq!(driver.perform(&run.start_steps("1", &steps))["result"]["outcome"], "ok");
    assert_eq!((transcript(&run, "t"), fs::read(&victim).unwrap()), (b"mine\n".to_vec(), b"untouched".to_vec()));
}
