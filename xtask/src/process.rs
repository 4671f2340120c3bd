//! Running other programs, and finding out whether they are there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Path of a program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&path_with_sbin())
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// The search path with `sbin`, where `mkfs` and `losetup` live, which a user's path leaves out on Debian.
pub(crate) fn path_with_sbin() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// The cargo that runs us, so that one toolchain does everything.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Words behind `rustup run nightly`, at the root of the repository.
pub(crate) fn nightly(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).args(words).current_dir(root);
    // What the cargo that runs us says of itself is not true of that one.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "CARGO_MANIFEST_DIR"] {
        command.env_remove(name);
    }
    command
}

/// Runs to the end with output caught and nothing to read.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(std::process::Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", shown(command)))
}

/// Runs a command that shows its own progress.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// True for a command that is there and succeeds; its words are nobody's.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}

/// The packages that `cargo metadata` lists.
pub(crate) fn packages(root: &Path, words: &[&str]) -> Result<Vec<Value>> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]).args(words).current_dir(root);
    let metadata: Value = serde_json::from_str(&text(&mut command)?).context("cargo metadata is not JSON")?;
    Ok(metadata["packages"].as_array().context("cargo metadata lists no packages")?.clone())
}

/// Standard output of a command that must succeed.
pub(crate) fn text(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    ensure!(
        output.status.success(),
        "{} failed ({}): {}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed something else than text", shown(command)))
}

/// Both streams of a command as text.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The command as one would type it, without the folder of the program.
pub(crate) fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words = command.get_args().map(OsStr::to_string_lossy);
    std::iter::once(name.into()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_a_missing_one_is_not() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let error = text(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).expect_err("exit 3");
        let message = format!("{error:#}");
        assert!(message.contains("sh -c") && message.contains("why"), "{message}");
    }
}
