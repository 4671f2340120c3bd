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
