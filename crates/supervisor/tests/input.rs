//! What a step reads.

mod common;
use common::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn each_step_reads_the_file_that_it_is_given() {
    for run in runs() {
        let (_supervisor, mut driver) = run.supervise();
        let prompt = run.work().join("prompt");
        fs::write(&prompt, "do it\nwell").unwrap();
        for contain in ["tree", "namespace"] {
            let steps = [
                ("cat; cat", json!({"stdin": prompt, "transcript": "said"})),
                ("wc -c | tr -d ' '", json!({})),
                ("rev", json!({"stdin": "said"})),
                ("cat", json!({"stdin": prompt})),
            ];
            let mut start = run.start_steps(contain, &steps);
            start["contain"] = json!(contain);
            let ended = driver.perform(&start);
            assert_eq!(ended["log"], "do it\nwell0\nti od\nllewdo it\nwell", "{contain}: {}", ended["result"]);
        }
    }
}

#[test]
fn what_it_reads_is_read_only_and_blocks_as_files_do() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    fs::write(run.work().join("prompt"), "x").unwrap();
    let look = "import fcntl, os; f = fcntl.fcntl(0, fcntl.F_GETFL); print(f & os.O_ACCMODE == os.O_RDONLY, os.get_blocking(0), os.listdir('/proc/self/fd'))";
    let mut start = run.start_argv("1", json!(["python3", "-c", look]));
    start["steps"][0]["stdin"] = json!(run.work().join("prompt"));
    // 3 is the directory that it looks through.
    assert_eq!(driver.perform(&start)["log"], "True True ['0', '1', '2', '3']\n");
}

#[test]
fn what_cannot_be_read_is_an_error_of_the_step_and_nobody_waits_for_it() {
    for (i, run) in runs().into_iter().enumerate() {
        let (_supervisor, mut driver) = run.supervise();
        let at = |name: &str| run.work().join(name);
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        fs::write(at("private"), "x").unwrap();
        fs::set_permissions(at("private"), fs::Permissions::from_mode(0o600)).unwrap();
        let mut paths = vec![at("missing"), at("fifo"), at(""), "/dev/zero".into(), "not-here".into()];
        if i == 1 {
            paths.push(at("private"));
        }
        for (k, path) in paths.iter().enumerate() {
            driver.send(&run.start_steps(&k.to_string(), &[("echo ran", json!({"stdin": path, "transcript": "t"}))]));
            let ended = driver.expect("ended");
            let step = &ended["result"]["steps"][0];
            assert_eq!((&ended["result"]["outcome"], &step["error"]["kind"]), (&json!("spawn"), &json!("stdin")));
            assert!(step["error"]["message"].as_str().unwrap().starts_with(path.to_str().unwrap()), "{step}");
            assert_eq!((&step["exit_code"], &ended["log"]), (&json!(null), &json!("")));
        }
        assert_eq!(driver.result_of(&run.start("after", "true"))["outcome"], "ok");
    }
}

#[test]
fn a_later_step_that_has_nothing_to_read_keeps_the_results_before() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let steps = [("echo one", json!({"transcript": "one"})), ("echo two", json!({"stdin": "two"}))];
    let ended = driver.perform(&run.start_steps("1", &steps));
    assert_eq!((&ended["result"]["outcome"], &ended["log"]), (&json!("spawn"), &json!("one\n")));
    assert_eq!(ended["result"]["steps"][0]["exit_code"], 0);
    assert_eq!(ended["result"]["steps"][1]["error"]["kind"], "stdin");
    assert_eq!(fs::read(run.dir("1").join("one")).unwrap(), b"one\n");
}
