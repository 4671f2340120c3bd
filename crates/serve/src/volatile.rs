//! What would a power cut lose? Sectors that were written and are not safe.
//!
//! ```text
//!   safe ◄── layer ◄── layer ◄── now        each holds what its sectors were before they were written in it
//! ```
//!
//! A flush, and a write that is to be safe when it is answered, each end a layer when they are asked for. When the flush is
//! answered, its layer and all older ones go; when the write is, its own sectors leave them. A cut takes each atom back by some
//! layers, the newest first, by chance: it is what it was at one moment, but for sectors that are safe.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use iostack_workload::Rng;

use crate::sys;

/// Smallest unit that is safe or not, bytes: no disk offers a smaller one.
pub const SECTOR: u64 = 512;

/// Sectors that are kept together, bytes: a bit of a [`KeptBlock`] each.
const BLOCK: u64 = 8 * SECTOR;

/// Effect of power cuts, in atoms of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Atoms that were not flushed and are there all the same.
    pub kept: u64,
    /// Atoms that were not flushed, and are what they were at some moment before.
    pub lost: u64,
}

/// Former content of some sectors of a block.
#[derive(Debug, Default)]
struct KeptBlock {
    /// Sectors that are kept, one bit each.
    sectors: u8,
    /// All of the block; empty where all of it is zeros.
    content: Vec<u8>,
}

impl KeptBlock {
    /// Keeps these sectors of a block, too.
    fn put(&mut self, sectors: u8, content: &[u8]) {
        for range in runs(sectors) {
            let from = content.get(range.clone()).unwrap_or_default();
            if self.content.is_empty() && from.iter().all(|byte| *byte == 0) {
                continue;
            }
            self.content.resize(BLOCK as usize, 0);
            let into = &mut self.content[range];
            if from.is_empty() { into.fill(0) } else { into.copy_from_slice(from) }
        }
        self.sectors |= sectors;
    }

    /// Brings these sectors back.
    fn put_back(&self, sectors: u8, file: &File, block: u64, end: u64) -> io::Result<()> {
        for range in runs(sectors) {
            let at = block * BLOCK + range.start as u64;
            // The last sector may end with the file.
            let length = (range.len() as u64).min(end.saturating_sub(at));
            match self.content.get(range) {
                Some(content) => file.write_all_at(&content[..length as usize], at)?,
                None if length > 0 => sys::punch(file, at, length)?,
                None => {}
            }
        }
        Ok(())
    }
}

/// Former content by number of the block.
type Layer = BTreeMap<u64, KeptBlock>;

/// Promise that a write, or all that was before a flush, is safe when it is answered.
#[derive(Debug)]
pub struct Promise {
    /// Cuts before it.
    cuts: u64,
    /// The layer that it ended.
    layer: u64,
    /// Range of a write; `None` of a flush.
    range: Option<(u64, u64)>,
}

/// Sectors that are not safe.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    /// The layer that has not ended.
    now: Layer,
    /// Layers that have, by number, the oldest first.
    ended: VecDeque<(u64, Layer)>,
    layers: u64,
    cuts: u64,
}

impl Volatile {
    /// The range is about to change.
    pub(crate) fn keep(&mut self, file: &File, (offset, length): (u64, u64)) -> io::Result<()> {
        for block in blocks(offset, length) {
            let kept = self.now.entry(block).or_default();
            let more = sectors(block, offset, length) & !kept.sectors;
            if more == 0 {
                continue;
            }
            let (mut content, mut filled) = ([0; BLOCK as usize], 0);
            // The last block may end with the file.
            while filled < content.len() {
                match file.read_at(&mut content[filled..], block * BLOCK + filled as u64)? {
                    0 => break,
                    read => filled += read,
                }
            }
            kept.put(more, &content);
        }
        Ok(())
    }

    /// The range of a write that has just changed it, or all that was written so far, is to be safe.
    pub(crate) fn promise(&mut self, range: Option<(u64, u64)>) -> Promise {
        self.layers += 1;
        self.ended.push_back((self.layers, std::mem::take(&mut self.now)));
        Promise { cuts: self.cuts, layer: self.layers, range }
    }

    /// It is answered, and safe. False when the power was cut meanwhile.
    pub(crate) fn settle(&mut self, promise: &Promise) -> bool {
        if promise.cuts != self.cuts {
            return false;
        }
        let Some((offset, length)) = promise.range else {
            self.ended.retain(|(number, _)| *number > promise.layer);
            return true;
        };
        for (_, layer) in self.ended.iter_mut().take_while(|(number, _)| *number <= promise.layer) {
            let left = |(&block, kept): (&u64, &mut KeptBlock)| {
                kept.sectors &= !sectors(block, offset, length);
                (kept.sectors == 0).then_some(block)
            };
            let safe: Vec<u64> = layer.range_mut(blocks(offset, length)).filter_map(left).collect();
            for block in safe {
                layer.remove(&block);
            }
        }
        self.join(promise.layer);
        true
    }

    /// A layer that nobody waits for any more becomes one with the next.
    fn join(&mut self, number: u64) {
        let Some(at) = self.ended.iter().position(|(each, _)| *each == number) else { return };
        let Some((_, older)) = self.ended.remove(at) else { return };
        let next = self.ended.get_mut(at).map_or(&mut self.now, |(_, layer)| layer);
        for (block, kept) in std::mem::replace(next, older) {
            match next.entry(block) {
                Entry::Vacant(place) => {
                    place.insert(kept);
                }
                Entry::Occupied(mut older) => {
                    let more = kept.sectors & !older.get().sectors;
                    older.get_mut().put(more, &kept.content);
                }
            }
        }
    }

    /// Power is cut: each atom, of so many bytes, goes back by as many layers as chance says.
    pub(crate) fn cut(&mut self, file: &File, atom: u64, seed: u64) -> io::Result<Cut> {
        let (mut random, end) = (Rng::from_seed(seed), file.metadata()?.len());
        self.cuts += 1;
        // Whether it went back, and whether it stays as it is now.
        let mut fates: BTreeMap<u64, (bool, bool)> = BTreeMap::new();
        let newest = std::mem::take(&mut self.now);
        let older = std::mem::take(&mut self.ended).into_iter().rev().map(|(_, layer)| layer);
        for layer in std::iter::once(newest).chain(older) {
            let mut atom_before = None;
            for (block, kept) in layer {
                let mut back = 0;
                for sector in (0..8).filter(|sector| kept.sectors >> sector & 1 == 1) {
                    let number = (block * BLOCK + sector * SECTOR) / atom;
                    let (lost, stays) = fates.entry(number).or_default();
                    if atom_before.replace(number) != Some(number) {
                        *stays |= random.next_u64() & 1 == 0;
                        *lost |= !*stays;
                    }
                    back |= u8::from(!*stays) << sector;
                }
                kept.put_back(back, file, block, end)?;
            }
        }
        let lost = fates.values().filter(|(lost, _)| *lost).count() as u64;
        Ok(Cut { kept: fates.len() as u64 - lost, lost })
    }
}

fn blocks(offset: u64, length: u64) -> Range<u64> {
    offset / BLOCK..(offset + length).div_ceil(BLOCK)
}

/// Sectors of a block that a range of bytes touches: a drive writes whole ones.
fn sectors(block: u64, offset: u64, length: u64) -> u8 {
    let first = (offset / SECTOR).saturating_sub(block * 8).min(8);
    let end = (offset + length).div_ceil(SECTOR).saturating_sub(block * 8).min(8);
    (((1_u16 << end) - 1) & !((1_u16 << first) - 1)) as u8
}

/// Neighbours among the sectors, as bytes of their block.
fn runs(sectors: u8) -> Vec<Range<usize>> {
    let all: Vec<usize> = (0..8).filter(|sector| sectors >> sector & 1 == 1).collect();
    let bytes = |run: &[usize]| run[0] * SECTOR as usize..(run[0] + run.len()) * SECTOR as usize;
    all.chunk_by(|one, next| one + 1 == *next).map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Step of a test. Promises have numbers, in their order.
    #[derive(Clone)]
    enum TestStep {
        Write(Range<u64>, u8),
        Through(Range<u64>, u8),
        Flush,
        Settle(usize),
    }

    use TestStep::{Flush, Settle, Through, Write};

    /// A disk of two blocks after these steps, what would be lost of it, and the promises.
    fn after(steps: &[TestStep]) -> (File, Volatile, Vec<Promise>) {
        let file = iostack_host::memory_file(c"test").expect("memory");
        file.set_len(2 * BLOCK).expect("it grows");
        let (mut volatile, mut promises) = (Volatile::default(), Vec::new());
        for step in steps {
            if let Write(range, version) | Through(range, version) = step {
                let content = vec![*version; (range.end - range.start) as usize];
                volatile.keep(&file, (range.start, content.len() as u64)).expect("it can be read");
                file.write_all_at(&content, range.start).expect("it can be written");
            }
            match step {
                Write(..) => {}
                Through(range, _) => {
                    promises.push(volatile.promise(Some((range.start, range.end - range.start))));
                }
                Flush => promises.push(volatile.promise(None)),
                Settle(number) => assert!(volatile.settle(&promises[*number]), "there was no cut"),
            }
        }
        (file, volatile, promises)
    }

    /// Possible contents of sectors 0 and 1 after these steps and a cut.
    fn left(steps: &[TestStep]) -> BTreeSet<(u8, u8)> {
        let cut = |seed| {
            let ((file, mut volatile, _), mut bytes) = (after(steps), [0; 1024]);
            volatile.cut(&file, BLOCK, seed).expect("it can be cut");
            file.read_exact_at(&mut bytes, 0).expect("it can be read");
            assert!(bytes[..512] == [bytes[0]; 512] && bytes[512..] == [bytes[512]; 512]);
            (bytes[0], bytes[512])
        };
        (0..64).map(cut).collect()
    }

    const ALL: Range<u64> = 0..BLOCK;

    #[test]
    fn a_flush_makes_safe_what_was_before_it_and_when_it_is_answered() {
        let begun = [Write(ALL, 1), Flush, Write(ALL, 2), Flush, Write(ALL, 3)];
        let settled = |number| left(&[&begun[..], &[Settle(number)]].concat());
        assert_eq!(settled(0), [(1, 1), (2, 2), (3, 3)].into(), "the first makes nothing of the second safe");
        assert_eq!(settled(1), [(2, 2), (3, 3)].into(), "it covers the first");
    }

    #[test]
    fn a_write_through_is_safe_to_its_last_sector_and_no_neighbour_is() {
        let steps = [Write(ALL, 1), Through(0..512, 2), Settle(0)];
        assert_eq!(left(&steps), [(2, 0), (2, 1)].into());
        assert_eq!(left(&steps[..2]), [(0, 0), (2, 1)].into(), "as it was at one moment");
    }

    #[test]
    fn what_comes_after_a_write_through_is_no_safer_for_it_and_no_more_torn() {
        let late = [Write(ALL, 1), Through(0..512, 2), Write(ALL, 3), Settle(0)];
        assert_eq!(left(&late), [(2, 0), (3, 3)].into());
        let flushed = [Through(0..512, 2), Flush, Write(ALL, 3), Settle(0)];
        let others = [Through(512..1024, 4), Settle(1), Settle(2)];
        assert_eq!(left(&[&flushed[..], &others].concat()), [(2, 4), (3, 4)].into());
    }

    #[test]
    fn nobody_is_told_after_a_cut_that_it_is_safe_and_each_atom_counts_once() {
        for (atom, count) in [(512, 16), (4096, 2), (8192, 1)] {
            let (file, mut volatile, promises) = after(&[Through(ALL, 1), Flush, Write(0..2 * BLOCK, 2)]);
            let mut cut = || volatile.cut(&file, atom, 7).expect("it can be cut");
            let first = cut();
            assert_eq!(
                (first.kept + first.lost, cut()),
                (count, Cut::default()),
                "after the first all is safe"
            );
            assert!(promises.iter().all(|promise| !volatile.settle(promise)));
        }
    }

    #[test]
    fn a_range_touches_sectors_from_its_first_byte_to_its_last() {
        assert_eq!([sectors(0, 0, 512), sectors(0, 511, 2), sectors(1, 0, 4096)], [0b1, 0b11, 0]);
        assert_eq!([sectors(1, 4095, 8192), sectors(1, 7680, 100), sectors(0, 0, 0)], [0xFF, 0x80, 0]);
        assert_eq!(runs(0b1011_0110), [512..1536, 2048..3072, 3584..4096]);
    }
}
