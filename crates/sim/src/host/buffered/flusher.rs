//! Who writes dirty pages, when, and in which pieces? One thread of the kernel for each space.
//!
//! It begins when more than the background share is dirty, and every 30 s for what is as old; it goes through the file in
//! order, or takes pages as they became dirty. On each commit the metadata of what was written go to the journal.

use std::collections::VecDeque;

use super::issue::{FLUSH, Io};
use super::{Buffered, PAGE};
use crate::engine::{Kind, Sim, Time};
use crate::host::filesystem::WriteOrder;
use crate::host::layer::Layer;

/// Dirty pages are written after this long, as `vm.dirty_expire_centisecs` says.
const EXPIRE: Time = 30_000_000_000;

/// Largest piece of a record in the journal.
const RECORD_MOST: u64 = 128 << 10;

/// A thread that writes pages back.
#[derive(Clone, Debug, Default)]
pub(super) struct Flusher {
    /// Its number among the host's threads.
    pub(super) thread: u32,
    computes: bool,
    in_flight: u32,
    /// Page where it goes on.
    cursor: u32,
    extent: Option<(u32, u32)>,
    /// Pages to write whatever the share of dirty ones.
    sweep: usize,
    /// Pages in the order in which they became dirty.
    pub(super) order: VecDeque<u32>,
    /// Something was written since the last commit; how much of it had no place before.
    pub(super) has_changes: bool,
    pub(super) new_bytes: u64,
    /// Since when pages are dirty.
    dirty_since: Option<Time>,
    is_timed: bool,
    /// Next byte in the journal.
    journal: u64,
    metadata: u64,
}

impl Buffered {
    /// A call has made pages dirty: the flusher may have work, and the commit has a time.
    pub(super) fn kick(&mut self, space: u32, sim: &mut Sim) {
        let (now, commit) = (sim.now(), self.fs.commit);
        let flusher = &mut self.flushers[space as usize];
        flusher.dirty_since.get_or_insert(now);
        if !std::mem::replace(&mut flusher.is_timed, true) {
            sim.wake_at(now + commit, space);
        }
        self.flush_more(space, sim);
    }

    /// Callers have changed: the flushers go on under their new numbers.
    pub(super) fn restart(&mut self, sim: &mut Sim) {
        for space in 0..self.flushers.len() {
            let flusher = &self.flushers[space];
            if flusher.computes || flusher.in_flight > 0 {
                self.work.add(Layer::PageCache, 1.0);
                self.compute(flusher.thread, super::issue::IDLE, 1.0, sim);
            }
        }
    }

    /// Goes on when there is something to write and few enough are under way.
    fn flush_more(&mut self, space: u32, sim: &mut Sim) {
        let over = self.cache.dirty() > self.config.background || self.is_over_limit();
        let flusher = &self.flushers[space as usize];
        if flusher.computes || flusher.in_flight >= self.config.depth || !over && flusher.sweep == 0 {
            return;
        }
        let (thread, cursor) = (flusher.thread, flusher.cursor);
        let first = space * self.config.space_pages;
        let bill = std::mem::take(&mut self.bill);
        let next = if self.fs.order == WriteOrder::Sorted {
            self.next_extent(cursor.max(first), space).or_else(|| self.next_extent(first, space))
        } else {
            self.next_in_order(space)
        };
        let clocks = std::mem::replace(&mut self.bill, bill);
        let flusher = &mut self.flushers[space as usize];
        let Some((first, count)) = next else {
            flusher.sweep = 0;
            flusher.dirty_since = None;
            return;
        };
        flusher.cursor = first + count;
        flusher.sweep = flusher.sweep.saturating_sub(count as usize);
        flusher.extent = Some((first, count));
        flusher.computes = true;
        self.compute(thread, FLUSH, clocks, sim);
    }

    /// The flusher has computed for its extent, which goes down.
    pub(super) fn flush_computed(&mut self, thread: u32, sim: &mut Sim) {
        let space = thread % self.config.spaces;
        let flusher = &mut self.flushers[space as usize];
        flusher.computes = false;
        if let Some((first, count)) = flusher.extent.take() {
            let io = self.io_of(Kind::Write, first, count, false);
            let before = sim.under_way();
            self.issue(thread, None, io, sim);
            self.flushers[space as usize].in_flight += (sim.under_way() - before) as u32;
        }
        self.flush_more(space, sim);
    }

    /// Dirty pages from `page` on, in this space, as one request; they are being written from now on.
    pub(super) fn next_extent(&mut self, page: u32, space: u32) -> Option<(u32, u32)> {
        let end = (space + 1) * self.config.space_pages;
        let first = self.cache.next_dirty(page).filter(|&page| page < end)?;
        let mut count = 0;
        while u64::from(count) < self.fs.request && first + count < end && self.cache.is_dirty(first + count)
        {
            self.write_page(first + count);
            count += 1;
        }
        Some((first, count))
    }

    /// The same, in the order in which pages became dirty.
    fn next_in_order(&mut self, space: u32) -> Option<(u32, u32)> {
        let mut extent: Option<(u32, u32)> = None;
        while let Some(&page) = self.flushers[space as usize].order.front() {
            if self.cache.is_dirty(page) {
                match &mut extent {
                    Some((first, count))
                        if *first + *count == page && u64::from(*count) < self.fs.request =>
                    {
                        *count += 1;
                    }
                    Some(_) => break,
                    None => extent = Some((page, 1)),
                }
                self.write_page(page);
            }
            self.flushers[space as usize].order.pop_front();
        }
        // Pages that were dirtied again while they were being written stand in no order.
        extent.or_else(|| self.next_extent(space * self.config.space_pages, space))
    }

    fn write_page(&mut self, page: u32) {
        self.cache.begin_writing(page);
        self.charge(Layer::FileSystem, self.fs.page);
        self.place(page);
    }

    /// Pages are on the drive: whoever waited for that goes on.
    pub(super) fn after_cleaning(&mut self, thread: u32, by_flusher: bool, sim: &mut Sim) {
        let space = thread % self.config.spaces;
        self.flushers[space as usize].in_flight -= u32::from(by_flusher);
        self.wake_sleepers(sim);
        self.flush_more(space, sim);
    }

    /// The time of a commit has come.
    pub(super) fn commit(&mut self, space: u32, sim: &mut Sim) {
        let (now, commit) = (sim.now(), self.fs.commit);
        let flusher = &mut self.flushers[space as usize];
        flusher.is_timed = false;
        let has_changes = flusher.has_changes;
        if flusher.dirty_since.is_some_and(|since| now - since >= EXPIRE) || self.fs.ordered && has_changes {
            flusher.sweep = self.cache.dirty();
            flusher.dirty_since = Some(now);
        }
        if has_changes {
            let thread = flusher.thread;
            for io in self.record(space) {
                self.issue(thread, None, io, sim);
            }
            if self.fs.barrier && self.fs.journal > 0 {
                let io = Io { kind: Kind::Flush, offset: 0, length: 0, is_pages: false, is_awaited: false };
                self.issue(thread, None, io, sim);
            }
        }
        if has_changes || self.cache.dirty() > 0 {
            self.flushers[space as usize].is_timed = true;
            sim.wake_at(now + commit, space);
        }
        self.flush_more(space, sim);
    }

    /// The I/Os of a commit: the record in the journal, and the metadata themselves.
    pub(super) fn record(&mut self, space: u32) -> Vec<Io> {
        let (files, area) = (self.config.files, self.fs.area);
        let flusher = &mut self.flushers[space as usize];
        flusher.has_changes = false;
        let blocks = match self.fs.metadata {
            Some(each) => {
                let blocks = flusher.new_bytes / each;
                flusher.new_bytes %= each;
                blocks
            }
            None => 0,
        };
        let mut ios = Vec::new();
        let mut put = |offset: u64, length: u64| {
            let io =
                Io { kind: Kind::Write, offset, length: length as u32, is_pages: false, is_awaited: true };
            ios.push(io);
        };
        let half = (area / 2).max(PAGE) / PAGE * PAGE;
        let mut left = if self.fs.journal == 0 {
            0
        } else {
            self.fs.journal + (self.fs.logged * blocks).next_multiple_of(PAGE)
        };
        while left > 0 {
            let length = left.min(RECORD_MOST).min(half);
            if flusher.journal + length > half {
                flusher.journal = 0;
            }
            put(files + flusher.journal, length);
            flusher.journal += length;
            left -= length;
        }
        for _ in 0..blocks {
            flusher.metadata = (flusher.metadata + PAGE) % half;
            put(files + half + flusher.metadata, PAGE);
        }
        ios
    }
}
