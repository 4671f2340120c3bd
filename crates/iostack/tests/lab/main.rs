//! Does the lab do what it says, and do our drivers keep what they are given? Each test boots a machine, one at a time.
//!
//! What the lab fetches stays in the user's cache. Where it cannot be had, the tests skip aloud.

mod costs;
mod drivers;
mod errors;
mod left_behind;
mod stages;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A directory of one test, removed at its end.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the target directory is ours");
        Room(path)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("a new folder");
        path
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostack"));
    command.args(arguments);
    command
}

fn iostack(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary was built")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit 2, and stderr names every one of `words`.
fn refused(output: &Output, words: &[&str]) {
    let talk = said(output);
    assert_eq!(output.status.code(), Some(2), "{talk}");
    for word in words {
        assert!(talk.contains(word), "`{word}` is missing in: {talk}");
    }
}

/// The right to boot: held by one test at a time, also of other runs of the tests in the same folder.
struct Turn {
    _lock: File,
}

impl Turn {
    fn wait() -> Turn {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab.lock");
        let lock =
            File::options().create(true).append(true).open(path).expect("the target directory is ours");
        lock.lock().expect("a lock on a file of ours");
        Turn { _lock: lock }
    }
}

/// A turn on this kernel, or why the lab cannot be had here. A fault of the lab's own is no reason to skip.
fn turn(kernel: &'static str) -> Result<Turn, String> {
    static FIRST: OnceLock<Result<(), String>> = OnceLock::new();
    static SECOND: OnceLock<Result<(), String>> = OnceLock::new();
    let turn = Turn::wait();
    let known = if kernel == "6.1" { &FIRST } else { &SECOND };
    known.get_or_init(|| had(kernel)).clone().map(|()| turn)
}

fn had(kernel: &str) -> Result<(), String> {
    let output = iostack(&["lab", "up", "--quiet", "--kernel", kernel]);
    if output.status.success() {
        return Ok(());
    }
    let talk = said(&output);
    let excuses = ["is not installed here", "no package `", "apt-get", "MiB free"];
    let forgiven = excuses.iter().any(|excuse| talk.contains(excuse));
    assert!(forgiven, "`lab up` failed: {talk}");
    Err(talk.lines().next().unwrap_or_default().to_owned())
}

/// A turn, or the end of the test with the reason.
macro_rules! turn_or_skip {
    ($test:literal, $kernel:literal) => {
        match crate::turn($kernel) {
            Ok(turn) => turn,
            Err(why) => return println!("SKIPPED {}: {why}", $test),
        }
    };
}
use turn_or_skip;
