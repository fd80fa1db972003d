//! How attempts end, and what the result says about it.

mod common;
use common::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_successful_attempt_is_ok_and_its_files_are_there() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let ended = driver.perform(&run.start("1.1", "echo hello; echo oops >&2"));
    let result = &ended["result"];
    assert_eq!(result["outcome"], "ok");
    assert_eq!((&result["attempt"], &result["fence"]), (&json!("1.1"), &json!(1)));
    assert_eq!(result["steps"][0]["exit_code"], 0);
    assert_eq!(result["steps"][0]["error"], json!(null));
    assert_eq!((&result["output_bytes"], &result["dropped_bytes"]), (&json!(11), &json!(0)));
    assert_eq!((&result["survivors"], &result["retired"], &result["fault"]), (&json!([]), &json!(false), &json!(null)));
    assert!(result["peak_memory_bytes"].as_u64().unwrap() > 100_000);
    assert_eq!(ended["log"], "hello\noops\n");
    assert_eq!(&run.result("1.1"), result);
    assert_eq!(names(&run.dir("1.1")), ["begun", "log", "result.json", "spec.json"]);
    let spec: serde_json::Value = serde_json::from_slice(&fs::read(run.dir("1.1").join("spec.json")).unwrap()).unwrap();
    assert_eq!(spec["attempt"], "1.1");
}

#[test]
fn a_supervisor_is_used_again_and_again() {
    let run = Run::new();
    let (supervisor, mut driver) = run.supervise();
    for i in 0..50 {
        let ended = driver.perform(&run.start(&i.to_string(), &format!("echo {i}")));
        assert_eq!((&ended["result"]["outcome"], &ended["log"]), (&json!("ok"), &json!(format!("{i}\n"))));
    }
    let open = fs::read_dir(format!("/proc/{}/fd", supervisor.pid())).unwrap().count();
    assert!(open < 16, "{open} descriptors are open");
}

#[test]
fn a_failing_step_ends_the_attempt_and_later_steps_do_not_run() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "echo first");
    let step = |name: &str, script: &str| json!({"name": name, "argv": ["/bin/sh", "-c", script]});
    start["steps"] = json!([step("a", "echo a"), step("b", "echo b; exit 7"), step("c", "echo c")]);
    let ended = driver.perform(&start);
    assert_eq!(ended["result"]["outcome"], "failed");
    assert_eq!(ended["log"], "a\nb\n");
    let steps = ended["result"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!((&steps[1]["name"], &steps[1]["exit_code"]), (&json!("b"), &json!(7)));
}

#[test]
fn a_signal_is_told_as_a_signal() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let result = driver.result_of(&run.start("1", "kill -SEGV $$"));
    assert_eq!(result["outcome"], "failed");
    assert_eq!((&result["steps"][0]["exit_code"], &result["steps"][0]["signal"]), (&json!(null), &json!(11)));
}

#[test]
fn what_cannot_be_started_says_why() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let plain = run.work().join("plain");
    fs::write(&plain, "no program").unwrap();
    let broken = run.work().join("broken");
    fs::write(&broken, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    let mut nowhere = run.start("dir", "true");
    nowhere["cwd"] = json!(run.work().join("missing"));
    let cases = [
        (run.start_argv("missing", json!(["no-such-program"])), "not_found"),
        (run.start_argv("path", json!(["/no/such/program"])), "not_found"),
        (run.start_argv("shebang", json!([broken])), "not_found"),
        (run.start_argv("denied", json!([plain])), "denied"),
        (run.start_argv("folder", json!(["/"])), "denied"),
        (nowhere, "no_directory"),
    ];
    for (start, kind) in cases {
        driver.send(&start);
        let ended = driver.expect("ended");
        assert_eq!(ended["result"]["outcome"], "spawn");
        assert_eq!(ended["result"]["steps"][0]["error"]["kind"], kind, "{start}");
    }
    assert_eq!(driver.result_of(&run.start("after", "true"))["outcome"], "ok");
}

#[test]
fn a_later_step_that_cannot_be_started_keeps_the_results_before() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "true");
    start["steps"].as_array_mut().unwrap().push(json!({"name": "score", "argv": ["no-such-program"]}));
    let result = driver.result_of(&start);
    assert_eq!(result["outcome"], "spawn");
    assert_eq!(result["steps"][0]["exit_code"], 0);
    assert_eq!(result["steps"][1]["error"]["kind"], "not_found");
}

#[test]
fn programs_are_found_on_the_path_of_the_attempt() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let tool = run.work().join("bin/tool");
    fs::create_dir(run.work().join("bin")).unwrap();
    fs::write(&tool, "#!/bin/sh\necho found $0 $1\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let mut start = run.start_argv("1", json!(["tool", "x"]));
    start["env"]["PATH"] = json!(format!("/nowhere:{}", run.work().join("bin").display()));
    assert_eq!(driver.perform(&start)["log"], format!("found {} x\n", tool.display()));
    let relative = run.start_argv("2", json!(["bin/tool", "y"]));
    assert_eq!(driver.perform(&relative)["log"], "found bin/tool y\n");
}

#[test]
fn an_attempt_gets_its_environment_and_nothing_else() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start_argv("1", json!(["/usr/bin/env"]));
    start["env"] = json!({"A": "1", "TMPDIR": "/elsewhere", "BUDWOOD_MARK": run.mark()});
    let ended = driver.perform(&start);
    let mut lines: Vec<&str> = ended["log"].as_str().unwrap().lines().collect();
    lines.sort();
    let (mark, tmp) = (format!("BUDWOOD_MARK={}", run.mark()), format!("TMPDIR={}", run.root.join("tmp").display()));
    assert_eq!(lines, ["A=1", &mark, &tmp]);
}

#[test]
fn bytes_that_are_not_utf8_reach_the_program() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let text = run.start("1", "printf %s \"$1$V\"").to_string();
    let text = text.replace(r#"printf %s \"$1$V\"""#, r#"printf %s \"$1$V\"","sh","\udcff""#);
    let text = text.replace(r#""env":{"#, r#""env":{"V":"\udc80","#);
    driver.send_bytes(format!("{text}\n").as_bytes());
    driver.expect("begun");
    assert_eq!(driver.expect("ended")["log"], json!(null));
    assert_eq!(run.log("1"), b"\xff\x80");
}

#[test]
fn a_step_starts_clean() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "cat /proc/self/status | grep '^Sig[BI]'; ls /proc/self/fd; readlink /proc/self/fd/0; \
                  cat /proc/self/oom_score_adj; ps -o sid=,pid= -p $$";
    let ended = driver.perform(&run.start("1", script));
    let lines: Vec<&str> = ended["log"].as_str().unwrap().lines().collect();
    // The two that belong to the C library alone (32, 33) cannot be reset by anybody else.
    let signals = |line: &str| u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap() & !(3 << 31);
    assert_eq!((signals(lines[0]), signals(lines[1])), (0, 0), "{lines:?}");
    // 3 is the directory that ls itself has open.
    assert_eq!(lines[2..7], ["0", "1", "2", "3", "/dev/null"]);
    assert_eq!(lines[7], "500");
    let ids: Vec<&str> = lines[8].split_whitespace().collect();
    assert_eq!(ids[0], ids[1], "the step leads a session of its own");
}

#[test]
fn the_temporary_directory_is_emptied_after_each_attempt() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = "mkdir -p $TMPDIR/a/b; echo x > $TMPDIR/a/b/c; ln -s / $TMPDIR/l; chmod 000 $TMPDIR/a/b $TMPDIR";
    assert_eq!(driver.result_of(&run.start("1", script))["outcome"], "ok");
    assert_eq!(driver.perform(&run.start("2", "ls -A $TMPDIR; rmdir $TMPDIR"))["log"], "");
    assert_eq!(driver.perform(&run.start("3", "ls -A $TMPDIR"))["log"], "");
}

#[test]
fn usage_travels_as_text() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let write = |id: &str, what: &str| run.start(id, &format!("{what} {}", run.dir(id).join("usage.json").display()));
    let result = driver.result_of(&write("1", "printf '{\"cost_usd\": 0.1}' >"));
    assert_eq!(result["usage"], "{\"cost_usd\": 0.1}");
    assert_eq!(driver.result_of(&write("2", "mkfifo"))["usage"], json!(null));
    assert_eq!(driver.result_of(&write("3", "ln -s /etc/passwd"))["usage"], json!(null));
    assert_eq!(driver.result_of(&write("4", "head -c 70000 /dev/zero >"))["usage"], json!(null));
}

#[test]
fn an_attempt_that_removes_its_own_directory_still_has_a_result() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let script = format!("rm -rf {}", run.dir("1").display());
    assert_eq!(driver.result_of(&run.start("1", &script))["outcome"], "ok");
    assert_eq!(run.result("1")["outcome"], "ok");
}

#[test]
fn cpu_time_of_orphans_is_counted() {
    let run = Run::new();
    let (_supervisor, mut driver) = run.supervise();
    let burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let script = format!(
        "(setsid sh -c '{burn}; echo done > orphan' &) ; while [ ! -s orphan ]; do sleep 0.02; done; sleep 0.1"
    );
    let result = driver.result_of(&run.start("1", &script));
    assert!(result["cpu_s"].as_f64().unwrap() > 0.05, "{result}");
}
