//! How does a request reach the kernel without a call each?
//!
//! ```text
//!   Ring      io_uring   push, push, .. ─► enter ─► reap      one call sends all, and waits
//!   Context   libaio     submit ─► wait ─► reap               two calls; none for completions that are there
//!   call      what is left: one call, without libc's bookkeeping
//! ```
//!
//! Both belong to one thread. Who makes requests keeps their memory until the completions: that is the whole contract,
//! and why what sends them is `unsafe`.

mod sys;

pub use sys::aio::{Context, ControlBlock};
pub use sys::call::{call, told};
pub use sys::uring::{PRIORITY_SHIFT, Request, Ring, RingOptions, WRITE, head_word};
