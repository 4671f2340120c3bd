//! Does data that nobody overwrites keep its blocks young while the others wear out?
//!
//! Static wear levelling: when the most worn block of a plane has been erased `spread` times more than the least worn one that is
//! full, that one is the next victim, however much of it is valid. Its data goes to a block that was just erased, one of the
//! worn. With a share c of the blocks full of data that is never written, one of (spread / c) erases is for that.

use super::{APART, Ftl};

impl Ftl {
    /// The full block of a plane that has been erased least, where it has been spared too much. Looked for each time that a
    /// quarter of the spread may have been added to a block.
    pub(super) fn spared(&mut self, plane: u32) -> Option<u32> {
        let spread = self.spec.wear_spread?;
        let state = &mut self.planes[plane as usize];
        state.until_levelled = state.until_levelled.checked_sub(1).unwrap_or(spread / 4);
        if state.until_levelled > 0 {
            return None;
        }
        let first = (plane * self.per_plane.get()) as usize;
        let of_plane = first..first + self.per_plane.get() as usize;
        let most = of_plane.clone().map(|block| self.erases[block]).max()?;
        let full = of_plane.filter(|&block| self.valid[block] < APART);
        let least = full.min_by_key(|&block| self.erases[block])?;
        if most - self.erases[least] <= spread {
            return None;
        }
        self.victims.take(plane, least as u32, self.valid[least]);
        Some(least as u32)
    }
}
