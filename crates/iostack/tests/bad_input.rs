//! Bad input gets one clear error (what was typed, what is wrong), exit code 2, and nothing is lost or left behind.

#[path = "lab/room.rs"]
mod room;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use room::Room;

impl Room {
    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a new file");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a directory");
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
    }
}

fn iostack(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iostack")).args(arguments).output().expect("the binary was built")
}

/// Exit 2, nothing on stdout, and stderr names every one of `words`.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = iostack(arguments);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {talk}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed {}", String::from_utf8_lossy(&output.stdout));
    for word in words {
        assert!(talk.contains(word), "{arguments:?}: `{word}` is missing in: {talk}");
    }
}

#[test]
fn what_is_refused_is_all_that_is_said() {
    let room = Room::new("alone");
    let file = room.file("data", &[0; 4096]);
    for arguments in [
        &["layers", "--on", "sim:zero"][..],
        &["layers", "--on", &room.path("new")],
        &["run", "--on", &file, "--mix", "0/100"],
    ] {
        let talk = String::from_utf8_lossy(&iostack(arguments).stderr).into_owned();
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
    refused(&["check", "lab:nvme"], &["`nvme` takes time of this machine", "lab:sim:x25e"]);
    refused(&["run", "--on", "lab:sata_ram"], &["`sata_ram`", "choose from brd"]);
    refused(&["merge", &missing], &[&missing]);
    refused(&["merge", "lab:nvme"], &["`nvme` takes time of this machine", "lab:sim:x25e"]);
    refused(&["merge", "sim:nowhere"], &["nowhere"]);
    refused(&["run"], &["--on TARGET"]);
    refused(&["check", "/dev/null"], &["/dev/null"]);
    assert!(room.names().is_empty());
}

#[test]
fn quantities_that_are_nonsense() {
    let room = Room::new("quantities");
    let file = room.file("data", &vec![7; 1 << 20]);
    let on = |flags: &[&str], words: &[&str]| refused(&[&["run", "--on", &file], flags].concat(), words);
    on(&["--block-size", "4x"], &["4x"]);
    on(&["--block-size", "1000"], &["1000"]);
    on(&["--block-size", "0"], &["0"]);
    on(&["--runtime", "10 parsecs"], &["10 parsecs"]);
    on(&["--size", "2m"], &["2"]);
    on(&["--queue-depth", "9999999", "--engine", "io_uring"], &["9999999"]);
    on(&["--queue-depth", "0"], &["0"]);
    on(&["--threads", "0"], &["0"]);
    on(&["--engine", "posix"], &["posix"]);
    on(&["--pattern", "randm"], &["randm"]);
    on(&["--read-percent", "140"], &["140"]);
    on(&["--distribution", "zipf:abc"], &["zipf:abc"]);
    on(&["--offset", "4m"], &["4"]);
    on(&["--frobnicate", "1"], &["frobnicate"]);
    assert_eq!(fs::read(&file).expect("still there"), vec![7; 1 << 20]);
}

#[test]
fn job_files_with_mistakes_name_the_line() {
    let room = Room::new("jobfiles");
    let typo = room.file("typo.fio", b"[global]\nrw=randread\n[a]\nbsz=4k\n");
    refused(&["run", &typo, "--on", "/tmp"], &["typo.fio", "4", "bsz", "bs"]);
    let engine = room.file("engine.fio", b"[a]\nioengine=rdma\n");
    refused(&["run", &engine, "--on", "/tmp"], &["engine.fio", "2", "rdma"]);
    let toml = room.file("job.toml", b"[[job]]\nqueue_dept = 4\n");
    refused(&["run", &toml, "--on", "/tmp"], &["job.toml", "queue_dept"]);
    let empty = room.file("empty.fio", b"");
    refused(&["run", &empty, "--on", "/tmp"], &["empty.fio"]);
    refused(&["run", &room.path("absent.fio")], &["absent.fio"]);
    let good = room.file("good.fio", b"[a]\nrw=randread\n");
    refused(&["run", &good, "--section", "b", "--on", "/tmp"], &["`b`"]);
}

#[test]
fn what_exists_is_not_written_over() {
    let room = Room::new("existing");
    let file = room.file("precious", &vec![42; 1 << 20]);
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
        .arg(env!("CARGO_BIN_EXE_iostack"))
        .args(["check", "--no-files", &closed])
        .output();
    let Ok(output) = output else {
        println!("SKIPPED a_directory_without_permission_is_named: setpriv is not installed");
        return;
    };
    let talk = String::from_utf8_lossy(&output.stderr);
    if talk.contains("setpriv") || output.status.code() == Some(126) {
        println!("SKIPPED a_directory_without_permission_is_named: {}", talk.trim());
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("closed"), "{talk}");
}

#[test]
fn outcomes_that_are_none_are_refused() {
    let room = Room::new("outcomes");
    let text = room.file("text.json", b"{}");
    refused(&["compare", &text, &text], &["text.json", "not an outcome"]);
    refused(&["report", &text], &["text.json", "not an outcome"]);
    refused(&["compare", &room.path("a"), &room.path("b")], &["cannot read"]);
}

#[test]
fn outcomes_with_impossible_figures_are_refused_with_the_field() {
    let room = Room::new("impossible");
    let run = "run --on sim:zero --set zero.latency=10us --io-count 10 --json";
    let made = iostack(&run.split(' ').collect::<Vec<_>>());
    let whole: serde_json::Value = serde_json::from_slice(&made.stdout).expect("an outcome");
    let good = room.file("good.json", &made.stdout);
    let one = "/outcomes/0";
    let cases = [
        ("/schema", serde_json::json!(0), "schema: there is no schema 0"),
        ("/schema", serde_json::json!(99), "schema: schema 99 is newer than this iostack"),
        (
            &format!("{one}/read/latency/min_ns"),
            serde_json::json!(20_000),
            "outcomes[0].read.latency: min_ns 20000",
        ),
        (&format!("{one}/read/latency/count"), serde_json::json!(11), "outcomes[0].read.latency: count 11"),
        (&format!("{one}/iops/low"), serde_json::json!(1e12), "outcomes[0].iops: mean"),
        (&format!("{one}/series/0/p99"), serde_json::json!(1), "outcomes[0].series[0]: p50"),
        (&format!("{one}/cpu/steal"), serde_json::json!(1.01), "outcomes[0].cpu: steal is 1.01"),
        (&format!("{one}/job/mix/read"), serde_json::json!(99), "outcomes[0].job.mix: mix of 99"),
        (&format!("{one}/depth_achieved"), serde_json::json!(-1), "outcomes[0]: depth_achieved is -1"),
        (&format!("{one}/elapsed"), serde_json::json!(-1), "outcomes[0].elapsed: invalid value"),
    ];
    for (index, (pointer, value, said)) in cases.into_iter().enumerate() {
        let mut wrong = whole.clone();
        *wrong.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is no field")) = value;
        let bad = room.file(&format!("{index}.json"), wrong.to_string().as_bytes());
        refused(&["report", &bad], &[&bad, "not an outcome", said]);
        refused(&["compare", &good, &bad], &[&bad, "not an outcome", said]);
    }
    assert!(iostack(&["report", &good]).status.success());
    let twice = room.file("twice.json", &[made.stdout.as_slice(), made.stdout.as_slice()].concat());
    refused(&["report", &twice], &["trailing characters"]);
}
