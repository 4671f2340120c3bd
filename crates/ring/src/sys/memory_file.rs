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

/// What the kernel makes; `None`, said aloud, where it is not permitted or not known.
pub(crate) fn permitted<T>(test: &str, made: std::io::Result<T>) -> Option<T> {
    match made {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)) => {
            println!("SKIPPED {test}: {error}");
            None
        }
        made => Some(made.expect("the kernel makes rings and contexts")),
    }
}
