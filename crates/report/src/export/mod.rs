//! What do programs read that use measurements already?
//!
//! One format a file, each a pure function to text. What a format has no word for is said beside it, never left out in
//! silence. Start reading at [`Exported`].

#![expect(
    clippy::format_push_string,
    reason = "a file is made once; `write!` would return an error that cannot happen"
)]

mod fio_job;
mod iocost;
mod measured;
mod mqsim;
mod seastar;

#[cfg(test)]
mod tests;

pub use fio_job::{FioLoad, fio_job};
pub use iocost::iocost;
pub use mqsim::{mqsim, mqsim_workload};
pub use seastar::seastar;

/// Text of a format, and what it could not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Text for a file.
    pub text: String,
    /// Sentences on what the format cannot say, or what was not measured.
    pub unsaid: Vec<String>,
}
