//! How far is a die with winning back blocks?

use std::collections::VecDeque;

use crate::ftl::{Block, PhysicalPage};

/// Collection in one plane.
#[derive(Clone, Debug, Default)]
pub(super) struct PlaneWork {
    pub(super) victim: Option<Block>,
    pub(super) cursor: u32,
    /// The next valid page before the cursor, found when the flash page before was sensed.
    pub(super) ahead: Option<(u32, PhysicalPage)>,
    /// Nothing valid is left to be sensed.
    pub(super) drained: bool,
    /// Pages that were read: number and place.
    pub(super) held: VecDeque<(u32, PhysicalPage)>,
    /// Pages that the host may write for each page that is moved, in parts of [`PAGE`].
    pub(super) gain: i64,
}

/// A page that the host may write, as it is counted.
pub(super) const PAGE: i64 = 1 << 16;

/// Takes so many pages, which one program writes, from what was earned; all but the first may be owed.
pub(super) fn spend(earned: &mut i64, pages: u32) {
    let pages = i64::from(pages);
    *earned = (*earned - pages * PAGE).max((*earned).min((1 - pages) * PAGE));
}

/// Collection in one die.
#[derive(Clone, Debug, Default)]
pub(super) struct Collector {
    pub(super) planes: Vec<PlaneWork>,
    /// Pages that are leaving.
    pub(super) sensed: u64,
    /// Places that are being programmed: the controller still has what belongs there.
    pub(super) programming: Vec<u32>,
    /// Pages that may be written before more is collected, in parts of [`PAGE`]; below 0 when a program took more at once.
    pub(super) earned: i64,
}

impl Collector {
    /// The host has written, or pages were folded.
    pub(super) fn spend(&mut self, pages: u32) {
        spend(&mut self.earned, pages);
    }

    /// The page that belongs to a place is in the controller, since it is being programmed.
    #[inline]
    pub(super) fn holds(&self, place: u32) -> bool {
        !self.programming.is_empty() && self.programming.contains(&place)
    }
}
