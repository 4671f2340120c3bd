//! What needs `unsafe`: system calls, and rings shared with the kernel.

#![expect(unsafe_code, reason = "system calls and rings shared with the kernel have no safe interface")]

pub(crate) mod aio;
pub(crate) mod call;
#[cfg(test)]
mod memory_file;
pub(crate) mod uring;
