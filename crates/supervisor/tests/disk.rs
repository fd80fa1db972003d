//! Full disks. A small file system of its own needs root.

mod common;
use common::*;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(name: &str) -> Option<SmallDisk> {
        let at = std::env::temp_dir().join(format!("bwdisk{}-{name}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=64", "tmpfs"];
        let mounted = is_root() && Command::new("mount").args(options).arg(&at).status().is_ok_and(|s| s.success());
        if !mounted {
            println!("skipped: mounting a small file system needs root");
            let _ = fs::remove_dir(&at);
        }
        mounted.then(|| SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

const FILL: &str = "dd if=/dev/zero of=big bs=4k 2>&-; true; ";

#[test]
fn a_full_disk_ends_the_attempt_as_a_fault() {
    let Some(disk) = SmallDisk::mount("log") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (_supervisor, mut driver) = run.supervise();
    let mut start = run.start("1", "head -c 4000000 /dev/zero; sleep 60");
    (start["head_bytes"], start["tail_bytes"]) = (json!(8 << 20), json!(8 << 20));
    let ended = driver.perform(&start);
    assert_eq!(
        (&ended["result"]["outcome"], &ended["result"]["fault"]["kind"]),
        (&json!("fault"), &json!("disk_full"))
    );
    driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("1")]}));
    assert_eq!(driver.result_of(&run.start("2", "true"))["outcome"], "ok");
}

#[test]
fn a_result_that_cannot_be_written_reaches_the_driver_anyway() {
    let Some(disk) = SmallDisk::mount("result") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (mut supervisor, mut driver) = run.supervise();
    let result = driver.result_of(&run.start("1", FILL));
    assert_eq!((&result["outcome"], &result["fault"]["kind"]), (&json!("ok"), &json!("disk_full")));
    // Until the driver says that it has the result, only the supervisor has it, and takes nothing else.
    driver.send(&run.start("2", "true"));
    assert_eq!(driver.expect("refused")["reason"], "busy");
    // It may have asked before it read that: whoever waits for room hears again whose result is in the way.
    assert_eq!(driver.expect("ended")["attempt"], "1");
    let mut start = run.start("3", "true");
    start["forget"] = json!([run.dir("1")]);
    driver.send(&start);
    let message = driver.next().unwrap();
    assert!(message["type"] == "ended" && message["result"]["outcome"] == "fault", "{message}");
    assert!(supervisor.is_running());
}

#[test]
fn a_driver_that_leaves_without_having_recorded_it_loses_no_result() {
    let Some(disk) = SmallDisk::mount("unrecorded") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (mut supervisor, mut driver) = run.supervise();
    driver.result_of(&run.start("1", FILL));
    drop(driver);
    let mut new = run.connect(2);
    assert_eq!(new.hello()["attempt"], "1");
    assert_eq!(new.expect("ended")["result"]["outcome"], "ok");
    drop(new);
    fs::remove_file(run.work().join("big")).unwrap();
    assert_eq!(supervisor.exit_code(), Some(0));
    assert_eq!(run.result("1")["outcome"], "ok");
}

#[test]
fn without_a_driver_the_result_is_tried_again_until_there_is_room() {
    let Some(disk) = SmallDisk::mount("again") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (mut supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", &format!("{FILL} echo full > /dev/null; touch full; sleep 0.2")));
    driver.expect("begun");
    drop(driver);
    wait_until("the disk to be full", || run.work().join("full").exists());
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(supervisor.is_running());
    assert!(!run.dir("1").join("result.json").exists());
    fs::remove_file(run.work().join("big")).unwrap();
    assert_eq!(supervisor.exit_code(), Some(0));
    assert_eq!(run.result("1")["steps"][0]["exit_code"], 0);
}

#[test]
fn a_new_driver_gets_a_result_that_has_no_file() {
    let Some(disk) = SmallDisk::mount("new") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (_supervisor, mut driver) = run.supervise();
    driver.send(&run.start("1", &format!("{FILL} touch full; sleep 0.2")));
    driver.expect("begun");
    drop(driver);
    wait_until("the disk to be full", || run.work().join("full").exists());
    std::thread::sleep(std::time::Duration::from_millis(700));
    let mut new = run.connect(2);
    assert_eq!(new.hello()["attempt"], "1");
    assert_eq!(new.expect("ended")["result"]["fault"]["kind"], "disk_full");
}

#[test]
fn a_transcript_that_fills_the_disk_ends_the_attempt_as_a_fault() {
    let Some(disk) = SmallDisk::mount("transcript") else {
        return;
    };
    let run = Run::at(disk.0.join("r"));
    let (_supervisor, mut driver) = run.supervise();
    // The log alone would fit.
    let script = "head -c 700000 /dev/zero; sleep 60";
    let mut start = run.start_steps("1", &[(script, json!({"transcript": "t"}))]);
    (start["head_bytes"], start["tail_bytes"]) = (json!(8 << 20), json!(8 << 20));
    let result = driver.result_of(&start);
    assert_eq!((&result["outcome"], &result["fault"]["kind"]), (&json!("fault"), &json!("disk_full")), "{result}");
    driver.send(&json!({"type": "forget", "fence": 1, "dirs": [run.dir("1")]}));
    assert_eq!(driver.result_of(&run.start("2", "true"))["outcome"], "ok");
}
