//! Where is a page?
//!
//! ```text
//!   forward   logical ──► physical     0: as laid out    1: not mapped    2 + place
//!   back      physical ──► logical     0: as laid out                     1 + page
//! ```
//!
//! Both tables begin as zeroed memory, which costs nothing until it is written, and zero means "as the [`Layout`] has
//! it": a drive of any size is full at once. Stretches of the forward table that were never written are not even read;
//! a bit each says so. 8 bytes per physical page, 12 with stamps.
//!
//! A physical page is valid when the page that it holds is mapped to it. That is not looked up, which would be a wait for memory
//! for each page of each victim: a bit says when a copy is stale.

use super::PhysicalPage;
use super::layout::Layout;
use super::sys::{self, use_huge_pages};

const LAID_OUT: u32 = 0;
const UNMAPPED: u32 = 1;
const PLACE: u32 = 2;

/// Entries of a stretch, as a power of two: 4 KiB of the table.
const STRETCH: u32 = 10;

/// A huge page is zeroed as a whole when one entry of it is written. Tables of more entries stay with small ones, so that few
/// writes to a large drive remain cheap.
const HUGE_MAX: u64 = 1 << 26;

/// Pages whose table entries are fetched at once, which is more loads than a core can have under way; bits of a word.
pub(super) const BATCH: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Map {
    forward: Vec<u32>,
    /// A bit for each stretch of `forward` that was written.
    touched: Vec<u64>,
    back: Vec<u32>,
    /// A bit for each place: its page was overwritten, trimmed, or moved away. (One word more: windows may end beyond the last.)
    stale: Vec<u64>,
    /// Empty unless asked for.
    stamps: Vec<u32>,
    layout: Layout,
}

impl Map {
    pub(super) fn new(logical: u64, physical: u64, stamps: bool, layout: Layout) -> Map {
        let stretches = (logical >> STRETCH) + 1;
        let mut map = Map {
            forward: vec![0; logical as usize],
            touched: vec![0; stretches.div_ceil(64) as usize],
            back: vec![0; physical as usize],
            stale: vec![0; physical as usize / 64 + 2],
            stamps: vec![0; if stamps { physical as usize } else { 0 }],
            layout,
        };
        if logical <= HUGE_MAX {
            use_huge_pages(&mut map.forward);
            use_huge_pages(&mut map.back);
        }
        map
    }

    /// The place of a page that was written since the start; to bring the entry near.
    #[inline]
    pub(super) fn touch(&self, lpn: u32) -> Option<u32> {
        let entry = if self.is_touched(lpn) { self.forward[lpn as usize] } else { LAID_OUT };
        entry.checked_sub(PLACE)
    }

    /// Asks for the entry of a page, which is needed soon. What was never written is not looked at.
    #[inline]
    pub(super) fn bring_near(&self, lpn: u32) {
        if self.is_touched(lpn) {
            sys::bring_near(&self.forward, lpn as usize);
        }
    }

    /// Asks for what [`Map::set`] of a page needs.
    #[inline]
    pub(super) fn bring_copy_near(&self, lpn: u32) {
        if let Some(place) = self.touch(lpn) {
            sys::bring_near(&self.stale, place as usize / 64);
        }
    }

    #[inline]
    fn is_touched(&self, lpn: u32) -> bool {
        let stretch = lpn >> STRETCH;
        // A drive with zones asks for pages that are not mapped here.
        self.touched.get((stretch >> 6) as usize).is_some_and(|word| word >> (stretch & 63) & 1 != 0)
    }

    #[inline]
    fn mark_touched(&mut self, lpn: u32) {
        let stretch = lpn >> STRETCH;
        self.touched[(stretch >> 6) as usize] |= 1 << (stretch & 63);
    }

    #[inline]
    pub(super) fn place(&self, lpn: u32) -> Option<u32> {
        let entry = if self.is_touched(lpn) { self.forward[lpn as usize] } else { LAID_OUT };
        self.decode(lpn, entry)
    }

    #[inline]
    fn decode(&self, lpn: u32, entry: u32) -> Option<u32> {
        if entry >= PLACE { Some(entry - PLACE) } else { self.decode_unwritten(lpn, entry) }
    }

    fn decode_unwritten(&self, lpn: u32, entry: u32) -> Option<u32> {
        if entry == LAID_OUT { self.layout.place(lpn) } else { None }
    }

    /// Maps a page to a place, or to none; where it was, whose copy is stale now.
    #[inline]
    pub(super) fn set(&mut self, lpn: u32, place: Option<u32>) -> Option<u32> {
        self.mark_touched(lpn);
        let entry = &mut self.forward[lpn as usize];
        let before = std::mem::replace(entry, place.map_or(UNMAPPED, |place| place + PLACE));
        if let Some(place) = place {
            self.back[place as usize] = lpn + 1;
            self.stale[place as usize / 64] &= !(1 << (place % 64));
        }
        let old = self.decode(lpn, before)?;
        self.stale[old as usize / 64] |= 1 << (old % 64);
        Some(old)
    }

    /// The copy at a place is not the valid one any more.
    #[inline]
    pub(super) fn is_stale(&self, place: u32) -> bool {
        self.stale[place as usize / 64] >> (place % 64) & 1 != 0
    }

    /// The page that a place holds, when it is the valid copy.
    #[inline]
    pub(super) fn valid(&self, place: u32) -> Option<u32> {
        if self.is_stale(place) { None } else { self.held(place) }
    }

    #[inline]
    fn held(&self, place: u32) -> Option<u32> {
        match self.back[place as usize] {
            LAID_OUT => self.layout.page(place),
            page => Some(page - 1),
        }
    }

    /// The first valid copy in the places from `place` on, before `end`: its page, and where it is.
    #[inline]
    pub(super) fn next_valid(&self, mut place: u32, end: u32) -> Option<(u32, PhysicalPage)> {
        while place < end {
            let fresh = !self.stale[place as usize / 64] >> (place % 64);
            if fresh == 0 {
                place = (place | 63) + 1;
                continue;
            }
            place += fresh.trailing_zeros();
            if place < end
                && let Some(lpn) = self.held(place)
            {
                return Some((lpn, PhysicalPage(place)));
            }
            place += 1;
        }
        None
    }

    /// Brings near what the places of a block hold.
    #[inline]
    pub(super) fn touch_block(&self, first: u32, pages: u32) {
        const LINE: usize = 16;
        let back = &self.back[first as usize..(first + pages) as usize];
        std::hint::black_box(back.iter().step_by(LINE).fold(0, |sum, page| sum ^ page));
    }

    /// Takes the pages whose valid copies are in the places from `first` on, of which there are at most [`BATCH`]: these are
    /// stale now. `None` when the quick way is not for them: some were laid out, or there are stamps.
    #[inline]
    pub(super) fn take_all(&mut self, first: u32, count: u32, pages: &mut [u32; BATCH]) -> Option<usize> {
        let back = &self.back[first as usize..(first + count) as usize];
        if back.contains(&LAID_OUT) || !self.stamps.is_empty() {
            return None;
        }
        let (word, shift, all) = (first as usize / 64, first % 64, u64::MAX >> (64 - count));
        let window = u128::from(self.stale[word + 1]) << 64 | u128::from(self.stale[word]);
        let mut valid = !((window >> shift) as u64) & all;
        let window = window | u128::from(all) << shift;
        (self.stale[word], self.stale[word + 1]) = (window as u64, (window >> 64) as u64);
        let mut found = 0;
        while valid != 0 {
            pages[found % BATCH] = back[valid.trailing_zeros() as usize] - 1;
            found += 1;
            valid &= valid - 1;
        }
        Some(found)
    }

    /// Maps pages that [`Map::take_all`] found to consecutive places.
    #[inline]
    pub(super) fn put_all(&mut self, pages: &[u32], to: u32) {
        let back = &mut self.back[to as usize..to as usize + pages.len()];
        for ((&lpn, back), place) in pages.iter().zip(back).zip(to..) {
            self.forward[lpn as usize] = place + PLACE;
            *back = lpn + 1;
            self.stale[place as usize / 64] &= !(1 << (place % 64));
        }
    }

    /// Maps a page to another place, with its stamp.
    #[inline]
    pub(super) fn put(&mut self, lpn: u32, from: u32, to: u32) {
        self.mark_touched(lpn);
        self.forward[lpn as usize] = to + PLACE;
        self.back[to as usize] = lpn + 1;
        self.stale[from as usize / 64] |= 1 << (from % 64);
        self.stale[to as usize / 64] &= !(1 << (to % 64));
        if !self.stamps.is_empty() {
            self.stamps[to as usize] = self.stamps[from as usize];
        }
    }

    #[inline]
    pub(super) fn stamp(&self, place: PhysicalPage) -> u32 {
        self.stamps.get(place.0 as usize).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn set_stamp(&mut self, place: u32, stamp: u32) {
        if let Some(kept) = self.stamps.get_mut(place as usize) {
            *kept = stamp;
        }
    }
}
