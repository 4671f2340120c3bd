//! What can go wrong in the lab.

use std::io;
use std::path::{Path, PathBuf};

/// Reason why the lab could not do something.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Mistake of the user's: an option that is none, or a wrong combination.
    #[error("{0}")]
    Asked(String),
    /// Program, package, module, room or right that this machine or the kernel lacks.
    #[error("{0}")]
    Lacks(String),
    /// Failed access to a file.
    #[error("cannot {act} `{}`", path.display())]
    File {
        /// Act that failed, a verb.
        act: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Failure in the guest.
    #[error("{what}{}", log_lines(.log))]
    Guest {
        /// Sentence that says what happened.
        what: String,
        /// Last lines of the guest's log.
        log: String,
    },
    /// Snapshot of a machine that cannot be begun with.
    #[error("{0}")]
    Snapshot(String),
    /// Damage in the plugin's file.
    #[error("the plugin's counts cannot be read")]
    Counts(#[from] crate::counts::CountsError),
    /// Stop by the user.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Closure for `map_err` that names act and file.
    pub(crate) fn file(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
        let path = path.to_owned();
        move |source| LabError::File { act, path, source }
    }
}

/// Fails where it does not hold.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> LabError) -> Result<(), LabError> {
    if holds { Ok(()) } else { Err(why()) }
}

fn log_lines(log: &str) -> String {
    if log.trim().is_empty() {
        return "; its log is empty".to_owned();
    }
    let lines: Vec<String> = log.lines().map(|line| format!("  | {line}")).collect();
    format!("; the last lines of its log:\n{}", lines.join("\n"))
}
