//! `iostack serve`, as one types it: how it begins, how it ends, and what is left then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use iostack_testkit::{folder, or_skip, tool};
use serde_json::Value;

use crate::shared::{IOSTACK, Room, Started, heard, printed, said};

const PATIENCE: Duration = Duration::from_mins(1);

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(IOSTACK);
    command.arg("serve").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    serve(arguments).output().expect("it starts")
}

/// A server in the background.
struct Server {
    run: Started,
    /// Path of its disk.
    place: PathBuf,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut run = Started::heard(&mut serve(arguments));
        let mut lines = BufReader::new(run.0.stderr.take().expect("it is piped")).lines();
        let said =
            lines.find_map(|line| line.ok().filter(|line| line.contains(", is "))).expect("it says where");
        // Whoever writes to it later must find somebody who reads.
        std::thread::spawn(move || lines.for_each(drop));
        let place = said.split(", is ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a place");
        Server { run, place: PathBuf::from(place) }
    }

    /// Exit code, and what it told.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.run.0.try_wait().expect("it can be asked").is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let (code, told, _) = self.run.end();
        assert!(code.is_some(), "a signal ended it");
        (code, told)
    }
}

fn is_mounted(place: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("it is there");
    mounts.lines().any(|line| line.split(' ').nth(1) == place.to_str())
}

#[test]
fn an_interrupt_is_how_it_ends_and_nothing_is_left() {
    let folder = folder!("serve-interrupt");
    let place = folder.join("place");
    let arguments = ["zero", "--mount", place.to_str().expect("UTF-8"), "--json"];
    if or_skip("an_interrupt_is_how_it_ends_and_nothing_is_left", fuse("interrupt")).is_none() {
        return;
    }
    for signal in ["-INT", "-TERM"] {
        let server = Server::start(&arguments);
        assert!(is_mounted(&place));
        let device = server.place.clone();
        server.run.signal(signal);
        let (code, told) = server.end();
        assert_eq!(code, Some(0), "{told}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told["place"].as_str(), device.to_str());
        assert!(!is_mounted(&place) && !place.exists());
    }
}

#[test]
fn nothing_writes_to_a_store_unasked_and_never_while_it_is_served() {
    let room = Room::new("serve-kept");
    let path = &room.path("store_bw.1.log");
    let listen = ["--listen", &room.path("disk.sock")];
    let server =
        Server::start(&[&["zero", "--set", "zero.capacity=1m", "--store", path], &listen[..]].concat());
    let (filename, output) = (format!("--filename={path}"), format!("--output={path}"));
    let log = format!("--write_bw_log={}", room.path("store"));
    let write = ["--name=a", "--rw=write", "--bs=4k", "--size=64k"];
    let read = ["--name=a", "--rw=read", "--bs=4k", "--size=64k", "--on", "sim:x25e"];
    let commands = [
        [&["run", "--on", path, "--mix", "write", "--block-size", "4k"][..], &["--size", "64k"]].concat(),
        [&["fio", &filename][..], &write].concat(),
        [&["fio", &output][..], &read].concat(),
        [&["fio", &log][..], &read].concat(),
    ];
    let told = |command: &[&str], destroys: bool| {
        let mut program = crate::shared::command(command);
        let output = program.args(destroys.then_some("--destroy-data")).stdin(Stdio::null()).output();
        let output = output.expect("it starts");
        (output.status.code(), said(&output))
    };
    for (command, destroys) in commands.iter().flat_map(|command| [(command, false), (command, true)]) {
        let (code, said) = told(command, destroys);
        assert!(matches!(code, Some(1 | 2)), "{command:?} {destroys}: {said}");
        assert!(!destroys || said.contains("is in use: `iostack serve`"), "{command:?}: {said}");
        assert_eq!(fs::read(path).expect("it is there"), vec![0; 1 << 20], "{command:?} {destroys}");
    }
    server.run.signal("-INT");
    assert_eq!(server.end().0, Some(0));
    for command in &commands {
        let (code, said) = told(command, false);
        assert!(matches!(code, Some(1 | 2)), "{command:?}: {said}");
        assert!(
            said.contains("--destroy-data") || said.contains("is not overwritten"),
            "{command:?}: {said}"
        );
        assert_eq!(fs::read(path).expect("it is there"), vec![0; 1 << 20], "{command:?}");
    }
    for command in &commands {
        let (code, said) = told(command, true);
        assert_eq!(code, Some(0), "{command:?}: {said}");
    }
}

/// Reason that FUSE does not work here; each test passes a name of its own.
fn fuse(test: &str) -> Result<(), String> {
    let folder = folder!(&format!("fuse-{test}"));
    let place = folder.join("place");
    let output =
        run(&["zero", "--as", "fuse", "--mount", place.to_str().expect("UTF-8"), "--quiet", "--", "true"]);
    if output.status.success() { Ok(()) } else { Err(said(&output)) }
}

/// Kills servers at moments of their first second that a seed chooses.
fn killed_at_any_moment(test: &str, times: u32) {
    if or_skip(test, fuse("killed")).is_none() {
        return;
    }
    let folder = folder!(test);
    let place = folder.join("place");
    let mount = place.to_str().expect("UTF-8");
    let seed = std::env::var("IOSTACK_KILLS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let mut random = iostack_workload::Rng::from_seed(seed);
    for time in 0..times {
        let mut child = serve(&["zero", "--mount", mount, "--quiet"])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_micros(random.below(800_000)));
        child.kill().expect("it is ours");
        child.wait().expect("it is dead");
        let deadline = Instant::now() + PATIENCE;
        while is_mounted(&place) {
            assert!(Instant::now() < deadline, "kill {time} of IOSTACK_KILLS_SEED={seed}: its mount stays");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let output = run(&["zero", "--mount", mount, "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "IOSTACK_KILLS_SEED={seed}: {output:?}");
    assert!(!is_mounted(&place));
}

#[test]
fn nothing_stays_of_a_server_that_is_killed() {
    killed_at_any_moment("nothing_stays_of_a_server_that_is_killed", 10);
}

#[test]
#[ignore = "slow: two minutes"]
fn nothing_stays_of_two_hundred_servers_that_are_killed() {
    killed_at_any_moment("nothing_stays_of_two_hundred_servers_that_are_killed", 200);
}

#[test]
fn a_mounted_disk_stays_until_it_is_unmounted_and_its_data_are_there_again() {
    const TEST: &str = "a_mounted_disk_stays_until_it_is_unmounted_and_its_data_are_there_again";
    if or_skip(TEST, fuse("mounted")).is_none() {
        return;
    }
    let folder = folder!("serve-mounted");
    let (store, mounted) = (folder.join("store"), folder.join("mounted"));
    fs::create_dir(&mounted).expect("it is made");
    let place = folder.join("place");
    let arguments = [
        "zero",
        "--set",
        "zero.capacity=128m",
        "--mount",
        place.to_str().expect("UTF-8"),
        "--store",
        store.to_str().expect("UTF-8"),
        "--json",
    ];
    for turn in 0..2 {
        let server = Server::start(&arguments);
        let device = server.place.clone();
        if !device.starts_with("/dev") {
            return println!("SKIPPED {TEST}: no loop device");
        }
        if turn == 0 && or_skip(TEST, tool("mkfs.ext4", &["-q".as_ref(), device.as_os_str()])).is_none() {
            return;
        }
        tool("mount", &[&device, &mounted]).expect("it is mounted");
        if turn == 0 {
            fs::write(mounted.join("file"), "not written back yet").expect("it is written");
        } else {
            let there = fs::read_to_string(mounted.join("file")).expect("it is there");
            assert_eq!(there, "not written back yet");
        }
        server.run.signal("-INT");
        std::thread::sleep(Duration::from_millis(300));
        assert!(is_mounted(&place), "it went away under a file system");
        tool("umount", &[&mounted]).expect("it is unmounted");
        let (code, told) = server.end();
        assert_eq!(code, Some(0), "{told}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told["failed"], 0);
    }
}

/// Power cuts under a database on ext4, a moment apart.
fn sqlite_over_cuts(test: &str, cuts: u64) {
    if or_skip(test, fuse(&format!("{cuts}-cuts"))).is_none()
        || or_skip(test, tool("python3", &["-c", "import sqlite3"])).is_none()
    {
        return;
    }
    let folder = folder!(&format!("serve-{cuts}-cuts"));
    let (mounted, place) = (folder.join("mounted"), folder.join("place"));
    fs::create_dir(&mounted).expect("it is made");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sqlite_cuts.py");
    let mut command = serve(&["delay(50us) | zero", "--set", "zero.capacity=256m", "--json"]);
    command.args(["--mount", place.to_str().expect("UTF-8")]);
    for cut in 1..=cuts + 2 {
        command.args(["--power-cut", &format!("{}ms", cut * 1300)]);
    }
    let output = command.args(["--", "python3", script, "{}"]).arg(&mounted).arg(cuts.to_string()).output();
    let output = output.expect("it starts");
    let _not_mounted = tool("umount", &[&mounted]);
    assert_eq!(output.status.code(), Some(0), "{}", heard(&output));
    assert!(printed(&output).contains("power cuts: all there"), "{}", heard(&output));
}

#[test]
fn every_commit_that_was_answered_survives_power_cuts() {
    sqlite_over_cuts("every_commit_that_was_answered_survives_power_cuts", 3);
}

#[test]
#[ignore = "slow: five minutes"]
fn every_commit_that_was_answered_survives_200_power_cuts() {
    sqlite_over_cuts("every_commit_that_was_answered_survives_200_power_cuts", 200);
}
