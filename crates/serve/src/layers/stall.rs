//! For a while nothing goes, again and again: firmware that tidies up.

use iostack_model::Nanos;
use iostack_sim::engine::Time;

use super::parse::Arguments;
use super::{Layer, Verdict};
use crate::DiskRequest;

struct Stall {
    time: u64,
    every: u64,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    arguments.at_most(2)?;
    let time: Nanos = arguments.read(0, "time")?;
    let every: Nanos = arguments.read(1, "time from one to the next")?;
    if time >= every {
        return Err(format!("`{}` never lets anything through", arguments.typed));
    }
    Ok(Box::new(Stall { time: time.0, every: every.0 }))
}

impl Layer for Stall {
    fn pass(&mut self, _asked: &DiskRequest, now: Time) -> Verdict {
        let since = now % self.every;
        Verdict::Down(if since >= self.every - self.time { self.every - since } else { 0 })
    }
}
