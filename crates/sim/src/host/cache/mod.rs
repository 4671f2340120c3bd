//! Which pages of the drive are in memory, which of them are dirty, and which goes next?
//!
//! ```text
//!   newest ─► [ main list: every page by last use ] ─► oldest ─► [ old: dirty pages that replacement passed over ]
//! ```
//!
//! LRU takes the oldest page. CFLRU (Park et al., CASES 2006) takes the oldest clean page among the `window` oldest, since a
//! dirty one must be written first. Looking for it moves dirty pages to a list of their own, once each: no step searches.
//! A page under write-back that replacement meets waits outside both lists, and goes first when it is clean.
//!
//! Pure: no time, no I/O.

mod ahead;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::index::Index;
pub(crate) use ahead::{ReadAhead, Window};

/// No slot.
const NONE: u32 = u32::MAX;

/// A bit of a page.
pub(crate) type Flag = u8;
/// Its data are on the way from the drive.
pub(crate) const PENDING: Flag = 1;
/// Memory is newer than the drive.
pub(crate) const DIRTY: Flag = 2;
/// Its data are on the way to the drive.
pub(crate) const WRITING: Flag = 4;
/// Reading it asks for the next window.
pub(crate) const MARKER: Flag = 8;
/// Replacement has chosen it; it goes when it is clean.
const LEAVING: Flag = 16;
/// It is in the list of old dirty pages.
const OLD: Flag = 32;
/// It is in a list.
const LISTED: Flag = 64;

#[derive(Clone, Copy, Debug)]
struct Slot {
    page: u32,
    newer: u32,
    older: u32,
    flags: Flag,
}

/// A list by last use.
#[derive(Clone, Copy, Debug)]
struct ListEnds {
    newest: u32,
    oldest: u32,
    len: usize,
}

impl Default for ListEnds {
    fn default() -> ListEnds {
        ListEnds { newest: NONE, oldest: NONE, len: 0 }
    }
}

/// Condition for another page to have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageRoom {
    /// There is room.
    Free,
    /// This dirty page must be written first.
    Write(u32),
    /// Everything is on its way somewhere.
    None,
}

/// The page cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageCache {
    slots: Vec<Slot>,
    unused: Vec<u32>,
    table: Index,
    main: ListEnds,
    old: ListEnds,
    dirty: BTreeSet<u32>,
    pub(crate) writing: usize,
    count: usize,
    /// Chosen by replacement, not clean yet.
    leaving: usize,
    /// Pages that memory holds.
    capacity: usize,
    /// More while pages are being written.
    reserve: usize,
    /// Oldest pages among which a clean one goes first; 0: plain LRU.
    window: usize,
}

impl PageCache {
    /// A cache of `capacity` pages; a clean one among the `window` oldest goes first.
    pub(crate) fn new(capacity: usize, window: usize) -> PageCache {
        let reserve = (capacity / 64).clamp(1, 1024);
        PageCache { capacity, reserve, window, ..PageCache::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Slot of the page.
    pub(crate) fn find(&self, page: u32) -> Option<u32> {
        self.table.get(page)
    }

    pub(crate) fn has(&self, slot: u32, flag: Flag) -> bool {
        self.slots[slot as usize].flags & flag != 0
    }

    /// The page is in memory or on its way to it.
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.find(page).is_some()
    }

    pub(crate) fn set_marker(&mut self, page: u32) {
        if let Some(slot) = self.find(page) {
            self.slots[slot as usize].flags |= MARKER;
        }
    }

    pub(crate) fn clear_marker(&mut self, slot: u32) {
        self.slots[slot as usize].flags &= !MARKER;
    }

    /// False when another page must wait until one that is on its way has arrived.
    pub(crate) fn has_room(&self) -> bool {
        let most = self.capacity + self.reserve;
        if self.count - self.leaving < self.capacity {
            return self.count < most;
        }
        self.main.len + self.old.len > 0 && (self.count < most || self.leaving < self.reserve)
    }

    /// Makes room for one more page, as long as a clean page can go.
    pub(crate) fn room(&mut self) -> PageRoom {
        let most = self.capacity + self.reserve;
        loop {
            if self.count - self.leaving < self.capacity {
                return if self.count < most { PageRoom::Free } else { PageRoom::None };
            }
            let old_first = self.old.len > 0 && self.old.len >= self.window;
            let victim = if old_first || self.main.len == 0 { self.old.oldest } else { self.main.oldest };
            if victim == NONE {
                return PageRoom::None;
            }
            let Slot { flags, page, .. } = self.slots[victim as usize];
            if flags & WRITING != 0 {
                self.leave(victim);
            } else if flags & DIRTY == 0 {
                self.drop_slot(victim);
            } else if flags & OLD == 0 && self.old.len < self.window {
                self.unlink(victim);
                self.slots[victim as usize].flags |= OLD;
                self.link(victim, true);
            } else if self.count < most || self.leaving < self.reserve {
                self.leave(victim);
                return PageRoom::Write(page);
            } else {
                return PageRoom::None;
            }
        }
    }

    /// It goes as soon as it is clean.
    fn leave(&mut self, slot: u32) {
        self.unlink(slot);
        let flags = &mut self.slots[slot as usize].flags;
        *flags = (*flags & !OLD) | LEAVING;
        self.leaving += 1;
    }

    fn stays(&mut self, slot: u32) {
        let flags = &mut self.slots[slot as usize].flags;
        self.leaving -= usize::from(*flags & LEAVING != 0);
        *flags &= !LEAVING;
    }

    /// The page comes into memory: pending, or written by its owner at once. There is room.
    pub(crate) fn insert(&mut self, page: u32, flags: Flag) -> u32 {
        let entry = Slot { page, newer: NONE, older: NONE, flags };
        let slot = if let Some(slot) = self.unused.pop() {
            self.slots[slot as usize] = entry;
            slot
        } else {
            self.slots.push(entry);
            self.slots.len() as u32 - 1
        };
        self.table.set(page, slot);
        self.count += 1;
        if flags & PENDING == 0 {
            self.link(slot, true);
        }
        slot
    }

    /// The page's data have come.
    pub(crate) fn filled(&mut self, page: u32) {
        let slot = self.find(page).expect("a page that is on its way stays");
        self.slots[slot as usize].flags &= !PENDING;
        self.link(slot, true);
    }

    /// It was used.
    pub(crate) fn touch(&mut self, slot: u32) {
        if self.has(slot, LISTED) {
            self.unlink(slot);
        }
        self.stays(slot);
        self.slots[slot as usize].flags &= !OLD;
        self.link(slot, true);
    }

    /// It was written to. While it is being written, it is dirty again only afterwards.
    pub(crate) fn soil(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let fresh = entry.flags & DIRTY == 0;
        entry.flags |= DIRTY;
        if fresh && entry.flags & WRITING == 0 {
            self.dirty.insert(entry.page);
        }
    }

    /// The first dirty page from `page` on that is not being written.
    pub(crate) fn next_dirty(&self, page: u32) -> Option<u32> {
        self.dirty.range(page..).next().copied()
    }

    /// True when the page is dirty and not being written.
    pub(crate) fn is_dirty(&self, page: u32) -> bool {
        self.dirty.contains(&page)
    }

    /// The page goes to the drive; a write from now on makes it dirty again.
    pub(crate) fn begin_writing(&mut self, page: u32) {
        let slot = self.find(page).expect("a dirty page stays");
        let entry = &mut self.slots[slot as usize];
        debug_assert!(entry.flags & DIRTY != 0 && entry.flags & WRITING == 0);
        entry.flags = (entry.flags & !DIRTY) | WRITING;
        self.dirty.remove(&page);
        self.writing += 1;
    }

    /// The drive has it.
    pub(crate) fn written(&mut self, page: u32) {
        let slot = self.find(page).expect("a page that is being written stays");
        let entry = &mut self.slots[slot as usize];
        debug_assert!(entry.flags & WRITING != 0);
        entry.flags &= !WRITING;
        self.writing -= 1;
        let flags = entry.flags;
        if flags & DIRTY != 0 {
            self.dirty.insert(page);
        } else if flags & LEAVING != 0 {
            self.stays(slot);
            if self.count > self.capacity {
                self.drop_slot(slot);
            } else {
                self.link(slot, false);
            }
        } else if flags & OLD != 0 {
            self.unlink(slot);
            self.slots[slot as usize].flags &= !OLD;
            self.link(slot, false);
        }
    }

    /// Forgets a page that is neither dirty nor on its way; true when it is gone.
    pub(crate) fn forget(&mut self, page: u32) -> bool {
        let Some(slot) = self.find(page) else { return true };
        let idle = !self.has(slot, DIRTY | WRITING | PENDING);
        if idle {
            self.drop_slot(slot);
        }
        idle
    }

    fn drop_slot(&mut self, slot: u32) {
        if self.has(slot, LISTED) {
            self.unlink(slot);
        }
        self.stays(slot);
        self.table.remove(self.slots[slot as usize].page, slot);
        self.unused.push(slot);
        self.count -= 1;
    }

    fn ends(&mut self, slot: u32) -> &mut ListEnds {
        if self.slots[slot as usize].flags & OLD != 0 { &mut self.old } else { &mut self.main }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        if newer != NONE {
            self.slots[newer as usize].older = older;
        }
        if older != NONE {
            self.slots[older as usize].newer = newer;
        }
        let ends = self.ends(slot);
        if newer == NONE {
            ends.newest = older;
        }
        if older == NONE {
            ends.oldest = newer;
        }
        ends.len -= 1;
        self.slots[slot as usize].flags &= !LISTED;
    }

    /// Puts a page at an end of its list: where the newest are, or where the oldest.
    fn link(&mut self, slot: u32, is_newest: bool) {
        let ends = self.ends(slot);
        let (end, other) = if is_newest {
            (&mut ends.newest, &mut ends.oldest)
        } else {
            (&mut ends.oldest, &mut ends.newest)
        };
        let before = std::mem::replace(end, slot);
        if before == NONE {
            *other = slot;
        }
        ends.len += 1;
        if before != NONE {
            let neighbour = &mut self.slots[before as usize];
            *(if is_newest { &mut neighbour.newer } else { &mut neighbour.older }) = slot;
        }
        let entry = &mut self.slots[slot as usize];
        (entry.newer, entry.older) = if is_newest { (NONE, before) } else { (before, NONE) };
        entry.flags |= LISTED;
    }
}
