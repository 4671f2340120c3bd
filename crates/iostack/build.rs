//! Which commit is this program of? `--version` names it, whoever built it.
//!
//! A packager says it (`IOSTACK_COMMIT`); a packaged crate carries it (`.cargo_vcs_info.json`); in a clone git knows. Git does not say
//! here what was changed since: that would ask for a look at every file in every build.

use std::env;
use std::path::Path;
use std::process::Command;

/// The digits that are shown.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-env-changed=IOSTACK_COMMIT");
    let commit =
        env::var("IOSTACK_COMMIT").ok().filter(|told| !told.is_empty()).or_else(packed).or_else(of_git);
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=IOSTACK_VERSION={version} (commit {commit})");
}

/// Commit that `cargo package` wrote beside the manifest.
fn packed() -> Option<String> {
    const FILE: &str = ".cargo_vcs_info.json";
    println!("cargo::rerun-if-changed={}", if Path::new(FILE).exists() { FILE } else { "build.rs" });
    let text = std::fs::read_to_string(FILE).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let dirty = if text.contains("\"dirty\": true") { "+changes" } else { "" };
    Some(rest.split('"').nth(1)?.get(..DIGITS)?.to_owned() + dirty)
}

/// Commit of the clone, if git tracks this file: a crate unpacked inside another clone is of none of its commits.
fn of_git() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD grows with each commit, checkout and reset, wherever the branch's own file is.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", &format!("--short={DIGITS}"), "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let told = Command::new("git").args(words).output().ok().filter(|told| told.status.success())?;
    Some(String::from_utf8(told.stdout).ok()?.trim().to_owned())
}
