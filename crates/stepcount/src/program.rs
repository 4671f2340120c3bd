//! The program under test: start it, show what it printed, end it with all its children.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostack_host::{dies_with_us, memory_file};

use super::error::StepError;
use super::{sys, threads};

/// Time that the command has to end by itself after SIGTERM, which lets it remove its files.
const GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);
/// Lines of the command's output shown when it fails.
const LINES_SHOWN: usize = 12;

/// A command started by us, in its own process group. Ended, with all its descendants, when dropped.
pub(crate) struct Program {
    child: Child,
    output: File,
    words: String,
}

impl Program {
    /// Starts the command; what it prints goes to `output`, or to a nameless file.
    pub(crate) fn start(words: &[OsString], output: Option<&Path>) -> Result<Self, StepError> {
        let (name, arguments) = words.split_first().ok_or(StepError::NoCommand)?;
        let shown = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let place = output.unwrap_or(Path::new("the command's output"));
        let failed = |act, source| StepError::File { act, path: place.to_owned(), source };
        let file = match output {
            Some(path) => File::options().read(true).write(true).create_new(true).open(path),
            None => memory_file(c"iostack-cost-output"),
        };
        let file = file.map_err(|source| failed("make the file", source))?;
        let copy = || file.try_clone().map(Stdio::from).map_err(|source| failed("share the file", source));
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(copy()?).stderr(copy()?).process_group(0);
        dies_with_us(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Program { child, output: file, words: shown }),
            Err(source) => {
                Err(StepError::NotStarted { command: name.to_string_lossy().into_owned(), source })
            }
        }
    }

    /// The command as it was typed.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// Process id of the command itself.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are positive ints")
    }

    /// Lets the command run for `warm_up`; an error when it ends within.
    pub(crate) fn warm_up(&mut self, warm_up: Duration, stop: &AtomicBool) -> Result<(), StepError> {
        let until = Instant::now() + warm_up;
        loop {
            self.must_live()?;
            if stop.load(Ordering::Relaxed) {
                return Err(StepError::Interrupted);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    /// An error when the command has ended.
    pub(crate) fn must_live(&mut self) -> Result<(), StepError> {
        // A wait that fails means that the tracer saw the end first.
        let status = match self.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Err(_) => "while it was watched".to_owned(),
        };
        Err(StepError::EndedEarly { command: self.words.clone(), status, output: self.output_end() })
    }

    /// The last lines that the command printed, under a heading; empty when there are none.
    pub(crate) fn output_end(&mut self) -> String {
        let mut bytes = Vec::new();
        let length = self.output.seek(SeekFrom::End(0)).unwrap_or(0);
        let _ = self.output.seek(SeekFrom::Start(length.saturating_sub(16 << 10)));
        let _ = self.output.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return String::new();
        }
        let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        format!(". The end of its output:\n  {}", last.join("\n  "))
    }
}

impl Drop for Program {
    /// SIGTERM to the whole family, then SIGKILL to those that stay. The family is found by parent links, because
    /// children may have left the process group (fio's do).
    fn drop(&mut self) {
        let pid = self.pid();
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            // Its own id is free again by now; the group's is not while a member lives.
            sys::kill(-pid, libc::SIGKILL);
            return;
        }
        let mut family = threads::family(pid);
        for process in &family {
            sys::kill(process.pid, libc::SIGTERM);
        }
        wait_for_end(&family);
        family.extend(threads::family(pid));
        for &process in family.iter().filter(|&&process| threads::lives(process)) {
            sys::kill(process.pid, libc::SIGKILL);
        }
        wait_for_end(&family);
        let _ = self.child.wait();
    }
}

/// Waits until all these processes have ended, at most [`GRACE`].
fn wait_for_end(family: &[threads::Process]) {
    let until = Instant::now() + GRACE;
    while Instant::now() < until && family.iter().any(|&process| threads::lives(process)) {
        std::thread::sleep(POLL);
    }
}
