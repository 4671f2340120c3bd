//! Where is this page kept? A table from page numbers to places, for pages in buffers and caches.
//!
//! Open addressing with linear probing; an entry is one number, and removal moves what follows back (Knuth 6.4, R).

const EMPTY: u64 = u64::MAX;

/// Page number to place.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Page number above, place below.
    table: Vec<u64>,
    shift: u32,
    count: usize,
}

impl Default for Index {
    fn default() -> Index {
        Index { table: vec![EMPTY; 16], shift: 32 - 4, count: 0 }
    }
}

impl Index {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn start(&self, page: u32) -> usize {
        (page.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// Entry of the page, or the free one where it belongs.
    #[inline]
    fn seek(&self, page: u32) -> usize {
        let mut at = self.start(page);
        while self.table[at] != EMPTY && (self.table[at] >> 32) as u32 != page {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }

    #[inline]
    pub(crate) fn get(&self, page: u32) -> Option<u32> {
        let entry = self.table[self.seek(page)];
        (entry != EMPTY).then_some(entry as u32)
    }

    /// The page is at `place` now, wherever it was.
    pub(crate) fn set(&mut self, page: u32, place: u32) {
        let at = self.seek(page);
        self.count += usize::from(self.table[at] == EMPTY);
        self.table[at] = u64::from(page) << 32 | u64::from(place);
        if self.count * 2 > self.table.len() {
            self.grow();
        }
    }

    /// Forgets the page, if it is at `place`.
    pub(crate) fn remove(&mut self, page: u32, place: u32) {
        let mut hole = self.seek(page);
        if self.table[hole] != (u64::from(page) << 32 | u64::from(place)) {
            return;
        }
        self.count -= 1;
        let mask = self.table.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.table[at] == EMPTY {
                break;
            }
            let start = self.start((self.table[at] >> 32) as u32);
            // An entry may move back to the hole unless its start lies between the two.
            if at.wrapping_sub(start) & mask >= at.wrapping_sub(hole) & mask {
                self.table[hole] = self.table[at];
                hole = at;
            }
        }
        self.table[hole] = EMPTY;
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.table);
        self.table = vec![EMPTY; old.len() * 2];
        self.shift -= 1;
        for entry in old.into_iter().filter(|&entry| entry != EMPTY) {
            let at = self.seek((entry >> 32) as u32);
            self.table[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_workload::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn it_holds_what_was_put_and_not_removed() {
        let mut rng = Rng::from_seed(3);
        let (mut index, mut model) = (Index::default(), BTreeMap::new());
        for step in 0..200_000u32 {
            let page = rng.below(600) as u32 * 77;
            match rng.below(5) {
                0 | 1 => {
                    index.set(page, step);
                    model.insert(page, step);
                }
                2 => index.remove(page, step),
                _ => {
                    if let Some(place) = model.remove(&page) {
                        index.remove(page, place);
                    }
                }
            }
            assert_eq!(index.get(page), model.get(&page).copied());
            assert_eq!(index.is_empty(), model.is_empty());
        }
        assert!(model.iter().all(|(&page, &place)| index.get(page) == Some(place)));
    }
}
