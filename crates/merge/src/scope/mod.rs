//! How does code wait for a request without holding a thread?

use crate::sys::{Device, Pending, Request};

/// Whether the calling code runs in a coroutine of a scope; costs a thread-local look.
#[expect(dead_code, reason = "File asks before it takes its quick path")]
pub(crate) fn is_inside() -> bool {
    false
}

/// Carries a request of the calling coroutine: others run until it is done. Gives it back where no coroutine runs.
#[expect(dead_code, reason = "File gives every call here first")]
pub(crate) fn carry(
    _device: &dyn Device,
    _file_id: u64,
    request: Request,
    _pending: &Pending<'_>,
) -> Result<(), Request> {
    Err(request)
}
