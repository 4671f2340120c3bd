//! So many a second, evenly: each waits until those before it have had their time.

use iostack_model::Bytes;
use iostack_sim::engine::{Kind, Time};

use super::parse::Arguments;
use super::{Layer, Verdict};
use crate::DiskRequest;

const SECOND: f64 = 1e9;

struct Rate {
    /// Time of an I/O, ns.
    io: f64,
    /// Time of a byte, ns.
    byte: f64,
    /// Moment at which the next may go, ns.
    free: f64,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    arguments.at_most(1)?;
    let rate: Bytes = arguments.read(0, "rate")?;
    if rate.0 == 0 {
        return Err(format!("`{}` lets nothing through", arguments.typed));
    }
    let time = SECOND / rate.0 as f64;
    let bytes = arguments.each[0].ends_with(|last: char| !last.is_ascii_digit());
    let (io, byte) = if bytes { (0.0, time) } else { (time, 0.0) };
    Ok(Box::new(Rate { io, byte, free: 0.0 }))
}

impl Layer for Rate {
    fn pass(&mut self, asked: &DiskRequest, now: Time) -> Verdict {
        if asked.kind == Kind::Flush {
            return Verdict::Down(0);
        }
        let begin = self.free.max(now as f64);
        self.free = begin + self.io + self.byte * asked.length as f64;
        Verdict::Down((begin - now as f64) as u64)
    }
}
