//! What would a power cut lose? Blocks that were written and not flushed.
//!
//! Of each such block it is kept what it held when last it was safe; what a flush makes safe is so when the flush is
//! answered, and not when it is asked for. A cut leaves each of them as it was then or as it is now, by chance: a write of several blocks may be torn between blocks, never within one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
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

/// What blocks held before they were written.
type Before = BTreeMap<u64, Box<[u8]>>;

/// A flush that is under way, or a write that is to be safe when it is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// Cuts before it.
    cuts: u64,
    flush: u64,
}

/// Blocks that are not safe.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    /// Written since the last flush was asked for.
    now: Before,
    /// Written before a flush that is not answered yet, the oldest first: by the number of the flush.
    flushing: VecDeque<(u64, Before)>,
    flushes: u64,
    cuts: u64,
}

impl Volatile {
    /// The range is about to change.
    pub(crate) fn keep(&mut self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        for block in blocks(offset, length) {
            if let Entry::Vacant(place) = self.now.entry(block) {
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

    /// For a write that is safe when it is answered.
    pub(crate) fn ticket(&self) -> Ticket {
        Ticket { cuts: self.cuts, flush: self.flushes }
    }

    /// The write of the range is answered: the blocks that lie in it are safe. One that is written in part is so when its
    /// other part is. False when the power was cut meanwhile.
    pub(crate) fn settle(&mut self, ticket: Ticket, offset: u64, length: u64) -> bool {
        if ticket.cuts != self.cuts {
            return false;
        }
        for block in offset.div_ceil(BLOCK)..(offset + length) / BLOCK {
            self.now.remove(&block);
            for (_, before) in &mut self.flushing {
                before.remove(&block);
            }
        }
        true
    }

    /// A flush is asked for.
    pub(crate) fn flush(&mut self) -> Ticket {
        self.flushes += 1;
        self.flushing.push_back((self.flushes, std::mem::take(&mut self.now)));
        self.ticket()
    }

    /// It is answered: what was written before it was asked for is safe. False when the power was cut meanwhile.
    pub(crate) fn flushed(&mut self, ticket: Ticket) -> bool {
        if ticket.cuts != self.cuts {
            return false;
        }
        self.flushing.retain(|(flush, _)| *flush > ticket.flush);
        true
    }

    pub(crate) fn cut(&mut self, file: &File, seed: u64) -> io::Result<Cut> {
        let (mut random, end) = (Rng::from_seed(seed), file.metadata()?.len());
        self.cuts += 1;
        // Whether it is lost.
        let mut fates: BTreeMap<u64, bool> = BTreeMap::new();
        let newest = std::mem::take(&mut self.now);
        let older = std::mem::take(&mut self.flushing).into_iter().rev().map(|(_, before)| before);
        for (block, content) in std::iter::once(newest).chain(older).flatten() {
            let lost = fates.entry(block).or_default();
            if random.next_u64() & 1 == 0 {
                continue;
            }
            *lost = true;
            let at = block * BLOCK;
            file.write_all_at(&content[..(end - at).min(BLOCK) as usize], at)?;
        }
        let lost = fates.values().filter(|lost| **lost).count() as u64;
        Ok(Cut { kept: fates.len() as u64 - lost, lost })
    }
}

fn blocks(offset: u64, length: u64) -> std::ops::Range<u64> {
    offset / BLOCK..(offset + length).div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A disk of two blocks, and what would be lost of it.
    struct Two(File, Volatile);

    impl Two {
        fn new() -> Two {
            let file = crate::sys::memory_file(c"test").expect("memory");
            file.set_len(2 * BLOCK).expect("it grows");
            Two(file, Volatile::default())
        }

        fn write(&mut self, block: u64, version: u8) {
            self.1.keep(&self.0, block * BLOCK, BLOCK).expect("it can be read");
            self.0.write_all_at(&[version; BLOCK as usize], block * BLOCK).expect("it can be written");
        }

        fn version(&self, block: u64) -> u8 {
            let mut byte = [0];
            self.0.read_exact_at(&mut byte, block * BLOCK).expect("it can be read");
            byte[0]
        }
    }

    /// What the first block may be after a cut, by chance.
    fn left(done: impl Fn(&mut Two)) -> BTreeSet<u8> {
        let after = |seed| {
            let mut two = Two::new();
            done(&mut two);
            two.1.cut(&two.0, seed).expect("it can be cut");
            two.version(0)
        };
        (0..64).map(after).collect()
    }

    #[test]
    fn a_flush_makes_safe_what_was_before_it_and_when_it_is_answered() {
        let begun = |two: &mut Two| {
            two.write(0, 1);
            let first = two.1.flush();
            assert!(two.1.flushed(first));
            two.write(0, 2);
            let second = two.1.flush();
            two.write(0, 3);
            second
        };
        let asked = left(|two| {
            begun(two);
        });
        assert_eq!(asked, [1, 2, 3].into(), "the second is not answered");
        let answered = left(|two| {
            let second = begun(two);
            assert!(two.1.flushed(second));
        });
        assert_eq!(answered, [2, 3].into());
        let later = left(|two| {
            let _never_answered = begun(two);
            let third = two.1.flush();
            assert!(two.1.flushed(third), "it covers the second");
        });
        assert_eq!(later, [3].into());
    }

    #[test]
    fn a_write_through_is_safe_when_it_is_answered_and_no_neighbour_is() {
        let answered = left(|two| {
            two.write(0, 1);
            two.write(1, 1);
            let ticket = two.1.ticket();
            assert!(two.1.settle(ticket, 0, BLOCK));
        });
        assert_eq!(answered, [1].into());
        let half = left(|two| {
            two.write(0, 1);
            let ticket = two.1.ticket();
            assert!(two.1.settle(ticket, 512, BLOCK));
        });
        assert_eq!(half, [0, 1].into(), "its other part is not safe");
    }

    #[test]
    fn nobody_is_told_after_a_cut_that_it_is_safe_and_each_block_counts_once() {
        let mut two = Two::new();
        two.write(0, 1);
        let (through, flush) = (two.1.ticket(), two.1.flush());
        two.write(0, 2);
        two.write(1, 1);
        let cut = two.1.cut(&two.0, 7).expect("it can be cut");
        assert_eq!(cut.kept + cut.lost, 2);
        assert!(!two.1.flushed(flush) && !two.1.settle(through, 0, BLOCK));
        assert_eq!(two.1.cut(&two.0, 7).expect("it can be cut"), Cut::default(), "all that is there is safe");
    }
}
