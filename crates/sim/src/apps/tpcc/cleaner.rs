//! Which dirty pages are written, and how?
//!
//! A batch of up to 128 pages, `InnoDB`'s doublewrite buffer: first all of them one behind the other, flushed; then each to its
//! place, many at a time, flushed. It takes those that are dirty at the end of the pool's list when users find too few clean
//! ones there, then those whose changes the log may soon overwrite, then the oldest when nine in ten pages are dirty.

use super::Tpcc;
use super::schema::{DOUBLEWRITE, PAGE};
use super::user::{MARGIN, SEARCH};
use crate::apps::application::{Part, Step};

/// Pages of the list's end that are made clean (`SEARCH` and `BUF_FLUSH_EXTRA_MARGIN`, 100, of `MySQL` 5.1).
const END: u32 = SEARCH + 100;

/// Percent of dirty pages from which on they are written anyway (`innodb_max_dirty_pages_pct` of `MySQL` 5.1).
const DIRTY_MOST: u64 = 90;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Look,
    /// So many pages of the doublewrite buffer are written.
    Doublewrite(u32),
    FlushFirst,
    /// So many pages are on their way to their place.
    Pages(usize),
    FlushLast,
    Done,
}

/// The writer of dirty pages.
#[derive(Debug)]
pub(super) struct Cleaner {
    pub(super) actor: u32,
    /// It waits to be called.
    pub(super) idle: bool,
    /// Users found too few clean pages at the list's end.
    pub(super) end_is_dirty: bool,
    at: At,
    pages: Vec<u32>,
}

impl Cleaner {
    pub(super) fn new(actor: u32) -> Cleaner {
        Cleaner { actor, idle: false, end_is_dirty: false, at: At::Look, pages: Vec::new() }
    }
}

impl Tpcc {
    /// The next step of the cleaner.
    pub(super) fn clean(&mut self) -> Step {
        loop {
            match self.cleaner.at {
                At::Look => {
                    self.looks_for_pages();
                    if self.cleaner.pages.is_empty() {
                        self.cleaner.idle = true;
                        return Step::Wait(Part::Client);
                    }
                    for &page in &self.cleaner.pages {
                        self.pool.write(page);
                    }
                    self.cleaner.at = At::Doublewrite(0);
                }
                At::Doublewrite(from) => {
                    let count = (self.cleaner.pages.len() as u32 - from).min(DOUBLEWRITE / 2);
                    if count == 0 {
                        self.cleaner.at = At::FlushFirst;
                        continue;
                    }
                    self.cleaner.at = At::Doublewrite(from + count);
                    let offset = self.schema.doublewrite() + u64::from(from * PAGE);
                    return Step::Write { offset, length: count * PAGE, part: Part::Writes };
                }
                At::FlushFirst => {
                    self.cleaner.at = At::Pages(0);
                    return Step::Flush(Part::Writes);
                }
                At::Pages(index) => {
                    let Some(&page) = self.cleaner.pages.get(index) else {
                        self.cleaner.at = At::FlushLast;
                        return Step::Drain;
                    };
                    self.cleaner.at = At::Pages(index + 1);
                    return Step::Post { offset: self.schema.offset(page), length: PAGE };
                }
                At::FlushLast => {
                    self.cleaner.at = At::Done;
                    return Step::Flush(Part::Writes);
                }
                At::Done => {
                    let pages = std::mem::take(&mut self.cleaner.pages);
                    for &page in &pages {
                        self.pool.written(page);
                    }
                    self.cleaner.at = At::Look;
                    self.woken.extend(self.starved.drain(..));
                }
            }
        }
    }

    fn looks_for_pages(&mut self) {
        let most = DOUBLEWRITE as usize;
        let pages = &mut self.cleaner.pages;
        if self.cleaner.end_is_dirty {
            self.pool.dirty_at_the_end(END, most, pages);
            self.cleaner.end_is_dirty = pages.len() > MARGIN as usize;
        }
        let since = self.pool.oldest_change();
        let full = u64::from(self.pool.dirty()) * 100 > u64::from(self.pool.capacity()) * DIRTY_MOST;
        if full || since.is_some_and(|since| self.log.is_aging(since)) {
            self.pool.changed_first(most, pages);
        }
        pages.sort_unstable();
    }
}
