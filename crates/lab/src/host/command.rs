//! Programs of the host, with errors that say what they said.

use std::io;
use std::process::{Command, Output, Stdio};

use crate::LabError;

/// Lines of a failed program that are shown.
const LINES_SHOWN: usize = 12;

/// Runs a program to its end; what it wrote to stdout. `act` completes "cannot ...".
pub fn output(command: &mut Command, act: &str, remedy: &'static str) -> Result<String, LabError> {
    ended(command, act)?.map_err(|all| {
        let said = last_lines(&all, LINES_SHOWN);
        LabError::Command { act: act.to_owned(), command: typed(command), said, remedy }
    })
}

/// The same; when the program fails, everything that it wrote.
pub fn ended(command: &mut Command, act: &str) -> Result<Result<String, String>, LabError> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(|source| not_started(command, act, &source))?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(Ok(text));
    }
    Ok(Err(format!("{text}{}", String::from_utf8_lossy(&stderr))))
}

fn not_started(command: &Command, act: &str, source: &io::Error) -> LabError {
    let program = command.get_program().to_string_lossy().into_owned();
    if source.kind() == io::ErrorKind::NotFound {
        let remedy = remedy(&program);
        return LabError::Program { act: act.to_owned(), program, remedy };
    }
    LabError::Command { act: act.to_owned(), command: typed(command), said: source.to_string(), remedy: "" }
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

fn typed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
