//! Which of these I/Os lies next on the drive, and which is the oldest?

use std::collections::BTreeMap;

use super::QueuedIo;
use crate::engine::Time;

/// I/Os by place and by age.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    by_place: BTreeMap<(u64, u64), QueuedIo>,
    /// Offsets by number.
    by_age: BTreeMap<u64, u64>,
}

impl Sorted {
    pub(super) fn add(&mut self, entry: QueuedIo) {
        self.by_place.insert((entry.offset, entry.number), entry);
        self.by_age.insert(entry.number, entry.offset);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// The one at this byte or the next above it.
    pub(super) fn from(&self, place: u64) -> Option<QueuedIo> {
        self.by_place.range((place, 0)..).next().map(|(_, entry)| *entry)
    }

    /// The same; from the lowest again when there is none above.
    pub(super) fn around(&self, place: u64) -> Option<QueuedIo> {
        self.from(place).or_else(|| self.by_place.values().next().copied())
    }

    pub(super) fn oldest(&self) -> Option<QueuedIo> {
        let (&number, &offset) = self.by_age.iter().next()?;
        Some(self.by_place[&(offset, number)])
    }

    /// The oldest, if it has waited longer than this.
    pub(super) fn expired(&self, now: Time, wait: u64) -> Option<QueuedIo> {
        self.oldest().filter(|entry| now - entry.since >= wait)
    }

    /// The first of this process, by age.
    pub(super) fn oldest_of(&self, owner: u32) -> Option<QueuedIo> {
        let all = self.by_age.iter().map(|(&number, &offset)| self.by_place[&(offset, number)]);
        all.into_iter().find(|entry| entry.owner == owner)
    }

    pub(super) fn remove(&mut self, entry: &QueuedIo) {
        self.by_place.remove(&(entry.offset, entry.number));
        self.by_age.remove(&entry.number);
    }
}
