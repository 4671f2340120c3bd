//! What does a program say?

use std::ffi::OsStr;
use std::fmt::Display;
use std::process::Command;

/// Runs a program: what it printed, or what it said when it failed.
pub fn tool<T: AsRef<OsStr>>(name: &str, arguments: &[T]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|error| format!("{name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{name}: {}", text(&output.stderr)))
    }
}

/// Gives what a test asked for; `None`, said aloud, where it is not to be had.
pub fn or_skip<T>(test: &str, asked: Result<T, impl Display>) -> Option<T> {
    asked.inspect_err(|why| println!("SKIPPED {test}: {why:#}")).ok()
}
