//! I/Os between marks.
//!
//! They jump about, and each touches a block that none before it touched, as long as the region ([`region`](super::region)) has any; then a direct I/O
//! begins anew, since it finds no page in a cache. What a cache or a read-ahead could add or save is then the same for all.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use io_uring::IoUring;
use iostack_model::Direction;

use super::near_side::failed;
use super::region::{ALIGNMENT, filled};
use super::{Measure, Ready};
use crate::sys::guest as sys;

/// I/Os before the first that counts: caches of the allocators fill.
const WARM: u32 = 64;

/// Does the measure; the time-stamp differences of its counted I/Os.
pub(super) fn count(measure: &Measure, ready: &Ready) -> Result<Vec<u64>, String> {
    let path = &ready.path;
    let region = filled(measure, ready)?;
    let write = measure.direction == Direction::Write;
    let flags = if measure.buffered { 0 } else { libc::O_DIRECT };
    let file = File::options().read(true).write(write).custom_flags(flags).open(path);
    let file = file.map_err(failed("open", path))?;
    if measure.buffered {
        // Clean pages can be dropped; with "random" no read brings its neighbours.
        sys::advise_random(&file).map_err(failed("drop the cache of", path))?;
    }
    let blocks = region / measure.block_bytes;
    let needed = u64::from(WARM + measure.ios + measure.traced);
    if measure.buffered && needed > blocks {
        return Err(format!(
            "{needed} buffered I/Os of {} bytes do not fit into the region; ask for fewer with --ios",
            measure.block_bytes
        ));
    }
    let mut memory = vec![0x5A; measure.block_bytes as usize + ALIGNMENT];
    let first = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[first..first + measure.block_bytes as usize];
    let ring = measure.ring.then(|| IoUring::new(4)).transpose();
    let ring = ring.map_err(|source| format!("the guest's kernel gives no io_uring: {source}"))?;
    let mut way = MeasuredFile { file: file.as_raw_fd(), write, buffer, ring };
    // An odd step visits each of 2^n blocks once.
    let offset = |number: u32| (u64::from(number) * 1547 + 13) % blocks * measure.block_bytes;
    let mut ticks = Vec::with_capacity(measure.ios as usize);
    for number in 0..WARM {
        one(&mut way, offset(number))?;
    }
    sys::mark_count();
    for number in WARM..WARM + measure.ios {
        ticks.push(one(&mut way, offset(number))?);
    }
    sys::mark_trace();
    for number in WARM + measure.ios..WARM + measure.ios + measure.traced {
        one(&mut way, offset(number))?;
    }
    sys::mark_dump();
    Ok(ticks)
}

struct MeasuredFile<'a> {
    file: RawFd,
    write: bool,
    buffer: &'a mut [u8],
    ring: Option<IoUring>,
}

/// One I/O between marks; its time-stamp difference.
#[inline(never)]
fn one(way: &mut MeasuredFile<'_>, offset: u64) -> Result<u64, String> {
    sys::mark_begin();
    let begun = sys::ticks();
    let told = match &mut way.ring {
        None => sys::transfer(way.write, way.file, way.buffer, offset),
        Some(ring) => sys::transfer_by_ring(ring, way.write, way.file, way.buffer, offset),
    };
    let ended = sys::ticks();
    sys::mark_end();
    let asked = way.buffer.len();
    if u64::try_from(told).is_ok_and(|told| told == asked as u64) {
        return Ok(ended - begun);
    }
    let error = std::io::Error::from_raw_os_error(if told < 0 { -told as i32 } else { 0 });
    Err(format!("an I/O at byte {offset} gave {told} instead of {asked} ({error})"))
}
