//! Can requests travel together?
//!
//! ```text
//!   read_exact_at ─┐                                ┌─► Lane ─► io_uring, libaio, pread,
//!   read_many ─────┼─► Request ─► policy: alone, ───┤          tmerge's extended command,
//!   read_at_async ─┤   (linear)   or with others    └─► ...     a simulated device
//!   scope ─────────┘      ▲                               │
//!                         └───────── result ◄─────────────┘
//! ```
//!
//! A [`File`] reads and writes at offsets, like the standard library's. What differs is that requests which meet in time, from a
//! group, from threads, from coroutines or futures, may go to the device as one batch: one system call, one sleep, one command.
//!
//! Memory is sound by construction: whoever lends a buffer to a request waits until the request is completed or takes an owned
//! buffer for it; a request cannot be copied, and one that is dropped completes with an error (`sys/request.rs`).
//!
//! Start reading at [`File`], then `sys/request.rs`, then `policy/mod.rs`.

mod buffer;
mod count;
mod error;
mod file;
mod future;
mod gather;
mod lanes;
mod many;
mod options;
mod place;
mod policy;
mod scope;
mod sys;

pub use buffer::Buffer;
pub use count::Stats;
pub use error::{BackendError, ManyError, UnknownName};
pub use file::File;
pub use future::{Transfer, block_on, join_all};
pub use options::{Backend, Options, Policy};
pub use policy::Advice;
pub use scope::{JoinHandle, Scope, ScopeOptions, yield_now};
pub use sys::{Simulated, StableBuffer, scope};

/// The guide's code, which must build.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/merge-library.md")]
struct Guide;
