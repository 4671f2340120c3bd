//! Which pages are still in the blocks with one bit a cell?
//!
//! Each die has a log of them: writes go to its end, folding takes from its beginning and moves what is still valid to the
//! other blocks. They are blocks of their own, besides the capacity and its over-provisioning. On drives that use free blocks in this
//! way (`slc.least`) how much of the log writes may fill follows what is free; nothing is taken from the other blocks for it.

use super::buffer::NONE;
use super::spec::{Shrinks, SlcSpec, Spec};
use crate::index::Index;

/// A ring of pages.
#[derive(Clone, Debug, Default)]
struct Log {
    first: u32,
    count: u32,
}

/// Logs of all dies.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    per_die: u32,
    shrinks: Option<Shrinks>,
    logs: Vec<Log>,
    /// Logical page at each place, or none.
    pages: Vec<u32>,
    stamps: Vec<u32>,
    index: Index,
}

impl Slc {
    pub(super) fn new(spec: &Spec, slc: SlcSpec) -> Slc {
        let dies = spec.layout.channel.len();
        let pages = dies * slc.pages_per_die as usize;
        Slc {
            per_die: slc.pages_per_die,
            shrinks: slc.shrinks,
            logs: vec![Log::default(); dies],
            pages: vec![0; pages],
            stamps: vec![0; if spec.ftl.stamps { pages } else { 0 }],
            index: Index::default(),
        }
    }

    /// Pages that are valid.
    pub(super) fn valid(&self) -> u64 {
        self.index.len() as u64
    }

    /// Pages that are in use.
    pub(super) fn used(&self) -> u32 {
        self.logs.iter().map(|log| log.count).sum()
    }

    #[inline]
    pub(super) fn find(&self, lpn: u32) -> Option<u32> {
        if self.index.is_empty() { None } else { self.index.get(lpn) }
    }

    #[inline]
    pub(super) fn die_of(&self, place: u32) -> u32 {
        place / self.per_die
    }

    pub(super) fn stamp(&self, place: u32) -> u32 {
        self.stamps.get(place as usize).copied().unwrap_or(0)
    }

    /// Pages that the die's log can still take, on a drive of which so many other pages hold data.
    pub(super) fn room(&self, die: u32, mapped: u64) -> u32 {
        let limit = match self.shrinks {
            Some(shrinks) => shrinks.limit(self.per_die, mapped + self.valid()),
            None => self.per_die,
        };
        limit.saturating_sub(self.logs[die as usize].count)
    }

    fn place(&self, die: u32, at: u32) -> u32 {
        let log = &self.logs[die as usize];
        die * self.per_die + (log.first + at) % self.per_die
    }

    /// A page is written to the end of a die's log.
    pub(super) fn write(&mut self, die: u32, lpn: u32, stamp: u32) {
        assert!(self.logs[die as usize].count < self.per_die, "the log of die {die} is full");
        self.forget(lpn);
        let place = self.place(die, self.logs[die as usize].count);
        self.logs[die as usize].count += 1;
        self.pages[place as usize] = lpn;
        if let Some(kept) = self.stamps.get_mut(place as usize) {
            *kept = stamp;
        }
        self.index.set(lpn, place);
    }

    /// The page is elsewhere now, or nowhere.
    pub(super) fn forget(&mut self, lpn: u32) {
        if let Some(place) = self.find(lpn) {
            self.index.remove(lpn, place);
            self.pages[place as usize] = NONE;
        }
    }

    /// The page at a place of a die's log, counted from its beginning; `None` when it is valid no longer.
    pub(super) fn page(&self, die: u32, at: u32) -> Option<(u32, u32)> {
        let place = self.place(die, at);
        let lpn = self.pages[place as usize];
        (lpn != NONE).then_some((lpn, place))
    }

    /// Pages in a die's log.
    pub(super) fn count(&self, die: u32) -> u32 {
        self.logs[die as usize].count
    }

    /// The first pages of a die's log are folded and erased.
    pub(super) fn release(&mut self, die: u32, count: u32) {
        let log = &mut self.logs[die as usize];
        log.first = (log.first + count) % self.per_die;
        log.count -= count;
    }
}
