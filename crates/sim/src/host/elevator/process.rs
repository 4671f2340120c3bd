//! Is it worth waiting for this process? How long it thinks between I/Os, and how far they lie apart.

use std::collections::BTreeMap;

use crate::engine::Time;

/// Observations of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habits {
    /// Mean time from a completion to its next I/O, ns, once it was seen.
    pub(super) thinks: Option<u64>,
    /// Mean distance from one I/O's end to the next one's begin, bytes.
    pub(super) strides: Option<u64>,
    /// End of its last I/O, while none is under way.
    idle_since: Option<Time>,
    /// Byte behind its last I/O.
    last: Option<u64>,
    /// I/Os in the scheduler or the drive.
    count: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Processes {
    by_owner: BTreeMap<u32, Habits>,
}

/// A mean that forgets: an eighth of what is new.
fn blend(mean: &mut Option<u64>, new: u64) {
    *mean = Some(mean.map_or(new, |mean| (mean * 7).saturating_add(new) / 8));
}

impl Processes {
    pub(super) fn habits(&self, owner: u32) -> Habits {
        self.by_owner.get(&owner).copied().unwrap_or_default()
    }

    pub(super) fn asks(&mut self, owner: u32, offset: u64, end: u64, now: Time) {
        let habits = self.by_owner.entry(owner).or_default();
        if let Some(since) = habits.idle_since.take() {
            blend(&mut habits.thinks, now - since);
        }
        if let Some(last) = habits.last.replace(end) {
            blend(&mut habits.strides, offset.abs_diff(last));
        }
        habits.count += 1;
    }

    pub(super) fn gets(&mut self, owner: u32, now: Time) {
        let habits = self.by_owner.entry(owner).or_default();
        habits.count = habits.count.saturating_sub(1);
        if habits.count == 0 {
            habits.idle_since = Some(now);
        }
    }

    /// It has nothing under way, and is likely to ask again within `wait`.
    pub(super) fn comes_back(&self, owner: u32, wait: u64) -> bool {
        let habits = self.habits(owner);
        habits.count == 0 && habits.thinks.is_none_or(|thinks| thinks < wait)
    }
}
