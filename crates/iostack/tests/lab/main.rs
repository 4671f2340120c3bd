//! Does the lab do what it says, and do our drivers keep what they are given? Each test boots a machine, one at a time.
//!
//! What the lab fetches stays in the user's cache. Where it cannot be had, the tests skip aloud.

mod anyones;
mod bisect;
mod checks;
mod costs;
mod drivers;
mod errors;
mod kernels;
mod left_behind;
mod programs;
mod room;
mod schema;
mod simulated;
mod stages;
mod started;
mod turn;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use room::Room;
use turn::turn_or_skip;

impl Room {
    fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("a new folder");
        path
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
