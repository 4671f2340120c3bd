//! Where in the guest's memory do both sides write?

/// Address of the mailbox in the guest's memory: above the kernel, below what it is told of its files.
pub(crate) const ADDRESS: u64 = 0x0C00_0000;
/// Bytes of the mailbox.
pub(crate) const BYTES: u64 = 65536;
/// Address of what the guest is to do next, behind the mailbox: eight bytes for how long it is, then so many.
pub(crate) const ORDER: u64 = ADDRESS + BYTES;
