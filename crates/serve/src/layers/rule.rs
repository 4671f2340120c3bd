//! Which requests? Of a range, a direction, a share: `1g..2g, read, 1%`, each once and in any order.

use iostack_model::{Bytes, Direction};
use iostack_sim::engine::Kind;
use iostack_workload::Rng;

use super::parse::Arguments;
use crate::DiskRequest;

/// The same requests in each run.
const SEED: u64 = 1;

pub(super) struct LayerRule {
    range: std::ops::Range<u64>,
    kind: Option<Kind>,
    share: f64,
    random: Rng,
}

impl LayerRule {
    /// Reads the arguments from `first` on.
    pub(super) fn read(arguments: &Arguments<'_>, first: usize) -> Result<LayerRule, String> {
        let mut rule = LayerRule { range: 0..u64::MAX, kind: None, share: 1.0, random: Rng::from_seed(SEED) };
        for typed in arguments.each.iter().skip(first) {
            rule.word(typed).ok_or_else(|| {
                format!("`{typed}` of `{}` is no range, direction or share", arguments.typed)
            })?;
        }
        Ok(rule)
    }

    fn word(&mut self, typed: &str) -> Option<()> {
        if let Some((from, to)) = typed.split_once("..") {
            let (from, to): (Bytes, Bytes) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            self.range = from.0..to.0;
            return (from < to).then_some(());
        }
        if let Some(percent) = typed.strip_suffix('%') {
            self.share = percent.trim().parse::<f64>().ok()? / 100.0;
            return (self.share > 0.0 && self.share <= 1.0).then_some(());
        }
        self.kind = Some(match typed {
            "flush" => Kind::Flush,
            other => {
                Kind::of_direction(Direction::ALL.into_iter().find(|direction| direction.name() == other)?)
            }
        });
        Some(())
    }

    pub(super) fn holds(&mut self, asked: &DiskRequest) -> bool {
        let met = asked.offset < self.range.end && asked.end() > self.range.start;
        let whole = self.range == (0..u64::MAX);
        let kind = self.kind.is_none_or(|kind| kind == asked.kind);
        // A flush has no range.
        let hit = kind && (whole || met && asked.kind != Kind::Flush);
        hit && (self.share >= 1.0 || self.random.unit() < self.share)
    }
}
