//! What needs `unsafe`.

#![expect(
    unsafe_code,
    reason = "system calls, the marks and the port to the near side have no safe interface"
)]

pub(crate) mod guest;
pub(crate) mod host;
