//! What went wrong with which request?

use std::io;

/// Some requests of a group failed; all others were done.
#[derive(Debug, thiserror::Error)]
#[error("{} of {count} requests failed, the first at index {}: {}", failures.len(), failures[0].0, failures[0].1)]
pub struct ManyError {
    /// Requests in the group.
    pub count: usize,
    /// Index in the group and error, in the order of the group; never empty. A read that met the end of the file is
    /// [`io::ErrorKind::UnexpectedEof`], a write that nothing was taken of [`io::ErrorKind::WriteZero`].
    pub failures: Vec<(usize, io::Error)>,
}

impl From<ManyError> for io::Error {
    fn from(error: ManyError) -> io::Error {
        io::Error::new(error.failures[0].1.kind(), error)
    }
}

/// A backend was asked for that does not work here; [`crate::Backend::Best`] never fails so.
#[derive(Debug, thiserror::Error)]
#[error("{backend} does not work here: {why}; {remedy}, or take the backend `best`")]
pub struct BackendError {
    /// Backend that was asked for.
    pub backend: crate::Backend,
    /// Clause that says what is missing.
    pub why: &'static str,
    /// Clause that says what would help.
    pub remedy: &'static str,
    /// Error of the kernel.
    #[source]
    pub source: io::Error,
}

impl From<BackendError> for io::Error {
    fn from(error: BackendError) -> io::Error {
        io::Error::new(error.source.kind(), error)
    }
}

/// A name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {what}; choose one of {}", known.join(", "))]
pub struct UnknownName {
    /// Kind of thing that was to be named: `policy` or `backend`.
    pub what: &'static str,
    /// Name that was given.
    pub given: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}
