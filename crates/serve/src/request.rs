//! What does a program ask of the disk?

use iostack_sim::engine::Kind;

/// Request to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// Read, write, trim or flush.
    pub kind: Kind,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub length: u64,
}

impl DiskRequest {
    /// First byte behind it.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Place of its kind in counts, as [`iostack_model::Direction`] counts; a flush is the fourth.
    pub(crate) fn place(&self) -> usize {
        match self.kind {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Trim => 2,
            Kind::Flush | Kind::Compute => 3,
        }
    }
}

/// Error of a request, as the kernel numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// Told when the request is through.
pub type Reply = Box<dyn FnOnce(Result<(), Errno>) + Send>;
