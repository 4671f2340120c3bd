//! What needs `unsafe`: memory that the kernel, or another thread, writes while its owner waits.

#![expect(unsafe_code, reason = "buffers in flight, rings, futexes and stacks have no safe interface")]

mod capi;
mod coroutine;
mod lane;
mod pread;
mod request;
mod simulated;
mod tally;

pub use coroutine::Scope;
pub(crate) use coroutine::{Coroutine, Debt, NoUnwinding, Stack, Start, Task, is_inside, scoped, suspend};
pub(crate) use lane::{Device, Finished, Lane};
pub(crate) use pread::Pread;
pub(crate) use request::{Op, Pending, Request, lend_read, lend_write};
pub use simulated::Simulated;
