//! `iostack fleet` becomes the Python program, or says what is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::shared::{IOSTACK, Room, command, printed, refused, said};

/// Runs `iostack fleet` with only these lines of shell as `python3` on the PATH.
fn fleet(name: &str, python: Option<&str>, words: &[&str]) -> Output {
    let room = Room::new(name);
    if let Some(lines) = python {
        let path = room.file("python3", format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let mut command = command(&[&["fleet"], words].concat());
    command.env("PATH", &room.0).env_remove("IOSTACK_PROGRAM").output().expect("the binary was built")
}

#[test]
fn without_python_or_the_package_the_error_says_where_it_comes_from() {
    let absent = fleet("fleet-absent", None, &["check"]);
    let bare = fleet("fleet-bare", Some("echo No module named iostack >&2; exit 1"), &["check"]);
    for ended in [absent, bare] {
        refused(&ended, &["docs/install.md"]);
        assert_eq!(said(&ended).lines().count(), 1);
    }
}

#[test]
fn words_and_exit_status_pass_through_and_the_program_is_named() {
    let python = r#"[ "$1" = -c ] && exit 0; echo "$@" "$IOSTACK_PROGRAM"; exit 7"#;
    let ended = fleet("fleet-passes", Some(python), &["check", "--quick", "--help", "a b"]);
    let said = printed(&ended);
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert_eq!(said.trim_end(), format!("-m iostack.fleet check --quick --help a b {IOSTACK}"));
}

#[test]
fn its_help_is_told_without_python() {
    let ended = fleet("fleet-help", None, &["--help"]);
    assert!(ended.status.success() && printed(&ended).contains("--scheduler ADDRESS"));
}
