//! One thing that must change: where, what is wrong, what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that must change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// File, relative to the root of the repository.
    pub(crate) file: PathBuf,
    /// Line from 1.
    pub(crate) line: usize,
    /// Fault that was found.
    pub(crate) wrong: String,
    /// Remedy for it.
    pub(crate) remedy: String,
}

impl Finding {
    /// `wrong` at `file:line`; `remedy` puts it right.
    pub(crate) fn new(file: &Path, line: usize, wrong: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { file: file.to_owned(), line, wrong: wrong.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.file.display(), self.line, self.wrong, self.remedy)
    }
}
