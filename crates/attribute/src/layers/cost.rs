//! What does one sample cost?
//!
//! A fixed amount of work, some hundred system calls that look up a path, is timed with and without a sampling event on
//! the thread that does it, in turns. The fastest of each kind is compared: whatever else disturbs a turn makes it
//! slower and never faster. The difference over the number of samples that came is the cost of one: its interrupt, the
//! walk through the stack, the record, and what the caches and the hypervisor take for it.

use std::path::Path;
use std::time::Instant;

use iostack_model::Nanos;

use crate::sys::perf::{Event, Source, Watched};

const TURNS: usize = 8;
/// Look-ups in a turn: about half a millisecond.
const LOOK_UPS: usize = 300;
/// Fast, so that a turn holds several samples.
const RATE_HZ: u32 = 20_000;

/// Time of one sample; `None` when no sample came.
pub(crate) fn of_one_sample(source: Source) -> Option<Nanos> {
    let mut plain = u64::MAX;
    let mut sampled: Option<(u64, u64)> = None;
    for _ in 0..TURNS {
        plain = plain.min(work());
        let event = Event::sampling(source, Watched::Thread(0), RATE_HZ, 0).ok()?;
        let mut ring = event.ring(8).ok()?;
        let time = work();
        let mut came = 0;
        ring.drain(|_, _, _| came += 1);
        if came > 0 && sampled.is_none_or(|(fastest, _)| time < fastest) {
            sampled = Some((time, came));
        }
    }
    let (time, came) = sampled?;
    Some(Nanos(time.saturating_sub(plain) / came))
}

fn work() -> u64 {
    let begun = Instant::now();
    for _ in 0..LOOK_UPS {
        // Whether it exists does not matter.
        let _found = std::hint::black_box(Path::new("/proc/self/status")).symlink_metadata();
    }
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
