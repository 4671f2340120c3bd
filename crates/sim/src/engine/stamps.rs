//! Which write does each block hold?
//!
//! Simulated devices carry no data. Under verification each write carries a stamp instead, a device keeps stamps where its
//! data would be, and a read must bring the right one back. This store is for devices that put data where it was asked to
//! go; flash keeps stamps by physical page.

use super::{Kind, Request, Sim};

/// Bytes of a block: the smallest unit of an I/O.
const BLOCK: u64 = 512;
const BLOCKS_PER_CHUNK: usize = 4096;

/// Stamps of a device of any size; memory only for what was written.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    chunks: Vec<Option<Box<[u32; BLOCKS_PER_CHUNK]>>>,
    off: bool,
}

impl Stamps {
    /// Stamps of a new device; none are kept unless a job verifies.
    pub fn of_device(sim: &Sim) -> Stamps {
        Stamps { off: !sim.keeps_stamps(), ..Stamps::default() }
    }

    /// The bytes were written with `stamp`; 0 forgets them.
    pub fn write(&mut self, offset: u64, length: u32, stamp: u32) {
        for block in blocks(offset, length) {
            let (chunk, place) = split(block);
            if self.chunks.len() <= chunk {
                self.chunks.resize(chunk + 1, None);
            }
            self.chunks[chunk].get_or_insert_with(|| Box::new([0; BLOCKS_PER_CHUNK]))[place] = stamp;
        }
    }

    /// Does to the stamps what a request asks, for a device that does all of it at once: a write leaves its own, a trim none, a
    /// read takes what it finds.
    pub fn keep(&mut self, request: &mut Request) {
        match request.kind {
            _ if self.off => {}
            Kind::Write => self.write(request.offset, request.length, request.stamp),
            Kind::Trim => self.write(request.offset, request.length, 0),
            Kind::Read => request.stamp = self.read(request.offset, request.length),
            Kind::Flush | Kind::Compute => {}
        }
    }

    /// The stamp of all of these bytes: 0 when they were never written, [`Request::TORN`] when blocks differ.
    pub fn read(&self, offset: u64, length: u32) -> u32 {
        let mut stamps = blocks(offset, length).map(|block| {
            let (chunk, place) = split(block);
            self.chunks.get(chunk).and_then(Option::as_ref).map_or(0, |stamps| stamps[place])
        });
        let first = stamps.next().unwrap_or(0);
        if stamps.all(|stamp| stamp == first) { first } else { Request::TORN }
    }
}

fn blocks(offset: u64, length: u32) -> impl Iterator<Item = u64> {
    offset / BLOCK..(offset + u64::from(length)).div_ceil(BLOCK)
}

fn split(block: u64) -> (usize, usize) {
    ((block / BLOCKS_PER_CHUNK as u64) as usize, (block % BLOCKS_PER_CHUNK as u64) as usize)
}
