//! Bad input gets one clear error (what was typed, what is wrong), exit code 2, and nothing is lost or left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::shared::{IOSTACK, Room, iostack, iostack_in, printed, said};

/// Refuses with all of `words`, and prints nothing.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = iostack(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed {}", printed(&output));
    crate::shared::refused(&output, words);
}

#[test]
fn the_device_of_the_root_file_system_is_refused_by_name() {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux");
    let root = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/"));
    let device = root.and_then(|line| line.split(' ').next()).filter(|device| device.starts_with("/dev/"));
    let Some(device) = device.filter(|device| fs::File::open(device).is_ok()) else {
        println!("SKIPPED the_device_of_the_root_file_system_is_refused_by_name: no readable device below /");
        return;
    };
    refused(&["run", "--on", device, "--read-percent", "0", "--destroy-data"], &[device, "mounted"]);
}

#[test]
fn a_directory_without_permission_is_named() {
    // Root passes every permission check, so the refusal is asked for as nobody.
    // SAFETY-free: the identity is changed by `setpriv`, not by this process.
    let room = Room::new("permission");
    let closed = room.path("closed");
    fs::create_dir(&closed).expect("a new directory");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("ours");
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(IOSTACK)
        .args(["check", "--no-files", &closed])
        .output();
    let Ok(output) = output else {
        println!("SKIPPED a_directory_without_permission_is_named: setpriv is not installed");
        return;
    };
    let talk = said(&output);
    if talk.contains("setpriv") || output.status.code() == Some(126) {
        println!("SKIPPED a_directory_without_permission_is_named: {}", talk.trim());
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("closed"), "{talk}");
}

#[test]
fn outcomes_with_impossible_figures_are_refused_with_the_field() {
    let room = Room::new("impossible");
    let run = "run --on sim:zero --set zero.latency=10us --io-count 10 --json";
    let made = iostack_in(&room.0, run);
    let whole: serde_json::Value = serde_json::from_slice(&made.stdout).expect("an outcome");
    let good = room.file("good.json", &made.stdout);
    let cases = [
        ("/schema", json!(0), "schema: there is no schema 0"),
        ("/schema", json!(99), "schema: schema 99 is newer than this iostack"),
        ("/outcomes/0/read/latency/min_ns", json!(20_000), "outcomes[0].read.latency: min_ns 20000"),
        ("/outcomes/0/read/latency/count", json!(11), "outcomes[0].read.latency: count 11"),
        ("/outcomes/0/iops/low", json!(1e12), "outcomes[0].iops: mean"),
        ("/outcomes/0/series/0/p99", json!(1), "outcomes[0].series[0]: p50"),
        ("/outcomes/0/cpu/steal", json!(1.01), "outcomes[0].cpu: steal is 1.01"),
        ("/outcomes/0/job/mix/read", json!(99), "outcomes[0].job.mix: mix of 99"),
        ("/outcomes/0/depth_achieved", json!(-1), "outcomes[0]: depth_achieved is -1"),
        ("/outcomes/0/elapsed", json!(-1), "outcomes[0].elapsed: invalid value"),
    ];
    for (index, (pointer, value, said)) in cases.into_iter().enumerate() {
        let mut wrong = whole.clone();
        *wrong.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is no field")) = value;
        let bad = room.file(&format!("{index}.json"), wrong.to_string());
        refused(&["report", &bad], &[&bad, "not an outcome", said]);
        refused(&["compare", &good, &bad], &[&bad, "not an outcome", said]);
    }
    assert!(iostack(&["report", &good]).status.success());
    let twice = room.file("twice.json", made.stdout.repeat(2));
    refused(&["report", &twice], &["trailing characters"]);
}
