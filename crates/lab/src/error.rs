//! What can go wrong in the lab.

use std::io;
use std::path::{Path, PathBuf};

/// Why the lab could not do it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The user's: no such device.
    #[error(
        "`{typed}` is no device of the lab; choose from {known}; a folder with a driver's source has a slash: ./{typed}"
    )]
    UnknownDevice {
        /// What was typed.
        typed: String,
        /// The names there are.
        known: String,
    },
    /// The user's: an option that is none, or a wrong combination.
    #[error("{0}")]
    Asked(String),
    /// The guest runs this very program, and so its machine is this program's.
    #[error(
        "the lab emulates an x86-64 machine and runs this program in it, and this is a program for {0}; use \
         the x86-64 build on an x86-64 machine"
    )]
    Architecture(&'static str),
    /// A program that is needed is not there.
    #[error("cannot {act}: `{program}` is not installed here; {remedy}")]
    Program {
        /// What was tried.
        act: String,
        /// Its name.
        program: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A program failed.
    #[error("cannot {act}: `{command}` failed{}{remedy}", words(.said))]
    Command {
        /// What was tried.
        act: String,
        /// The command line.
        command: String,
        /// The last lines it wrote.
        said: String,
        /// What to do, with its own `; ` in front; may be empty.
        remedy: &'static str,
    },
    /// No such package.
    #[error("no package `{wanted}` in this machine's package lists (or no network to fetch them); {remedy}")]
    Package {
        /// Its name or prefix.
        wanted: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file could not be had.
    #[error("cannot {act} `{}`", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Too little room.
    #[error(
        "`{}` has {free_mib} MiB free, and the lab needs {needed_mib} MiB there; make room, or name another folder in IOSTACK_CACHE",
        path.display()
    )]
    Space {
        /// The cache.
        path: PathBuf,
        /// Free there.
        free_mib: u64,
        /// Needed.
        needed_mib: u64,
    },
    /// A folder that others can write to.
    #[error(
        "`{}` is not private ({why}), and what lies there is executed; name a folder of your own in \
         IOSTACK_CACHE, or remove what others may have written and close it to them (chmod 700)",
        path.display()
    )]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// Who could write to it.
        why: String,
    },
    /// A folder that is no kernel.
    #[error("`{}` holds no kernel that the lab could boot: {missing}", path.display())]
    NoKernel {
        /// The folder.
        path: PathBuf,
        /// What was looked for.
        missing: String,
    },
    /// The kernel lacks a driver.
    #[error("kernel {release} has no module `{module}`; choose another --kernel or another device")]
    NoModule {
        /// Its name.
        module: String,
        /// The kernel.
        release: String,
    },
    /// Something happened in the guest.
    #[error("{what}{}", log_lines(.log))]
    Guest {
        /// What happened.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// The plugin's file is damaged.
    #[error("the plugin's counts cannot be read")]
    Counts(#[from] crate::counts::CountsError),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// For `map_err`.
    pub(crate) fn file(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
        let path = path.to_owned();
        move |source| LabError::File { act, path, source }
    }
}

fn words(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(":\n{text}") }
}

fn log_lines(log: &str) -> String {
    if log.trim().is_empty() {
        return "; its log is empty".to_owned();
    }
    let lines: Vec<String> = log.lines().map(|line| format!("  | {line}")).collect();
    format!("; the last lines of its log:\n{}", lines.join("\n"))
}
