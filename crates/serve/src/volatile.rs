//! What would a power cut lose? Blocks that were written and not flushed.
//!
//! Of each such block it is kept what it held when last it was safe. A cut leaves each of them as it was then or as it is
//! now, by chance: a write of several blocks may be torn between blocks, never within one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use iostack_workload::Rng;

/// What is written whole or not at all, as drives of 4 KiB sectors promise.
pub const BLOCK: u64 = 4096;

/// What power cuts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Blocks that were not flushed and are there all the same.
    pub kept: u64,
    /// Blocks that were not flushed, and are what they were.
    pub lost: u64,
}

/// Blocks that are not safe.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    safe: BTreeMap<u64, Box<[u8]>>,
}

impl Volatile {
    /// The range is about to change.
    pub(crate) fn keep(&mut self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        for block in blocks(offset, length) {
            if let Entry::Vacant(place) = self.safe.entry(block) {
                let mut content = vec![0; BLOCK as usize].into_boxed_slice();
                // The last block may end with the file.
                let mut filled = 0;
                while filled < content.len() {
                    match file.read_at(&mut content[filled..], block * BLOCK + filled as u64)? {
                        0 => break,
                        more => filled += more,
                    }
                }
                place.insert(content);
            }
        }
        Ok(())
    }

    /// The blocks that lie in the range are safe. One that is written in part is so when its other part is.
    pub(crate) fn settle(&mut self, offset: u64, length: u64) {
        for block in offset.div_ceil(BLOCK)..(offset + length) / BLOCK {
            self.safe.remove(&block);
        }
    }

    pub(crate) fn settle_all(&mut self) {
        self.safe.clear();
    }

    pub(crate) fn cut(&mut self, file: &File, seed: u64) -> io::Result<Cut> {
        let mut random = Rng::from_seed(seed);
        let (mut cut, end) = (Cut::default(), file.metadata()?.len());
        for (block, content) in std::mem::take(&mut self.safe) {
            if random.next_u64() & 1 == 0 {
                cut.kept += 1;
                continue;
            }
            cut.lost += 1;
            let at = block * BLOCK;
            file.write_all_at(&content[..(end - at).min(BLOCK) as usize], at)?;
        }
        Ok(cut)
    }
}

fn blocks(offset: u64, length: u64) -> std::ops::Range<u64> {
    offset / BLOCK..(offset + length).div_ceil(BLOCK)
}
