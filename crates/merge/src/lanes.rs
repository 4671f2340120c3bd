//! Which lane does this thread take?
//!
//! One of its own, that nobody else touches. What is expensive of a lane, an `io_uring`, is kept by the thread and lent to one
//! lane after another (`sys/uring.rs`), for whichever file: a program with a thousand files and ten threads has ten rings. So a
//! lane is cheap to take, holds its file open only while it lives, and who takes one while another is in use has a second.
//!
//! A forked child finds none of its parent's rings: it makes its own.

use std::io;

use crate::sys::{Device, Lane};

/// Requests that a lane is asked to have room for, at most; it may have less.
const DEPTH_MAX: usize = 256;

/// Gives `work` a lane with room for `depth` requests, in the calling thread. What is left in flight is waited for.
pub(crate) fn with_lane<T>(
    device: &dyn Device,
    depth: usize,
    work: impl FnOnce(&mut dyn Lane) -> T,
) -> io::Result<T> {
    let mut lane = device.lane(depth.clamp(1, DEPTH_MAX))?;
    Ok(work(&mut *lane))
}
