//! What does the controller remember?
//!
//! ```text
//!   written ──► dirty runs, oldest first ──► in flight to the members ──► clean pages ◄── read
//! ```
//!
//! A write over dirty bytes replaces them. Two writes of the same bytes are never in flight together, since the members
//! might do the second first.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes that no member has yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedRun {
    pub(super) first: u64,
    pub(super) end: u64,
    /// Runs are numbered as they come; what is left of a run keeps its number.
    pub(super) number: u64,
    pub(super) stamp: u32,
}

/// A stretch of a read, and who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) place: Holder,
}

/// Holder of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The cache, with this stamp.
    Dirty(u32),
    /// The cache, as the members have it.
    Clean,
    /// Only the members.
    Member,
}

/// The controller's memory.
#[derive(Clone, Debug, Default)]
pub(super) struct RaidCache {
    /// Bytes it holds.
    size: u64,
    /// Bytes of a clean page.
    page: u64,
    keeps_clean: bool,
    /// Bytes promised, dirty, or in flight.
    pub(super) used: u64,
    /// Number of the next run.
    pub(super) next: u64,
    dirty: BTreeMap<u64, CachedRun>,
    /// Number and first byte.
    order: BTreeSet<(u64, u64)>,
    /// The runs and how many of their requests are with the members.
    flights: Vec<Option<(Vec<CachedRun>, usize)>>,
    /// Clean pages and when they were used; the same by use.
    clean: BTreeMap<u64, u64>,
    ages: BTreeMap<u64, u64>,
    tick: u64,
}

impl RaidCache {
    /// A cache of `size` bytes; with `keeps_clean` it keeps pages that members have, too.
    pub(super) fn new(size: u64, page: u64, keeps_clean: bool) -> RaidCache {
        RaidCache { size, page, keeps_clean, ..RaidCache::default() }
    }

    /// Takes room for a write, if there is; a write larger than all has room when nothing else is there.
    pub(super) fn reserve(&mut self, length: u64) -> bool {
        if self.used > 0 && self.used + length > self.size {
            return false;
        }
        self.used += length;
        self.shrink();
        true
    }

    /// A write for which there is room.
    pub(super) fn write(&mut self, first: u64, end: u64, stamp: u32) {
        self.forget(first, end);
        self.insert(CachedRun { first, end, number: self.next, stamp });
        self.next += 1;
    }

    fn insert(&mut self, run: CachedRun) {
        self.order.insert((run.number, run.first));
        self.dirty.insert(run.first, run);
    }

    /// These bytes are no longer what they were: neither dirty nor clean.
    pub(super) fn forget(&mut self, first: u64, end: u64) {
        self.used -= self.detach(first, end).iter().map(|run| run.end - run.first).sum::<u64>();
        let pages: Vec<u64> =
            self.clean.range(first / self.page..end.div_ceil(self.page)).map(|(&page, _)| page).collect();
        for page in pages {
            self.drop_page(page);
        }
    }

    /// Takes what is dirty of these bytes out.
    fn detach(&mut self, first: u64, end: u64) -> Vec<CachedRun> {
        let before =
            self.dirty.range(..first).next_back().filter(|(_, run)| run.end > first).map(|(&at, _)| at);
        let within: Vec<u64> = self.dirty.range(first..end).map(|(&at, _)| at).collect();
        let mut runs = Vec::new();
        for at in before.into_iter().chain(within) {
            let run = self.dirty.remove(&at).expect("it was just found");
            self.order.remove(&(run.number, run.first));
            if run.first < first {
                self.insert(CachedRun { end: first, ..run });
            }
            if run.end > end {
                self.insert(CachedRun { first: end, ..run });
            }
            runs.push(CachedRun { first: run.first.max(first), end: run.end.min(end), ..run });
        }
        runs
    }

    /// The oldest run that may go to the members, and the number of its flight. With `row`, all that is dirty of the first of
    /// its rows of so many bytes goes with it, and none goes to a row in flight.
    pub(super) fn take_off(&mut self, at_most: usize, row: Option<u64>) -> Option<(usize, Vec<CachedRun>)> {
        let slot = match self.flights.iter().position(Option::is_none) {
            Some(slot) => slot,
            None if self.flights.len() < at_most => {
                self.flights.push(None);
                self.flights.len() - 1
            }
            None => return None,
        };
        let range = |first: u64| match row {
            Some(row) => (first / row * row, (first / row + 1) * row),
            None => (first, self.dirty[&first].end),
        };
        let mut ranges = self.order.iter().map(|&(_, first)| range(first));
        let (first, end) = ranges.find(|&(first, end)| !self.flies(first, end))?;
        let runs = self.detach(first, end);
        self.flights[slot] = Some((runs.clone(), 0));
        Some((slot, runs))
    }

    /// So many requests of the flight are with the members.
    pub(super) fn departed(&mut self, slot: usize, requests: usize) {
        self.flights[slot].as_mut().expect("it took off").1 = requests;
    }

    /// One of the flight's requests is back. True when it was the last.
    pub(super) fn landed(&mut self, slot: usize) -> bool {
        let left = &mut self.flights[slot].as_mut().expect("it took off").1;
        *left -= 1;
        if *left > 0 {
            return false;
        }
        for run in self.flights[slot].take().expect("it took off").0 {
            self.used -= run.end - run.first;
            self.remember(run.first, run.end);
        }
        true
    }

    /// Runs in flight.
    fn flying(&self) -> impl Iterator<Item = &CachedRun> {
        self.flights.iter().flatten().flat_map(|(runs, _)| runs)
    }

    /// True when some of these bytes are in flight.
    pub(super) fn flies(&self, first: u64, end: u64) -> bool {
        self.flying().any(|run| run.first < end && first < run.end)
    }

    /// True when a run with a number below this is not with the members.
    pub(super) fn holds_below(&self, number: u64) -> bool {
        let oldest = self.order.first().is_some_and(|&(oldest, _)| oldest < number);
        oldest || self.flying().any(|run| run.number < number)
    }

    /// The members' bytes passed through: whole pages of them stay.
    pub(super) fn remember(&mut self, first: u64, end: u64) {
        if !self.keeps_clean {
            return;
        }
        for page in first.div_ceil(self.page)..end / self.page {
            self.touch(page);
        }
        self.shrink();
    }

    fn touch(&mut self, page: u64) {
        self.tick += 1;
        if let Some(old) = self.clean.insert(page, self.tick) {
            self.ages.remove(&old);
        }
        self.ages.insert(self.tick, page);
    }

    fn drop_page(&mut self, page: u64) {
        let age = self.clean.remove(&page).expect("it was just found");
        self.ages.remove(&age);
    }

    /// Clean pages give way, those unused longest first.
    fn shrink(&mut self) {
        let pages = self.size.saturating_sub(self.used) / self.page;
        while self.clean.len() as u64 > pages
            && let Some((_, &page)) = self.ages.first_key_value()
        {
            self.drop_page(page);
        }
    }

    /// Holders of these bytes, piece by piece.
    pub(super) fn pieces(&mut self, first: u64, end: u64) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = first;
        while at < end {
            let (mut to, place) = match self.run_with(at) {
                Some((to, stamp)) => (to, Holder::Dirty(stamp)),
                None if self.clean.contains_key(&(at / self.page)) => {
                    self.touch(at / self.page);
                    ((at / self.page + 1) * self.page, Holder::Clean)
                }
                None => (
                    self.clean.range(at / self.page..).next().map_or(end, |(page, _)| page * self.page),
                    Holder::Member,
                ),
            };
            to = to.min(end).min(self.run_after(at));
            match pieces.last_mut() {
                Some(last) if last.place == place => last.end = to,
                _ => pieces.push(Piece { first: at, end: to, place }),
            }
            at = to;
        }
        pieces
    }

    /// End and stamp of the run that has this byte; the newest counts.
    fn run_with(&self, at: u64) -> Option<(u64, u32)> {
        let dirty = self.dirty.range(..=at).next_back().map(|(_, run)| run);
        let mut runs = dirty.into_iter().chain(self.flying());
        runs.find(|run| run.first <= at && at < run.end).map(|run| (run.end, run.stamp))
    }

    /// Begin of the next run.
    fn run_after(&self, at: u64) -> u64 {
        let dirty = self.dirty.range(at + 1..).next().map(|(&first, _)| first);
        let flying = self.flying().map(|run| run.first).filter(|&first| first > at);
        dirty.into_iter().chain(flying).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(size: u64) -> RaidCache {
        RaidCache::new(size, 4, true)
    }

    fn write(cache: &mut RaidCache, first: u64, end: u64, stamp: u32) -> bool {
        let room = cache.reserve(end - first);
        if room {
            cache.write(first, end, stamp);
        }
        room
    }

    fn places(cache: &mut RaidCache, first: u64, end: u64) -> Vec<(u64, Holder)> {
        cache.pieces(first, end).iter().map(|piece| (piece.end, piece.place)).collect()
    }

    #[test]
    fn a_write_replaces_what_it_covers_and_leaves_the_rest() {
        let mut cache = cache(100);
        write(&mut cache, 10, 30, 1);
        write(&mut cache, 15, 20, 2);
        let expected = [
            (10, Holder::Member),
            (15, Holder::Dirty(1)),
            (20, Holder::Dirty(2)),
            (30, Holder::Dirty(1)),
            (32, Holder::Member),
        ];
        assert_eq!(places(&mut cache, 8, 32), expected);
        assert_eq!(cache.used, 20);
    }

    #[test]
    fn bytes_in_flight_are_read_from_the_cache_and_written_again_only_after_they_landed() {
        let mut cache = cache(100);
        write(&mut cache, 0, 8, 1);
        let (slot, runs) = cache.take_off(2, None).expect("a run");
        cache.departed(slot, 2);
        assert_eq!((runs[0].first, runs[0].end), (0, 8));
        write(&mut cache, 4, 8, 2);
        assert_eq!(places(&mut cache, 0, 8), [(4, Holder::Dirty(1)), (8, Holder::Dirty(2))]);
        assert_eq!(cache.take_off(2, None), None);
        assert!(cache.holds_below(1) && !cache.landed(slot) && cache.landed(slot));
        assert!(!cache.holds_below(1) && cache.holds_below(2));
        assert_eq!(places(&mut cache, 0, 8), [(4, Holder::Clean), (8, Holder::Dirty(2))]);
        assert!(cache.take_off(2, None).is_some());
    }

    #[test]
    fn clean_pages_give_way_to_writes_and_to_pages_used_later() {
        let mut cache = cache(16);
        cache.remember(0, 16);
        places(&mut cache, 0, 4);
        write(&mut cache, 100, 108, 1);
        assert_eq!(
            places(&mut cache, 0, 16),
            [(4, Holder::Clean), (12, Holder::Member), (16, Holder::Clean)]
        );
        assert!(!write(&mut cache, 200, 210, 1));
    }

    #[test]
    fn a_write_larger_than_the_cache_has_it_to_itself() {
        let mut cache = cache(16);
        assert!(write(&mut cache, 0, 64, 1) && !write(&mut cache, 100, 101, 2));
        let (slot, _) = cache.take_off(1, None).expect("a run");
        cache.departed(slot, 1);
        assert!(cache.landed(slot) && write(&mut cache, 100, 101, 2));
    }
    #[test]
    fn all_that_is_dirty_of_a_row_goes_together_and_what_comes_later_waits() {
        let mut cache = cache(100);
        write(&mut cache, 8, 24, 1);
        write(&mut cache, 0, 4, 2);
        let spans = |runs: Vec<CachedRun>| runs.iter().map(|run| (run.first, run.end)).collect::<Vec<_>>();
        let (slot, runs) = cache.take_off(2, Some(16)).expect("a row");
        assert_eq!(spans(runs), [(0, 4), (8, 16)]);
        cache.departed(slot, 1);
        write(&mut cache, 4, 8, 3);
        assert_eq!(cache.take_off(2, Some(16)).map(|(_, runs)| spans(runs)), Some(vec![(16, 24)]));
        assert!(cache.landed(slot));
        assert_eq!(
            (cache.used, cache.take_off(2, Some(16)).map(|(_, runs)| spans(runs))),
            (12, Some(vec![(4, 8)]))
        );
    }
}
