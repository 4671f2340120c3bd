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
    pub(super) gain: u64,
}

/// A page that the host may write, as it is counted.
pub(super) const PAGE: u64 = 1 << 16;

/// Collection in one die.
#[derive(Clone, Debug, Default)]
pub(super) struct Collector {
    pub(super) planes: Vec<PlaneWork>,
    /// Pages that are leaving.
    pub(super) sensed: u64,
    /// Places that are being programmed: the controller still has what belongs there.
    pub(super) programming: Vec<u32>,
    /// Pages that the host may write before more is collected, in parts of [`PAGE`].
    pub(super) earned: u64,
}

impl Collector {
    /// The host has written.
    pub(super) fn spend(&mut self, pages: usize) {
        self.earned = self.earned.saturating_sub(pages as u64 * PAGE);
    }

    /// The page that belongs to a place is in the controller, since it is being programmed.
    #[inline]
    pub(super) fn holds(&self, place: u32) -> bool {
        !self.programming.is_empty() && self.programming.contains(&place)
    }
}
