//! Why a program's cost cannot be counted.

use std::io;
use std::path::PathBuf;

/// Reason why a program's cost cannot be counted, and remedy.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The stepping engine knows only one instruction set.
    #[error(
        "counting by single-stepping works on x86-64 Linux only, and this is {0}; use `perf stat -e \
         instructions:u` and divide by the program's own I/O count"
    )]
    Architecture(&'static str),
    /// The program to step is not a 64-bit one.
    #[error("`{0}` runs 32-bit code; only 64-bit programs can be counted, so use a 64-bit build of it")]
    Not64Bit(String),
    /// A command without words.
    #[error("no command was given; write it behind `--`, as in `iostack cost -- fio job.fio`")]
    NoCommand,
    /// The command did not start.
    #[error("cannot start `{command}`: is it installed, and spelt as you would type it in a shell?")]
    NotStarted {
        /// The command as it was typed.
        command: String,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The command was over before anything could be measured.
    #[error(
        "`{command}` ended ({status}) before it could be measured; let it run longer, or wait less with \
         --after{output}"
    )]
    EndedEarly {
        /// The command as it was typed.
        command: String,
        /// Exit status in words.
        status: String,
        /// The end of what it printed, with a heading; empty when it printed nothing.
        output: String,
    },
    /// No such process.
    #[error("there is no process {0}; look it up with `pgrep -l NAME`")]
    NoProcess(u32),
    /// The kernel does not let us trace it.
    #[error("may not trace process {pid} (thread {tid}): {reason}")]
    Refused {
        /// The number of the process.
        pid: i32,
        /// The number of the thread.
        tid: i32,
        /// Reason and remedy.
        reason: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The program did nothing that can be counted as an I/O.
    #[error(
        "`{subject}` did no I/O that can be counted in {instructions} instructions of its busiest threads \
         (its system calls: {calls}). Counted are read, write and their p, v and 64 forms on files and block \
         devices, io_submit and io_uring; a program that reads through mmap or polls a device from user space \
         makes no calls to count. If it does I/O rarely, raise --instructions; if it was still starting, raise \
         --after{output}"
    )]
    NoIo {
        /// The command or process.
        subject: String,
        /// The number of instructions watched.
        instructions: u64,
        /// Calls that it made instead, commonest first.
        calls: String,
        /// The end of what it printed, with a heading; empty when it printed nothing.
        output: String,
    },
    /// It still writes although its job reads.
    #[error(
        "`{subject}` only writes ({calls}), although its job reads: it still lays out its file. Let it do so first \
         (fio: run it once with --create_only=1), or raise --patience"
    )]
    LaysOut {
        /// The command or process.
        subject: String,
        /// Calls that it made.
        calls: String,
    },
    /// The thread never ran.
    #[error(
        "no thread of `{0}` used any CPU time; is it waiting for input or for its first I/O? Raise --after"
    )]
    Idle(String),
    /// The user ended it.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// A file of the kernel or of the user failed.
    #[error("cannot {act} `{path}`")]
    File {
        /// Act that failed, in words.
        act: &'static str,
        /// The file it was tried on.
        path: PathBuf,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// A tracing call failed in the middle.
    #[error("tracing thread {tid} failed at: {act}")]
    Trace {
        /// The number of the thread.
        tid: i32,
        /// Act that failed, in words.
        act: &'static str,
        /// The error the operating system gave.
        source: io::Error,
    },
}
