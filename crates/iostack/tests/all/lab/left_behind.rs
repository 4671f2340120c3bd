//! Whatever ends a run, no machine runs on and no folder stays.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shared::{Room, Started, command, names, refused, said};
use crate::turn::turn_or_skip;

/// Emulators whose command line names this folder for temporary files.
fn machines_of(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let texts = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    let name = folder.display().to_string();
    texts.filter(|text| text.contains("qemu") && text.contains(&name)).collect()
}

fn nothing_left(folder: &Path) {
    assert_eq!(machines_of(folder), Vec::<String>::new());
    assert_eq!(names(folder), Vec::<String>::new());
}

fn within(patience: Duration, holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// Booted, and busy for long.
fn busy(folder: &Path) -> Started {
    let mut run = command(&["lab", "test", "scsi_ram", "--emulate", "--bytes", "1t", "--trial", "integrity"]);
    let run = Started::by(run.env("TMPDIR", folder).stdout(Stdio::null()).stderr(Stdio::null()));
    assert!(within(Duration::from_mins(1), || !machines_of(folder).is_empty()), "no machine was started");
    run
}

#[test]
fn a_guest_over_its_time_is_ended() {
    let _turn = turn_or_skip!("a_guest_over_its_time_is_ended", "6.1");
    let room = Room::new("limit");
    let asked = ["lab", "test", "scsi_ram", "--emulate", "--bytes", "1t", "--time-limit", "3", "--quiet"];
    let output = command(&asked).env("TMPDIR", &room.0).output().expect("the binary was built");
    refused(&output, &["did not go on for 3 s", "--time-limit"]);
    nothing_left(&room.0);
}

#[test]
fn after_ctrl_c_nothing_is_left() {
    let _turn = turn_or_skip!("after_ctrl_c_nothing_is_left", "6.1");
    let room = Room::new("interrupted");
    let mut run = busy(&room.0);
    run.signal("-INT");
    let status = run.0.wait().expect("our child");
    assert_eq!(status.code(), Some(2));
    nothing_left(&room.0);
}

#[test]
fn a_killed_run_takes_its_machine_with_it() {
    let _turn = turn_or_skip!("a_killed_run_takes_its_machine_with_it", "6.1");
    let room = Room::new("killed");
    let mut run = busy(&room.0);
    run.signal("-KILL");
    run.0.wait().expect("our child");
    assert!(within(Duration::from_secs(10), || machines_of(&room.0).is_empty()), "the machine runs on");
}

#[test]
fn a_cache_without_room_is_refused_and_stays_empty() {
    let room = Room::new("full");
    let name = "a_cache_without_room_is_refused_and_stays_empty";
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&room.0).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED {name}: a file system may not be mounted here");
    }
    let asked = ["lab", "up", "--quiet"];
    let output = command(&asked).env("IOSTACK_CACHE", &room.0).output().expect("the binary was built");
    let kept: Vec<_> = walk(&room.0);
    let unmounted = Command::new("umount").arg(&room.0).status();
    assert!(unmounted.expect("mount was there").success());
    refused(&output, &[]);
    let talk = said(&output);
    if talk.contains("is not installed here") || talk.contains("no package `") {
        return println!("SKIPPED {name}: {}", talk.trim());
    }
    refused(&output, &["MiB free", "IOSTACK_CACHE"]);
    assert!(kept.iter().all(|path| path.ends_with("lock")), "{kept:?}");
}

fn walk(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => walk(&path),
        path => vec![path.display().to_string()],
    });
    files.collect()
}
