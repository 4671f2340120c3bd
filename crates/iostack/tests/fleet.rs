//! `iostack fleet` becomes the Python program, or says what is missing.

#[path = "lab/room.rs"]
mod room;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use room::Room;

/// Runs `iostack fleet` with only these lines of shell as `python3` on the PATH.
fn fleet(name: &str, python: Option<&str>, words: &[&str]) -> Output {
    let room = Room::new(name);
    if let Some(lines) = python {
        let path = room.0.join("python3");
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("a file of our own");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostack"));
    command.arg("fleet").args(words).env("PATH", &room.0).env_remove("IOSTACK_PROGRAM");
    command.output().expect("the binary was built")
}

#[test]
fn without_python_or_the_package_the_error_says_where_it_comes_from() {
    let absent = fleet("fleet-absent", None, &["check"]);
    let bare = fleet("fleet-bare", Some("echo No module named iostack >&2; exit 1"), &["check"]);
    for ended in [absent, bare] {
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains("docs/install.md") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn words_and_exit_status_pass_through_and_the_program_is_named() {
    let python = r#"[ "$1" = -c ] && exit 0; echo "$@" "$IOSTACK_PROGRAM"; exit 7"#;
    let ended = fleet("fleet-passes", Some(python), &["check", "--quick", "--help", "a b"]);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert_eq!(
        said.trim_end(),
        format!("-m iostack.fleet check --quick --help a b {}", env!("CARGO_BIN_EXE_iostack"))
    );
}

#[test]
fn its_help_is_told_without_python() {
    let ended = fleet("fleet-help", None, &["--help"]);
    assert!(ended.status.success() && String::from_utf8_lossy(&ended.stdout).contains("--scheduler ADDRESS"));
}
