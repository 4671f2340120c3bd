//! Reads of what went by lately are answered at once. Writes go through, and are found afterwards.

use std::collections::{BTreeMap, HashMap};

use iostack_model::{Bytes, Nanos};
use iostack_sim::engine::{Kind, Time};

use super::parse::Arguments;
use super::{Layer, Verdict};
use crate::DiskRequest;

const BLOCK: u64 = 4096;

/// The least recently used goes first.
struct CacheLayer {
    room: usize,
    hit: u64,
    /// Block to when it was used.
    used: HashMap<u64, u64>,
    /// Block by the turn in which it was used.
    order: BTreeMap<u64, u64>,
    turn: u64,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    arguments.at_most(2)?;
    let size: Bytes = arguments.read(0, "size")?;
    let hit = if arguments.each.len() > 1 { arguments.read(1, "time")? } else { Nanos(0) };
    let room = (size.0 / BLOCK) as usize;
    if room == 0 {
        return Err(format!("`{}` has no room for a block of 4 KiB", arguments.typed));
    }
    Ok(Box::new(CacheLayer { room, hit: hit.0, used: HashMap::new(), order: BTreeMap::new(), turn: 0 }))
}

impl CacheLayer {
    fn use_block(&mut self, block: u64) {
        self.turn += 1;
        if let Some(before) = self.used.insert(block, self.turn) {
            self.order.remove(&before);
        }
        self.order.insert(self.turn, block);
        if self.used.len() > self.room
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.used.remove(&oldest);
        }
    }

    fn forget(&mut self, block: u64) {
        if let Some(turn) = self.used.remove(&block) {
            self.order.remove(&turn);
        }
    }
}

impl Layer for CacheLayer {
    fn pass(&mut self, asked: &DiskRequest, _now: Time) -> Verdict {
        let blocks = asked.offset / BLOCK..asked.end().div_ceil(BLOCK);
        match asked.kind {
            Kind::Trim => {
                // A trim may be of more blocks than there are here.
                let gone: Vec<u64> =
                    self.used.keys().copied().filter(|block| blocks.contains(block)).collect();
                for block in gone {
                    self.forget(block);
                }
                Verdict::Down(0)
            }
            Kind::Read | Kind::Write => {
                let all = blocks.clone().all(|block| self.used.contains_key(&block));
                blocks.for_each(|block| self.use_block(block));
                let hit = asked.kind == Kind::Read && all;
                if hit { Verdict::Through(self.hit) } else { Verdict::Down(0) }
            }
            Kind::Flush | Kind::Compute => Verdict::Down(0),
        }
    }
}
