//! Where does a page lie that was never written since the start? By formula, both ways.
//!
//! ```text
//!   logical page ──► plane, index in the plane ──► (steady: class of blocks, block, slot) ──► place
//! ```

use super::rows::Rows;
use super::steady::Classes;

/// Content of the flash at the start.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Nothing was ever written.
    Fresh,
    /// Pages lie in order, striped over the planes.
    Filled(Box<Rows>),
    /// Pages lie as after random writes without end.
    Steady(Box<Rows>, Box<Classes>),
}

impl Layout {
    #[inline]
    pub(super) fn place(&self, lpn: u32) -> Option<u32> {
        match self {
            Layout::Fresh => None,
            Layout::Filled(rows) => Some(rows.place(lpn)),
            Layout::Steady(rows, classes) => Some(classes.place(rows, lpn)),
        }
    }

    #[inline]
    pub(super) fn page(&self, place: u32) -> Option<u32> {
        match self {
            Layout::Fresh => None,
            Layout::Filled(rows) => rows.page(place),
            Layout::Steady(rows, classes) => classes.page(rows, place),
        }
    }
}
