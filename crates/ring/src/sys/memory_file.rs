//! What do the tests read and write? A file in memory, gone with its descriptor.

use std::fs::File;
use std::os::fd::FromRawFd;

pub(crate) const BLOCK: usize = 512;
/// What the kernel tells of a whole block.
pub(crate) const WHOLE: i32 = 512;

/// A file of so many blocks, each full of its number.
pub(crate) fn numbered(blocks: u8) -> File {
    use std::io::Write;
    // SAFETY: the name is a constant that ends with a zero byte.
    let descriptor = unsafe { libc::memfd_create(c"ring".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just made this descriptor for us alone.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    for number in 0..blocks {
        file.write_all(&[number; BLOCK]).expect("there is memory");
    }
    file
}
