//! What needs `unsafe`: memory that the kernel, or another thread, writes while its owner waits.

#![expect(unsafe_code, reason = "buffers in flight, rings, futexes and stacks have no safe interface")]

mod aio;
mod capi;
mod choose;
mod clock;
mod coroutine;
mod fork;
mod futex;
mod idle;
mod lane;
#[cfg(all(test, not(miri)))]
mod lane_tests;
mod owned;
mod pread;
mod request;
mod scope;
mod signals;
mod simulated;
mod slots;
mod tmerge;
mod uring;

pub(crate) use choose::device;
pub(crate) use clock::process_cpu_ns;
pub use coroutine::Scope;
pub(crate) use coroutine::{Coroutine, Debt, NoUnwinding, Stack, Start, Task, is_inside, scoped, suspend};
pub(crate) use fork::generation;
pub(crate) use futex::Futex;
pub(crate) use lane::{Device, Finished, Lane};
pub use owned::StableBuffer;
pub(crate) use owned::{Owned, Revocable};
#[cfg(test)]
pub(crate) use pread::called;
pub(crate) use pread::{Pread, by_itself};
#[cfg(all(test, not(miri)))]
use request::lend_raw_read;
pub(crate) use request::{Loans, Op, Pending, Request, end_or, lend_read, lend_write};
pub use scope::scope;
pub(crate) use signals::block_signals;
pub use simulated::Simulated;
pub(crate) use slots::Slots;
