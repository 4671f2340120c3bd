//! What does Postmark ask of storage?
//!
//! ```text
//!   transaction: read a file, or append to it;  create a file, or delete one
//! ```
//!
//! Katcher, `PostMark`: A New File System Benchmark, `NetApp` TR3022, 1997, and its version 1.5: many small files, each thread
//! with a set of its own, no flush, everything through the page cache of the platform. Each file has a place that holds the
//! largest one, an inode of 128 bytes and an entry in a directory, as on ext2: creating and deleting also writes their blocks
//! and those of two bitmaps. What a file system does besides, its journal for instance, belongs to the platform.

use iostack_model::Postmark as Load;
use iostack_workload::{Region, Rng};

use crate::apps::application::{Application, Manner, Part, Step};

const BLOCK: u64 = 4096;
/// Files whose inodes, or entries in a directory, share a block: of 128 bytes, and of 24.
const INODES: u64 = 32;
const ENTRIES: u64 = 170;
/// Blocks and inodes that a block of a bitmap counts.
const BITS: u64 = BLOCK * 8;

/// Bytes of one call: Postmark's default.
const CALL: u64 = 512;
/// Clocks of such a call, in the system and in Postmark. Assumed: a system call and a copy of half a KiB.
const CALL_CLOCKS: u64 = 1_500;
/// Clocks to create, delete or open a file: names, inodes, locks. Assumed.
const NAME_CLOCKS: u64 = 20_000;

const KINDS: &[&str] = &["read", "append"];

/// A file.
#[derive(Clone, Copy, Debug)]
struct File {
    place: u32,
    size: u32,
}

/// One thread.
#[derive(Debug)]
struct Thread {
    rng: Rng,
    files: Vec<File>,
    /// Places without a file.
    free: Vec<u32>,
    left: u64,
    /// What it does next, last first.
    steps: Vec<Step>,
    /// First byte of its part of the target.
    first: u64,
}

/// Places of a thread: files come and go, and their number walks at random.
fn places(load: &Load) -> u64 {
    u64::from(load.files) * 5 / 4 + 64
}

fn blocks(load: &Load) -> u64 {
    load.largest.0.div_ceil(BLOCK)
}

/// Blocks of bitmaps, inodes and directories of a thread.
fn blocks_about(load: &Load) -> u64 {
    let places = places(load);
    2 * (places * blocks(load)).div_ceil(BITS) + places.div_ceil(INODES) + places.div_ceil(ENTRIES)
}

fn bytes_of_thread(load: &Load) -> u64 {
    (blocks_about(load) + places(load) * blocks(load)) * BLOCK
}

/// Bytes of the target that it uses.
pub(super) fn needed(load: &Load, threads: u32) -> u64 {
    bytes_of_thread(load) * u64::from(threads)
}

/// All threads.
#[derive(Debug)]
pub(crate) struct Postmark {
    load: Load,
    threads: Vec<Thread>,
}

impl Postmark {
    pub(super) fn new(load: &Load, threads: u32, region: Region, seed: u64) -> Postmark {
        let thread = |number: u32| {
            let mut rng = Rng::stream(seed, u64::from(number));
            let files = (0..load.files).map(|place| File { place, size: size(load, &mut rng) }).collect();
            Thread {
                files,
                free: (load.files..places(load) as u32).rev().collect(),
                left: load.transactions,
                steps: Vec::new(),
                first: region.offset.div_ceil(BLOCK) * BLOCK + u64::from(number) * bytes_of_thread(load),
                rng,
            }
        };
        Postmark { load: load.clone(), threads: (0..threads).map(thread).collect() }
    }
}

fn size(load: &Load, rng: &mut Rng) -> u32 {
    (load.smallest.0 + rng.below(load.largest.0 - load.smallest.0 + 1)) as u32
}

/// A transaction of a thread that is being written down.
struct Script<'a> {
    load: &'a Load,
    thread: &'a mut Thread,
    steps: Vec<Step>,
}

impl Script<'_> {
    fn block(&mut self, number: u64) {
        let offset = self.thread.first + number * BLOCK;
        self.steps.push(Step::Write { offset, length: BLOCK as u32, part: Part::Writes });
    }

    /// Bytes of a file, in whole blocks.
    fn span(&self, file: File, from: u64, to: u64) -> (u64, u32) {
        let begin = from / BLOCK * BLOCK;
        let end = to.div_ceil(BLOCK) * BLOCK;
        let place = blocks_about(self.load) + u64::from(file.place) * blocks(self.load);
        (self.thread.first + place * BLOCK + begin, (end - begin) as u32)
    }

    fn compute(&mut self, clocks: u64) {
        self.steps.push(Step::Compute(clocks as u32));
    }

    fn inode(&mut self, file: File) {
        let bitmaps = 2 * (places(self.load) * blocks(self.load)).div_ceil(BITS);
        self.block(bitmaps + u64::from(file.place) / INODES);
    }

    /// The blocks that say where a file is.
    fn names(&mut self, file: File) {
        let bits = (places(self.load) * blocks(self.load)).div_ceil(BITS);
        let inodes = places(self.load).div_ceil(INODES);
        self.block(u64::from(file.place) * blocks(self.load) / BITS);
        self.block(bits + u64::from(file.place) / BITS);
        self.inode(file);
        self.block(2 * bits + inodes + u64::from(file.place) / ENTRIES);
    }

    fn read_or_append(&mut self) -> usize {
        let index = self.thread.rng.below(self.thread.files.len() as u64) as usize;
        let file = self.thread.files[index];
        let size = u64::from(file.size);
        if self.thread.rng.below(2) == 0 {
            self.compute(NAME_CLOCKS + size.div_ceil(CALL) * CALL_CLOCKS);
            let (offset, length) = self.span(file, 0, size);
            self.steps.push(Step::Read { offset, length, part: Part::Reads });
            return 0;
        }
        let room = self.load.largest.0 - size;
        let more = self.thread.rng.below(room + 1);
        self.compute(NAME_CLOCKS + more.div_ceil(CALL) * CALL_CLOCKS);
        if more == 0 {
            return 1;
        }
        if !size.is_multiple_of(BLOCK) {
            let (offset, length) = self.span(file, size, size);
            let length = length.max(BLOCK as u32);
            self.steps.push(Step::Read { offset, length, part: Part::Reads });
        }
        let (offset, length) = self.span(file, size, size + more);
        self.steps.push(Step::Write { offset, length, part: Part::Writes });
        self.inode(file);
        self.thread.files[index].size = (size + more) as u32;
        1
    }

    fn create_or_delete(&mut self) {
        let wants = self.thread.rng.below(2) == 0;
        let place = if wants || self.thread.files.len() < 2 { self.thread.free.pop() } else { None };
        if let Some(place) = place {
            let file = File { place, size: size(self.load, &mut self.thread.rng) };
            let bytes = u64::from(file.size);
            self.compute(NAME_CLOCKS + bytes.div_ceil(CALL) * CALL_CLOCKS);
            self.names(file);
            let (offset, length) = self.span(file, 0, bytes);
            self.steps.push(Step::Write { offset, length, part: Part::Writes });
            self.thread.files.push(file);
            return;
        }
        let index = self.thread.rng.below(self.thread.files.len() as u64) as usize;
        let file = self.thread.files.swap_remove(index);
        self.compute(NAME_CLOCKS);
        self.names(file);
        self.thread.free.push(file.place);
    }
}

impl Application for Postmark {
    fn actors(&self) -> u32 {
        self.threads.len() as u32
    }

    fn manner(&self, _actor: u32) -> Manner {
        Manner { direct: false, depth: 1 }
    }

    fn next(&mut self, actor: u32) -> Step {
        let thread = &mut self.threads[actor as usize];
        if let Some(step) = thread.steps.pop() {
            return step;
        }
        if thread.left == 0 {
            return Step::Over;
        }
        thread.left -= 1;
        let mut script = Script { load: &self.load, thread, steps: Vec::new() };
        let kind = script.read_or_append();
        script.create_or_delete();
        script.steps.push(Step::End(kind));
        let mut steps = script.steps;
        steps.reverse();
        thread.steps = steps;
        thread.steps.pop().expect("a transaction has steps")
    }

    fn woken(&mut self) -> Option<u32> {
        None
    }

    fn begin(&mut self) {}

    fn hits(&self) -> Option<(u64, u64)> {
        None
    }

    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Bytes;

    fn run(load: &Load, seed: u64) -> (Postmark, Vec<Step>) {
        let length = needed(load, 2);
        let mut postmark = Postmark::new(load, 2, Region::new(1 << 20, length), seed);
        let steps = (0..200_000).map(|turn| postmark.next(turn % 2)).collect();
        (postmark, steps)
    }

    #[test]
    fn it_stays_within_its_region_and_in_whole_blocks() {
        let load = Load { transactions: u64::MAX, ..Load::default() };
        let end = (1 << 20) + needed(&load, 2);
        for step in run(&load, 3).1 {
            if let Step::Read { offset, length, .. } | Step::Write { offset, length, .. } = step {
                assert!(length > 0 && u64::from(length) % BLOCK == 0 && offset % BLOCK == 0, "{step:?}");
                assert!(offset >= 1 << 20 && offset + u64::from(length) <= end, "{step:?}");
            }
        }
    }

    #[test]
    fn reads_and_appends_creations_and_deletions_are_half_each() {
        let load = Load { files: 2000, transactions: u64::MAX, ..Load::default() };
        let (postmark, steps) = run(&load, 3);
        let ended = |kind: usize| steps.iter().filter(|&&step| step == Step::End(kind)).count() as f64;
        let all = ended(0) + ended(1);
        assert!((ended(0) - all / 2.0).abs() < 2.0 * all.sqrt());
        // The number of files walks at random: one step for each transaction.
        for thread in &postmark.threads {
            let walked = thread.files.len() as f64 - 2000.0;
            assert!(walked.abs() < 3.0 * (all / 2.0).sqrt(), "{walked} after {all}");
        }
    }

    #[test]
    fn no_two_files_share_a_place_and_none_is_lost() {
        let load = Load { files: 50, transactions: u64::MAX, ..Load::default() };
        let (postmark, _) = run(&load, 9);
        for thread in &postmark.threads {
            let mut all: Vec<u32> =
                thread.files.iter().map(|file| file.place).chain(thread.free.clone()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..places(&load) as u32).collect::<Vec<_>>());
            assert!(thread.files.iter().all(|file| u64::from(file.size) <= load.largest.0));
        }
    }

    #[test]
    fn it_ends_after_its_transactions_and_repeats_with_its_seed() {
        let load = Load { largest: Bytes(20_000), transactions: 100, ..Load::default() };
        let (first, second) = (run(&load, 5).1, run(&load, 5).1);
        assert_eq!(first, second);
        assert_ne!(first, run(&load, 6).1);
        assert_eq!(first.iter().filter(|step| matches!(step, Step::End(_))).count(), 200);
        assert_eq!(first.last(), Some(&Step::Over));
    }
}
