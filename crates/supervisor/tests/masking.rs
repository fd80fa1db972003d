//! Secrets that an attempt prints.

mod common;
use common::*;
use serde_json::{Value, json};
use std::fs;

fn masked(run: &Run, id: &str, script: &str, secrets: &[&str]) -> Value {
    let mut start = run.start_steps(id, &[(script, json!({"transcript": "t"}))]);
    start["mask"] = json!(secrets);
    start
}

#[test]
fn secrets_stand_in_no_file_and_in_no_message() {
    for run in runs() {
        let (_supervisor, mut driver) = run.supervise();
        let script = "echo key=hunter2-hunter2; printf hunter2; printf -; printf hun >&2; printf 'ter2 '; \
                      echo hunter2-hunter2-and-more hunter2-hunter2-and-less; printf hunter2";
        for contain in ["tree", "namespace"] {
            let mut start = masked(&run, contain, script, &["hunter2-hunter2", "hunter2-hunter2-and-more", ""]);
            start["contain"] = json!(contain);
            let ended = driver.perform(&start);
            let expected = "key=[masked]\n[masked] [masked] [masked]-and-less\nhunter2";
            assert_eq!(ended["log"], expected, "{contain}: {}", ended["result"]);
            assert_eq!(ended["result"]["output_bytes"], expected.len());
            assert_eq!(run.log(contain), expected.as_bytes());
            assert_eq!(fs::read(run.dir(contain).join("t")).unwrap(), expected.as_bytes());
        }
    }
}

#[test]
fn secrets_are_found_across_reads_of_much_output() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let secret = "k3y-".repeat(9);
    let text = |shown: &str| -> String { (0..2000).map(|i| "x".repeat(i * 7919 % 3000) + shown + "\n").collect() };
    // From a file: a writer that is kept waiting in the middle of a secret would show its beginning.
    fs::write(run.work().join("text"), text(&secret)).unwrap();
    let mut start = run.start("1", "cat text");
    (start["mask"], start["head_bytes"]) = (json!([secret]), json!(100 << 20));
    driver.perform(&start);
    assert!(run.log("1") == text("[masked]").as_bytes());
}

#[test]
fn bytes_that_are_not_text_can_be_secret() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let text = masked(&run, "1", "printf 'a\\377\\000bcdef g'", &["SECRET"]).to_string();
    driver.send_bytes(format!("{}\n", text.replace("\"SECRET\"", r#""\udcff\u0000bcdef""#)).as_bytes());
    driver.expect("begun");
    assert_eq!(driver.expect("ended")["log"], "a[masked] g");
}

#[test]
fn a_line_without_an_end_is_soon_seen_though_a_secret_may_begin_in_it() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "printf 'key? hunt'; while [ ! -e go ]; do sleep 0.02; done; printf er2-hunter2; sleep 60";
    driver.send(&masked(&run, "1", script, &["hunter2-hunter2"]));
    driver.expect("begun");
    wait_until("the question", || run.log("1") == b"key? hunt");
    fs::write(run.work().join("go"), "").unwrap();
    // What was shown cannot be taken back; the rest is masked.
    wait_until("the answer", || run.log("1") == b"key? hunt[masked]");
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "1"}));
    assert_eq!(driver.expect("ended")["log"], "key? hunt[masked]");
}

#[test]
fn what_is_held_back_when_a_step_ends_is_shown_before_the_next_ones_output() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let steps = [("printf hunter2", json!({"transcript": "a"})), ("printf %s -hunter2", json!({"transcript": "b"}))];
    let mut start = run.start_steps("1", &steps);
    start["mask"] = json!(["hunter2-hunter2"]);
    // Also over two steps no whole secret stands in the log.
    assert_eq!(driver.perform(&start)["log"], "hunter2[masked]");
    assert_eq!(fs::read(run.dir("1").join("a")).unwrap(), b"hunter2");
    assert_eq!(fs::read(run.dir("1").join("b")).unwrap(), b"[masked]");
    // When it is cancelled, too.
    driver.send(&masked(&run, "2", "printf hunter2-h; echo there > there; exec sleep 60", &["hunter2-hunter2"]));
    driver.expect("begun");
    run.wait_for_file("there");
    driver.send(&json!({"type": "cancel", "fence": 1, "attempt": "2"}));
    assert_eq!(driver.expect("ended")["log"], "hunter2-h");
}

#[test]
fn what_holds_the_secrets_is_its_owners_alone_in_every_attempt() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    for id in ["1", "2", "3"] {
        let mut start = run.start(id, "stat -c %a spec.json; chmod 644 spec.json");
        (start["cwd"], start["mask"]) = (json!(run.dir(id)), json!(["hunter2-hunter2"]));
        assert_eq!(driver.perform(&start)["log"], "600\n", "attempt {id}");
        // Its directory is used again for the next, unless something speaks against it.
        driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir(id)]}));
    }
}
