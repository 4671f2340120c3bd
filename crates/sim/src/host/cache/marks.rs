//! Which pages are dirty, in order? Bits with a summary above: the next one is found in a few words, as in a kernel's tagged
//! tree. It grows with the highest page that was marked.

/// A set of page numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The lowest level first; bit i of a level: word i of the level below is not 0.
    levels: [Vec<u64>; 4],
}

impl Marks {
    pub(crate) fn set(&mut self, page: u32) {
        let mut at = page as usize;
        for level in &mut self.levels {
            if level.len() <= at / 64 {
                level.resize((at / 64 + 1).next_power_of_two(), 0);
            }
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    pub(crate) fn clear(&mut self, page: u32) {
        let mut at = page as usize;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / 64) else { return };
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    pub(crate) fn has(&self, page: u32) -> bool {
        self.levels[0].get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    /// The first from `page` on.
    pub(crate) fn next(&self, page: u32) -> Option<u32> {
        let mut at = page as usize;
        for height in 0..self.levels.len() {
            let level = &self.levels[height];
            let last = height + 1 == self.levels.len();
            let mut index = at / 64;
            let mut bits = level.get(index).copied().unwrap_or(0) & (u64::MAX << (at % 64));
            while last && bits == 0 && index + 1 < level.len() {
                index += 1;
                bits = level[index];
            }
            if bits != 0 {
                let mut found = index * 64 + bits.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + below[found].trailing_zeros() as usize;
                }
                return Some(found as u32);
            }
            at = index + 1;
        }
        None
    }
}
