//! What do the buffers hold?
//!
//! Each I/O in flight has a buffer of its own to read into, and another to write from. Write buffers are filled once,
//! as the job asks. Random ones get a number that never comes again at the start of each 4 KiB before each write: the
//! content is incompressible and no two blocks are alike, so neither compression nor deduplication can answer for the
//! medium, and it costs one store per 4 KiB instead of filling the buffer anew.

use iostack_model::{Bytes, Data, Job, Repeated};
use iostack_workload::{Op, Rng, fill_buffer};

use crate::sys::memory::Buffers;
use crate::{EngineError, Result};

/// Smallest unit in which storage is known to find duplicates.
const TAG_EVERY: usize = 4096;

/// Odd, with well-mixed bits (2^64 over the golden ratio): the tags visit all of 2^64 before one comes again.
const TAG_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The buffers of one thread.
pub(crate) struct Payload {
    pub(crate) reads: Buffers,
    pub(crate) writes: Buffers,
    tag: u64,
    tagged: bool,
    /// Share of blocks that keep the content they had, in percent.
    duplicates: u64,
    /// Set of blocks that they repeat, where there are several.
    set: Option<WorkingSet>,
    rng: Rng,
}

/// Blocks that come again, each made anew from its number.
struct WorkingSet {
    blocks: u64,
    seed: u64,
    data: Data,
}

impl WorkingSet {
    fn repeated(data: &Data, seed: u64, thread: u32, region: u64) -> Option<WorkingSet> {
        let Data::Repeated(Repeated { set_percent: percent @ 1.., shared, .. }) = *data else { return None };
        let seed = if shared { seed } else { Rng::stream(seed, u64::from(thread)).next_u64() };
        let blocks = (region / TAG_EVERY as u64).saturating_mul(u64::from(percent)) / 100;
        Some(WorkingSet { blocks: blocks.max(1), seed, data: data.clone() })
    }

    fn write(&self, block: &mut [u8], rng: &mut Rng) {
        let mut its_own = Rng::stream(self.seed, rng.below(self.blocks));
        fill_buffer(block, &self.data, &mut its_own);
    }
}

impl Payload {
    /// Buffers for `depth` I/Os in flight of the job's largest block, in a region of so many bytes; `verifies` when written
    /// data is read back.
    pub(crate) fn new(job: &Job, depth: usize, thread: u32, verifies: bool, region: u64) -> Result<Payload> {
        let length = job.block_sizes.largest().0 as usize;
        let buffers = |wanted: bool| {
            let (huge, asked) = (job.host.huge_pages, Bytes((depth * length) as u64));
            Buffers::in_pages(if wanted { depth } else { 0 }, length, huge).map_err(|source| {
                if huge {
                    EngineError::NoHugePages { asked, pages: asked.0.div_ceil(2 << 20), source }
                } else {
                    EngineError::NoMemory { asked, source }
                }
            })
        };
        let reads = buffers(job.mix.read > 0 || verifies)?;
        let mut writes = buffers(job.mix.write > 0)?;
        let mut rng = Rng::from_seed(job.seed ^ (u64::from(thread) << 32 | 0x5EED));
        for index in 0..writes.count {
            let stride = writes.stride;
            fill_buffer(writes.slice(index, stride), &job.data, &mut rng);
        }
        let duplicates = match job.data {
            Data::Duplicate(percent) | Data::Repeated(Repeated { percent, .. }) => u64::from(percent),
            _ => 0,
        };
        let tagged = match job.data {
            Data::Zeroes | Data::Pattern(_) => false,
            // Also what compresses is different in every block.
            Data::Compressible(percent) | Data::CompressibleBy(percent, _) => percent < 100,
            Data::Random | Data::Duplicate(_) | Data::Repeated(_) => true,
        };
        let set = WorkingSet::repeated(&job.data, job.seed, thread, region);
        Ok(Payload { reads, writes, tag: rng.next_u64(), tagged, duplicates, set, rng })
    }

    /// The buffer that the slot reads into.
    #[inline]
    pub(crate) fn incoming(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.reads.slice(slot, length)
    }

    /// Data of a completed read; none for other directions.
    pub(crate) fn data_of(&mut self, op: &Op, slot: usize) -> &[u8] {
        if op.direction == 0 { self.reads.slice(slot, op.length as usize) } else { &[] }
    }

    /// The buffer that the slot writes from, fresh.
    #[inline]
    pub(crate) fn outgoing(&mut self, slot: usize, length: usize) -> &mut [u8] {
        let buffer = self.writes.slice(slot, length);
        if self.tagged {
            for block in buffer.chunks_mut(TAG_EVERY) {
                let again = self.duplicates > 0 && self.rng.below(100) < self.duplicates;
                if let Some(set) = self.set.as_ref().filter(|_| again) {
                    set.write(block, &mut self.rng);
                } else if let Some(first) = block.first_chunk_mut() {
                    if again {
                        // All blocks at this place of the buffer that have no tag are alike.
                        *first = [0; 8];
                        continue;
                    }
                    *first = self.tag.to_ne_bytes();
                    self.tag = self.tag.wrapping_add(TAG_STEP);
                }
            }
        }
        buffer
    }
}
