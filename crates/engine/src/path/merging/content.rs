//! Did each buffer get its own block?
//!
//! Our scratch file carries its offset in every sector, so each block that is read says whether it belongs where it was asked
//! for. Of data that others wrote, a sample is read with plain calls first; some requests go to that sample and must bring
//! the same.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use iostack_model::Data;
use iostack_workload::{Rng, fill_buffer, verify};

/// Blocks of foreign data to compare with, at most.
const SAMPLE: usize = 4096;
/// Time to read them.
const SAMPLE_TIME: Duration = Duration::from_millis(1500);
/// One of so many requests goes to the sample.
const SAMPLED: u64 = 16;

/// Knowledge of the target's data.
pub(crate) enum Content {
    /// Each sector says its offset.
    Stamped,
    /// Blocks and the sums of what plain calls read there.
    Sample(Sample),
}

/// Blocks of foreign data.
#[derive(Default)]
pub(crate) struct Sample {
    offsets: Vec<u64>,
    sums: HashMap<u64, u64>,
}

impl Sample {
    fn keep(&mut self, offset: u64, block: &[u8]) {
        self.offsets.push(offset);
        self.sums.insert(offset, sum(block));
    }
}

impl Content {
    /// Reads a sample of what is there.
    pub(crate) fn sample(file: &File, blocks: u64, request: usize, seed: u64) -> std::io::Result<Content> {
        let mut rng = Rng::stream(seed, u64::MAX);
        let (mut room, started) = (ReadRoom::new(request), Instant::now());
        let mut sample = Sample::default();
        while sample.offsets.len() < SAMPLE && started.elapsed() < SAMPLE_TIME {
            let offset = rng.below(blocks) * request as u64;
            file.read_exact_at(room.slice(), offset)?;
            sample.keep(offset, room.slice());
        }
        Ok(Content::Sample(sample))
    }

    /// Offset of the next request.
    pub(crate) fn next(&self, blocks: u64, request: u64, rng: &mut Rng) -> u64 {
        let draw = rng.next_u64();
        match self {
            Content::Sample(Sample { offsets, .. })
                if draw.is_multiple_of(SAMPLED) && !offsets.is_empty() =>
            {
                offsets[rng.below(offsets.len() as u64) as usize]
            }
            _ => rng.below(blocks) * request,
        }
    }

    /// The buffer before a read: what is in it would not pass.
    pub(crate) fn forget(&self, buffer: &mut [u8]) {
        match self {
            Content::Stamped => verify::forget(buffer),
            Content::Sample(_) => {
                for byte in [0, buffer.len() / 2, buffer.len() - 1] {
                    buffer[byte] = !buffer[byte];
                }
            }
        }
    }

    /// The buffer before a write: what belongs there.
    pub(crate) fn stamp(buffer: &mut [u8], offset: u64, seed: u64) {
        verify::stamp(buffer, offset, 1, seed);
    }

    /// True when what was read from `offset` is what is there, as far as that is known.
    pub(crate) fn check(&self, buffer: &[u8], offset: u64) -> Result<(), String> {
        let right = match self {
            Content::Stamped => verify::belongs(buffer, offset),
            Content::Sample(sample) => {
                sample.sums.get(&offset).is_none_or(|expected| sum(buffer) == *expected)
            }
        };
        if right { Ok(()) } else { Err(format!("offset {offset} brought other data than is there")) }
    }
}

/// Every word at its own weight, so that exchanged words show.
fn sum(buffer: &[u8]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    buffer
        .chunks(8)
        .fold(1, |sum: u64, bytes| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(word(bytes)))
}

/// Memory as direct I/O wants it.
pub(crate) struct ReadRoom {
    memory: Vec<u8>,
    at: usize,
    len: usize,
}

/// Largest block of a device that we read.
const ALIGNMENT: usize = 4096;

impl ReadRoom {
    pub(crate) fn new(len: usize) -> ReadRoom {
        let mut memory = vec![0; len + ALIGNMENT];
        let at = memory.as_ptr().align_offset(ALIGNMENT);
        fill_buffer(&mut memory, &Data::Random, &mut Rng::from_seed(len as u64));
        ReadRoom { memory, at, len }
    }

    pub(crate) fn slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.at..self.at + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbours_block_and_a_read_that_never_was_are_found() {
        let mut room = ReadRoom::new(4096);
        assert!(room.slice().as_ptr().align_offset(ALIGNMENT) == 0 && room.slice().len() == 4096);
        Content::stamp(room.slice(), 8192, 7);
        assert!(Content::Stamped.check(room.slice(), 8192).is_ok());
        assert!(Content::Stamped.check(room.slice(), 4096).is_err());
        Content::Stamped.forget(room.slice());
        assert!(Content::Stamped.check(room.slice(), 8192).is_err());
    }

    #[test]
    fn foreign_data_is_held_against_its_sample() {
        let mut room = ReadRoom::new(4096);
        let mut sample = Sample::default();
        sample.keep(4096, room.slice());
        let known = Content::Sample(sample);
        assert!(known.check(room.slice(), 4096).is_ok() && known.check(room.slice(), 0).is_ok());
        known.forget(room.slice());
        let error = known.check(room.slice(), 4096).expect_err("it was forgotten");
        assert!(error.contains("4096"), "{error}");
        let swapped = [[2u8; 8], [1; 8]].concat();
        assert_ne!(sum(&swapped), sum(&[[1u8; 8], [2; 8]].concat()));
    }

    #[test]
    fn some_requests_go_to_the_sample() {
        let mut sample = Sample::default();
        sample.keep(4096 * 5, &[]);
        let known = Content::Sample(sample);
        let mut rng = Rng::from_seed(1);
        let hits = (0..16_000).filter(|_| known.next(1 << 30, 4096, &mut rng) == 4096 * 5).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
