//! I/Os between marks.
//!
//! They jump about, and each touches a block that none before it touched, as long as the region ([`region`](super::region)) has any; then a direct I/O
//! begins anew, since it finds no page in a cache. What a cache or a read-ahead could add or save is then the same for all.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use iostack_model::Direction;

use super::near_side::failed;
use super::region::{ALIGNMENT, filled};
use super::{Measure, Ready, Way};
use crate::sys::guest::{self as sys, GuestQueue};

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
    let (way, batch) = (measure.way, u64::from(measure.way.batch));
    let blocks = region / measure.block_bytes;
    let needed = u64::from(WARM + measure.ios + measure.traced) * batch;
    if measure.buffered && !way.cached && needed > blocks {
        return Err(format!(
            "{needed} buffered I/Os of {} bytes do not fit into the region; ask for fewer with --ios",
            measure.block_bytes
        ));
    }
    let block = measure.block_bytes as usize;
    let mut memory = vec![0x5A; block * batch as usize + ALIGNMENT];
    let first = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[first..first + block * batch as usize];
    let queue = GuestQueue::open(way, write, file.as_raw_fd(), block, buffer);
    let queue = queue.map_err(|source| format!("the guest's kernel gives no {way}: {source}"))?;
    let mut way = MeasuredFile { file: file.as_raw_fd(), write, buffer, way, queue };
    // An odd step visits each of 2^n blocks once.
    let offset = |number: u64| (number * 1547 + 13) % blocks * measure.block_bytes;
    let offsets = |number: u32| -> Vec<u64> {
        (0..batch).map(|place| offset(u64::from(number) * batch + place)).collect()
    };
    let mut ticks = Vec::with_capacity(measure.ios as usize);
    for number in 0..WARM {
        one(&mut way, &offsets(number))?;
    }
    sys::mark_count();
    for number in WARM..WARM + measure.ios {
        ticks.push(one(&mut way, &offsets(number))?);
    }
    sys::mark_trace();
    for number in WARM + measure.ios..WARM + measure.ios + measure.traced {
        one(&mut way, &offsets(number))?;
    }
    sys::mark_dump();
    Ok(ticks)
}

struct MeasuredFile<'a> {
    file: RawFd,
    write: bool,
    buffer: &'a mut [u8],
    way: Way,
    queue: Option<GuestQueue>,
}

impl MeasuredFile<'_> {
    /// Prepares what is not counted.
    fn prepare(&mut self, offsets: &[u64]) {
        if self.way.cached || self.way.flush {
            sys::transfer(self.write, self.file, self.buffer, offsets[0]);
        }
        if let Some(queue) = self.queue.as_mut().filter(|_| self.way.reap) {
            queue.submit(offsets);
        }
    }

    /// The part that counts; bytes, or a negative error. Nothing is told yet where a thread of the kernel goes on.
    #[inline]
    fn counted(&mut self, offsets: &[u64]) -> Option<i64> {
        let bytes = self.buffer.len() as u64;
        match &mut self.queue {
            None if self.way.flush => Some(sys::write_back(self.file, offsets[0], bytes)),
            None => Some(sys::transfer(self.write, self.file, self.buffer, offsets[0])),
            Some(queue) => {
                if !self.way.reap {
                    queue.submit(offsets);
                }
                if self.way.submit_poll { None } else { Some(queue.wait(offsets.len())) }
            }
        }
    }
}

/// One I/O, or one batch, between marks; its time-stamp difference.
#[inline(never)]
fn one(way: &mut MeasuredFile<'_>, offsets: &[u64]) -> Result<u64, String> {
    way.prepare(offsets);
    sys::mark_begin();
    let begun = sys::ticks();
    let told = way.counted(offsets);
    let ended = sys::ticks();
    sys::mark_end();
    let waited = |queue: &mut GuestQueue| queue.wait(offsets.len());
    let told = told.or_else(|| way.queue.as_mut().map(waited)).expect("it was told, or there is a queue");
    let asked = way.buffer.len();
    if u64::try_from(told).is_ok_and(|told| told == asked as u64) {
        return Ok(ended - begun);
    }
    let error = std::io::Error::from_raw_os_error(if told < 0 { -told as i32 } else { 0 });
    Err(format!("an I/O at byte {} gave {told} instead of {asked} ({error})", offsets[0]))
}
