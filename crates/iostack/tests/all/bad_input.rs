//! Bad input gets one clear error (what was typed, what is wrong), exit code 2, and nothing is lost or left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::shared::{IOSTACK, Room, iostack, iostack_in, names, printed, said};

/// Refuses with all of `words`, and prints nothing.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = iostack(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed {}", printed(&output));
    crate::shared::refused(&output, words);
}

#[test]
fn what_is_refused_is_all_that_is_said() {
    let room = Room::new("alone");
    let file = room.file("data", [0; 4096]);
    for arguments in [
        &["layers", "--on", "sim:zero"][..],
        &["layers", "--on", &room.path("new")],
        &["run", "--on", &file, "--mix", "0/100"],
    ] {
        let talk = said(&iostack(arguments));
        assert_eq!(talk.lines().count(), 1, "{arguments:?}: {talk}");
        assert!(talk.starts_with("iostack: ") && !talk.contains("no end was named"), "{talk}");
    }
}

#[test]
fn targets_that_are_not_there() {
    let room = Room::new("targets");
    let missing = room.path("nothing/here");
    refused(&["check", &missing], &[&missing]);
    refused(&["run", "--on", &missing], &[&missing]);
    refused(&["run", "--on", &room.path("new")], &["does not exist", "--size"]);
    refused(&["check", "sim:nowhere"], &["nowhere"]);
    refused(&["check", "sim:zero"], &["sim:zero", "takes no time"]);
    refused(&["check", "sim:x25e", "--set", "flash.chips=0"], &["flash.chips"]);
    refused(&["iolat", "sim:nowhere"], &["nowhere"]);
    refused(&["compare", &missing, &missing], &["cannot read", &missing]);
    refused(&["run", "--on", "lab:sata_ram"], &["`sata_ram`", "choose from brd"]);
    refused(&["merge", &missing], &[&missing]);
    refused(&["merge", "lab:nvme"], &["`nvme` takes time of this machine", "lab:sim:x25e"]);
    refused(&["merge", "sim:nowhere"], &["nowhere"]);
    refused(&["run"], &["--on TARGET"]);
    refused(&["check", "/dev/null"], &["/dev/null"]);
    assert!(names(&room.0).is_empty());
}

#[test]
fn quantities_that_are_nonsense() {
    let room = Room::new("quantities");
    let file = room.file("data", vec![7; 1 << 20]);
    // Flags, and the word that the refusal repeats.
    for (flags, word) in [
        ("--block-size 4x", "4x"),
        ("--block-size 1000", "1000"),
        ("--block-size 0", "0"),
        ("--size 2m", "2"),
        ("--queue-depth 9999999 --engine io_uring", "9999999"),
        ("--queue-depth 0", "0"),
        ("--threads 0", "0"),
        ("--engine posix", "posix"),
        ("--pattern randm", "randm"),
        ("--read-percent 140", "140"),
        ("--distribution zipf:abc", "zipf:abc"),
        ("--offset 4m", "4"),
        ("--frobnicate 1", "frobnicate"),
    ] {
        refused(&[&["run", "--on", &file], &flags.split(' ').collect::<Vec<_>>()[..]].concat(), &[word]);
    }
    refused(&["run", "--on", &file, "--runtime", "10 parsecs"], &["10 parsecs"]);
    assert_eq!(fs::read(&file).expect("still there"), vec![7; 1 << 20]);
}

#[test]
fn job_files_with_mistakes_name_the_line() {
    let room = Room::new("jobfiles");
    for (name, text, words) in [
        ("typo.fio", "[global]\nrw=randread\n[a]\nbsz=4k\n", &["4", "bsz", "bs"][..]),
        ("engine.fio", "[a]\nioengine=rdma\n", &["2", "rdma"]),
        ("job.toml", "[[job]]\nqueue_dept = 4\n", &["queue_dept"]),
        ("empty.fio", "", &[]),
    ] {
        refused(&["run", &room.file(name, text), "--on", "/tmp"], &[&[name], words].concat());
    }
    refused(&["run", &room.path("absent.fio")], &["absent.fio"]);
    let good = room.file("good.fio", "[a]\nrw=randread\n");
    refused(&["run", &good, "--section", "b", "--on", "/tmp"], &["`b`"]);
}

#[test]
fn what_exists_is_not_written_over() {
    let room = Room::new("existing");
    let file = room.file("precious", vec![42; 1 << 20]);
    refused(&["run", "--on", &file, "--read-percent", "0"], &["precious", "--destroy-data"]);
    assert_eq!(fs::read(&file).expect("still there"), vec![42; 1 << 20]);
    refused(&["run", "--on", &file, "--output", &file], &["not overwritten"]);
    refused(&["merge", &file, "--write"], &["precious", "--destroy-data"]);
    refused(&["merge", &file, "--html", &file], &["not overwritten"]);
    assert_eq!(fs::read(&file).expect("still there"), vec![42; 1 << 20]);
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
