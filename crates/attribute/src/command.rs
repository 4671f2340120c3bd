//! A program that is followed from its first instruction to its last.
//!
//! ```text
//!   start: forked, waits ──► whoever follows attaches ──► release: exec ──► poll .. until all that it started has ended
//! ```
//!
//! Processes whose parents end become ours, so that the end of the whole tree is seen.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitStatus;
use std::thread::JoinHandle;

use crate::processes::{calls, descendants};
use crate::sys::command::{self, Reaped};
use crate::sys::system::do_not_hurry;

/// A command, its children, and theirs.
#[derive(Debug)]
pub struct Command {
    pid: u32,
    /// The program as it was typed.
    typed: String,
    /// Written to, it lets the command run; dropped before that, it lets it end.
    gate: Option<io::PipeWriter>,
    starter: Option<JoinHandle<io::Result<std::process::Child>>>,
    status: Option<ExitStatus>,
    /// Read and write calls of processes that ended; `None` when somebody's could not be read.
    calls: Option<u64>,
    calls_before: u64,
}

impl Command {
    /// Forks. The child waits before it becomes the program, so that whatever follows it can be attached.
    pub fn start(words: &[OsString]) -> io::Result<Command> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        command::adopt_orphans()?;
        let (mut number, tells) = io::pipe()?;
        let (waits, gate) = io::pipe()?;
        let mut wanted = std::process::Command::new(program);
        wanted.args(arguments);
        command::hold(&mut wanted, tells, waits, &gate);
        // It comes back when the child has become the program.
        let starter = std::thread::Builder::new().spawn(move || {
            do_not_hurry();
            wanted.spawn()
        })?;
        let mut pid = [0; 4];
        if number.read_exact(&mut pid).is_err() {
            let ended = starter.join().expect("it only starts a program");
            return Err(ended.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        }
        let pid = u32::from_ne_bytes(pid);
        let typed = program.to_string_lossy().into_owned();
        let (gate, starter) = (Some(gate), Some(starter));
        let calls_before = calls(pid).unwrap_or(0);
        Ok(Command { pid, typed, gate, starter, status: None, calls: Some(0), calls_before })
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The program as it was typed.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// Name of the program, without its folder.
    pub fn name(&self) -> &str {
        self.typed.rsplit('/').next().unwrap_or_default()
    }

    /// Lets it run; an error when there is no such program.
    pub fn release(&mut self) -> io::Result<()> {
        if let Some(mut gate) = self.gate.take() {
            gate.write_all(&[1])?;
        }
        let Some(starter) = self.starter.take() else { return Ok(()) };
        starter.join().expect("it only starts a program").map(drop)
    }

    /// True when it and all that it started have ended.
    pub fn has_ended(&mut self) -> bool {
        loop {
            let ended = match command::ended() {
                Ok(Some(pid)) => pid,
                Ok(None) => return false,
                // There is none left.
                Err(_) => return true,
            };
            self.calls = self.calls.zip(calls(ended)).map(|(all, own)| all + own);
            if let Some(Reaped { pid, status }) = command::reap(ended)
                && pid == self.pid
            {
                self.status = Some(status);
            }
        }
    }

    /// Sends a signal to it and to all that it started.
    pub fn signal(&self, signal: i32) {
        for pid in descendants(std::process::id()).into_iter().skip(1) {
            command::send(pid, signal);
        }
    }

    /// Its end, once it was seen.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Read and write calls of all of its processes so far; `None` when they may not be read.
    pub fn calls(&self) -> Option<u64> {
        let running = descendants(std::process::id()).into_iter().skip(1).filter_map(calls).sum::<u64>();
        self.calls.map(|ended| (ended + running).saturating_sub(self.calls_before))
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        drop(self.gate.take());
        // A child that was not released has ended; one that runs is not ours to end.
        if let Some(starter) = self.starter.take() {
            let _refused = starter.join();
        }
    }
}
