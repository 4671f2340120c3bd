//! Programs of the host, with errors that say what they said.

use std::io;
use std::process::{Command, Output, Stdio};

use crate::LabError;

/// Lines of a failed program that are shown.
const LINES_SHOWN: usize = 12;

/// Runs a program to its end; gives what it wrote to stdout. `act` completes "cannot ...".
pub fn output(command: &mut Command, act: &str, remedy: &str) -> Result<String, LabError> {
    ended(command, act)?.map_err(|all| failed(command, act, &last_lines(&all, LINES_SHOWN), remedy))
}

/// Runs a program to its end; gives what it wrote to stdout, or everything that it wrote when it failed.
pub fn ended(command: &mut Command, act: &str) -> Result<Result<String, String>, LabError> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(|source| not_started(command, act, &source))?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(Ok(text));
    }
    Ok(Err(format!("{text}{}", String::from_utf8_lossy(&stderr))))
}

fn failed(command: &Command, act: &str, said: &str, remedy: &str) -> LabError {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let typed = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let said = if said.is_empty() { String::new() } else { format!(":\n{said}") };
    LabError::Lacks(format!("cannot {act}: `{typed}` failed{said}{remedy}"))
}

/// Error for a program that is not there, and what to do.
pub(super) fn missing(act: &str, program: &str, remedy: &str) -> LabError {
    LabError::Lacks(format!("cannot {act}: `{program}` is not installed here; {remedy}"))
}

pub(super) fn not_started(command: &Command, act: &str, source: &io::Error) -> LabError {
    let program = command.get_program().to_string_lossy();
    if source.kind() == io::ErrorKind::NotFound {
        return missing(act, &program, remedy(&program));
    }
    failed(command, act, &source.to_string(), "")
}

fn remedy(program: &str) -> &'static str {
    match program {
        "apt-get" | "apt-cache" | "dpkg-deb" => {
            "packages are fetched with Debian's tools: use a Debian or Ubuntu machine, or install QEMU yourself and name \
             a kernel with --kernel PATH"
        }
        "make" | "cc" => "on Debian: apt install make gcc",
        _ => "install it and try again",
    }
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
