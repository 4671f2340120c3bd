//! Which kernel interfaces may this process use, before anything is measured?

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use iostack_host::Held;
use iostack_ring::{Context, Ring, RingOptions};

/// A ring can be made: the kernel has `io_uring` and neither sysctl nor seccomp forbids it.
pub fn io_uring_usable() -> bool {
    Ring::new(RingOptions { entries: 1, ..RingOptions::default() }).is_ok()
}

/// A context can be made: the kernel has libaio's calls and `aio-max-nr` is not used up.
pub fn libaio_usable() -> bool {
    Context::new(1).is_ok()
}

/// The file can be opened with `O_DIRECT`.
pub fn supports_direct(file: &Held) -> bool {
    file.reopen(OpenOptions::new().read(true).custom_flags(libc::O_DIRECT)).is_ok()
}
