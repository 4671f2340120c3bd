//! System calls and memory shared with the kernel: the only unsafe code of this crate.

#![expect(unsafe_code, reason = "system calls and memory shared with the kernel have no safe interface")]

pub(crate) mod command;
pub(crate) mod lanes;
pub(crate) mod perf;
pub(crate) mod system;
