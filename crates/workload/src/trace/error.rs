//! Where is a trace wrong, and what can be done about it?

/// A line of a trace that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {what}; {remedy}")]
pub struct TraceError {
    /// The name that the trace was opened with.
    pub path: String,
    /// Number of the line, from 1; 0 of the file as a whole.
    pub line: u64,
    /// Text that stands there and what is wrong with it.
    pub what: String,
    /// Remedy, as the end of a sentence.
    pub remedy: String,
}

impl TraceError {
    /// A problem of which nobody knows yet where it stands; [`TraceError::at`] says it.
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> TraceError {
        TraceError { path: String::new(), line: 0, what: what.into(), remedy: remedy.into() }
    }

    /// A line that only the user can put right.
    pub(super) fn line(what: impl Into<String>) -> TraceError {
        TraceError::new(what, "correct or remove the line")
    }

    pub(super) fn at(self, path: &str, line: u64) -> TraceError {
        TraceError { path: path.to_owned(), line, ..self }
    }
}

/// A text as it is shown in an error: short, and without anything that a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push_str("..");
    }
    short
}
