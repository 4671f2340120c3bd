//! Does data that nobody overwrites keep its blocks young while the others wear out?
//!
//! Static wear levelling: when the block that is opened next has been erased `spread` times more than the least worn one of its plane
//! that is full, the latter is the next victim, however much of it is valid. So data that is never written goes to blocks
//! that are worn, and stays there until the mean wear has risen by the spread: with a share c of all blocks full of it, c / spread of
//! the erases are for that.

use super::{APART, Ftl};

impl Ftl {
    /// The full block of a plane that has been spared too much.
    #[inline]
    pub(super) fn spared(&mut self, plane: u32) -> Option<u32> {
        self.spec.wear_spread.and_then(|spread| self.spared_by(plane, spread))
    }

    fn spared_by(&mut self, plane: u32, spread: u32) -> Option<u32> {
        let state = &mut self.planes[plane as usize];
        let next = self.erases[*state.free.front()? as usize];
        // No full block is younger than the youngest of the last look.
        if next <= state.least_erases + spread {
            return None;
        }
        let first = plane * self.per_plane.get();
        let full = (first..first + self.per_plane.get()).filter(|&block| self.valid[block as usize] < APART);
        let least = full.min_by_key(|&block| self.erases[block as usize])?;
        state.least_erases = self.erases[least as usize];
        if next <= state.least_erases + spread {
            return None;
        }
        self.victims.take(plane, least, self.valid[least as usize]);
        Some(least)
    }
}
