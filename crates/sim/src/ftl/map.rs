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
//! There are no bits of validity: a physical page is valid when the page that it holds is mapped to it.

use super::Place;
use super::layout::Layout;

const LAID_OUT: u32 = 0;
const UNMAPPED: u32 = 1;
const PLACE: u32 = 2;

/// Entries of a stretch, as a power of two: 4 KiB of the table.
const STRETCH: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct Map {
    forward: Vec<u32>,
    /// A bit for each stretch of `forward` that was written.
    touched: Vec<u64>,
    back: Vec<u32>,
    /// Empty unless asked for.
    stamps: Vec<u32>,
    layout: Layout,
}

impl Map {
    pub(super) fn new(logical: u64, physical: u64, stamps: bool, layout: Layout) -> Map {
        let stretches = (logical >> STRETCH) + 1;
        Map {
            forward: vec![0; logical as usize],
            touched: vec![0; stretches.div_ceil(64) as usize],
            back: vec![0; physical as usize],
            stamps: vec![0; if stamps { physical as usize } else { 0 }],
            layout,
        }
    }

    /// Brings an entry near. Several at once overlap their waits.
    #[inline]
    pub(super) fn touch(&self, lpn: u32) {
        if self.is_touched(lpn) {
            std::hint::black_box(self.forward[lpn as usize]);
        }
    }

    /// Brings the entry of the page that a place holds near.
    #[inline]
    pub(super) fn touch_back(&self, place: u32) {
        if let Some(lpn) = self.holds(place) {
            self.touch(lpn);
        }
    }

    #[inline]
    fn is_touched(&self, lpn: u32) -> bool {
        let stretch = lpn >> STRETCH;
        self.touched[(stretch >> 6) as usize] >> (stretch & 63) & 1 != 0
    }

    #[inline]
    pub(super) fn place(&self, lpn: u32) -> Option<u32> {
        let entry = if self.is_touched(lpn) { self.forward[lpn as usize] } else { LAID_OUT };
        self.decode(lpn, entry)
    }

    #[inline]
    fn decode(&self, lpn: u32, entry: u32) -> Option<u32> {
        match entry {
            LAID_OUT => self.layout.place(lpn),
            UNMAPPED => None,
            place => Some(place - PLACE),
        }
    }

    /// Maps a page to a place, or to none; where it was.
    #[inline]
    pub(super) fn set(&mut self, lpn: u32, place: Option<u32>) -> Option<u32> {
        let stretch = lpn >> STRETCH;
        self.touched[(stretch >> 6) as usize] |= 1 << (stretch & 63);
        let entry = &mut self.forward[lpn as usize];
        let before = std::mem::replace(entry, place.map_or(UNMAPPED, |place| place + PLACE));
        if let Some(place) = place {
            self.back[place as usize] = lpn + 1;
        }
        self.decode(lpn, before)
    }

    /// The page that a place holds or held, written since its last erase.
    #[inline]
    pub(super) fn holds(&self, place: u32) -> Option<u32> {
        match self.back[place as usize] {
            LAID_OUT => self.layout.page(place),
            page => Some(page - 1),
        }
    }

    /// The page that a place holds, when it is the valid copy.
    #[inline]
    pub(super) fn valid(&self, place: u32) -> Option<u32> {
        let (lpn, laid_out) = match self.back[place as usize] {
            LAID_OUT => (self.layout.page(place)?, true),
            page => (page - 1, false),
        };
        let entry = if self.is_touched(lpn) { self.forward[lpn as usize] } else { LAID_OUT };
        (entry == place + PLACE || (laid_out && entry == LAID_OUT)).then_some(lpn)
    }

    #[inline]
    pub(super) fn stamp(&self, place: Place) -> u32 {
        self.stamps.get(place.0 as usize).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn set_stamp(&mut self, place: u32, stamp: u32) {
        if let Some(kept) = self.stamps.get_mut(place as usize) {
            *kept = stamp;
        }
    }
}
