//! So much later, for all or for some.

use iostack_model::Nanos;
use iostack_sim::engine::Time;

use super::parse::Arguments;
use super::rule::LayerRule;
use super::{Layer, Verdict};
use crate::DiskRequest;

struct Delay {
    time: u64,
    rule: LayerRule,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    let time: Nanos = arguments.read(0, "time")?;
    Ok(Box::new(Delay { time: time.0, rule: LayerRule::read(arguments, 1)? }))
}

impl Layer for Delay {
    fn pass(&mut self, asked: &DiskRequest, _now: Time) -> Verdict {
        Verdict::Down(if self.rule.holds(asked) { self.time } else { 0 })
    }
}
