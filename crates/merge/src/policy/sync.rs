//! What does the queue stand on? `tests/loom.rs` puts loom's in its place.

pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use std::thread::yield_now as pause;

pub(crate) use crate::sys::Futex;
