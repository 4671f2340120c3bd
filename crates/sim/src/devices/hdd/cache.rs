//! What does the disk still have of what it read, and what has it not written yet?

use std::collections::{BTreeMap, VecDeque};

use crate::engine::Time;

/// Streams of what was read, the one used last first. Each keeps the last sectors of one run.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    runs: VecDeque<(u64, u64)>,
    count: usize,
    /// Sectors that each stream holds.
    size: u64,
}

impl Segments {
    pub(super) fn new(count: usize, size: u64) -> Segments {
        Segments { runs: VecDeque::new(), count, size }
    }

    /// True when it has all of `first..last`; that stream is then the one used last.
    pub(super) fn has(&mut self, first: u64, last: u64) -> bool {
        let found = self.runs.iter().position(|&(from, to)| from <= first && last <= to);
        found.inspect(|&index| self.use_last(index)).is_some()
    }

    /// `first..last` was read: goes on with the stream that it continues, or takes the place of the one unused longest.
    pub(super) fn read(&mut self, first: u64, last: u64) {
        if self.size == 0 {
            return;
        }
        if let Some(index) = self.runs.iter().position(|&(from, to)| (from..=to).contains(&first)) {
            self.use_last(index);
        } else {
            self.runs.truncate(self.count - 1);
            self.runs.push_front((first, first));
        }
        self.extend(last);
    }

    /// The stream used last goes on to `last`.
    fn extend(&mut self, last: u64) {
        if let Some((from, to)) = self.runs.front_mut() {
            *to = last.max(*to);
            *from = (*from).max(to.saturating_sub(self.size));
        }
    }

    fn use_last(&mut self, index: usize) {
        let run = self.runs.remove(index).expect("it was found there");
        self.runs.push_front(run);
    }
}

/// A run of sectors that only the write cache has.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirtyRun {
    pub(super) count: u64,
    pub(super) since: Time,
    /// Runs are numbered as they come.
    pub(super) number: u64,
}

/// Writes that were acknowledged and are not on the platter.
#[derive(Clone, Debug, Default)]
pub(super) struct Dirty {
    runs: BTreeMap<u64, DirtyRun>,
    /// The number of the next run.
    pub(super) next: u64,
}

impl Dirty {
    /// Takes a run; how many sectors of what was reserved for it are not needed, since it has them already.
    pub(super) fn insert(&mut self, first: u64, count: u64, now: Time) -> u64 {
        let run = self.runs.entry(first).or_insert(DirtyRun { count: 0, since: now, number: self.next });
        self.next += 1;
        let spare = run.count.min(count);
        run.count = run.count.max(count);
        spare
    }

    pub(super) fn remove(&mut self, first: u64) -> DirtyRun {
        self.runs.remove(&first).expect("it was just found")
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// True when it has all of `first..last`.
    pub(super) fn has(&self, mut first: u64, last: u64) -> bool {
        while first < last {
            let found = self.runs.range(..=first).next_back();
            match found.map(|(from, run)| from + run.count) {
                Some(to) if to > first => first = to,
                _ => return false,
            }
        }
        true
    }

    /// The next `limit` runs from `position` on, then from the beginning again.
    pub(super) fn sweep(&self, position: u64, limit: usize) -> impl Iterator<Item = (u64, DirtyRun)> {
        let after = self.runs.range(position..).chain(self.runs.range(..position));
        after.map(|(&first, &run)| (first, run)).take(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_keeps_its_last_sectors_and_the_oldest_stream_goes() {
        let mut cache = Segments::new(2, 100);
        cache.read(0, 60);
        cache.read(60, 130);
        assert!(cache.has(30, 130) && !cache.has(29, 130));
        cache.read(1000, 1010);
        assert!(cache.has(30, 130));
        cache.read(2000, 2010);
        assert!(!cache.has(1000, 1010) && cache.has(30, 130));
    }

    #[test]
    fn dirty_runs_answer_together_and_are_swept_in_order() {
        let mut dirty = Dirty::default();
        assert_eq!([dirty.insert(8, 8, 1), dirty.insert(16, 8, 2), dirty.insert(8, 8, 3)], [0, 0, 8]);
        assert!(dirty.has(8, 24) && dirty.has(10, 20) && !dirty.has(8, 25) && !dirty.has(7, 9));
        dirty.insert(100, 8, 4);
        let order: Vec<_> = dirty.sweep(16, 3).map(|(first, run)| (first, run.since)).collect();
        assert_eq!(order, [(16, 2), (100, 4), (8, 1)]);
        assert_eq!(dirty.remove(8).since, 1);
    }
}
