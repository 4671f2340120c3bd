//! Whose data are these?
//!
//! Each 512 bytes hold their own offset and a seed, so that a block which went to the wrong buffer, came from the wrong place or is
//! of an older write is told from the right one.

use std::path::{Path, PathBuf};

pub(crate) const BLOCK: usize = 512;
pub(crate) const PAGE: usize = 4096;

/// Memory for direct I/O.
#[derive(Clone)]
#[repr(align(4096))]
pub(crate) struct Page(pub(crate) [u8; PAGE]);

impl Page {
    pub(crate) fn zero() -> Page {
        Page([0; PAGE])
    }
}

/// Reads of a group: each page from its offset.
pub(crate) fn group(offsets: impl Iterator<Item = u64>, memory: &mut [Page]) -> Vec<(u64, &mut [u8])> {
    offsets.zip(memory).map(|(offset, page)| (offset, &mut page.0[..])).collect()
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 29
}

fn block(offset: u64, seed: u64) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
        let value = match index {
            0 => offset,
            1 => seed,
            _ => mix(offset ^ mix(seed ^ index as u64)),
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Fills memory with what belongs to an offset, a multiple of 512.
pub(crate) fn fill(buffer: &mut [u8], offset: u64, seed: u64) {
    for (index, part) in buffer.chunks_mut(BLOCK).enumerate() {
        part.copy_from_slice(&block(offset + (index * BLOCK) as u64, seed)[..part.len()]);
    }
}

/// Bytes that belong to the offset 0.
pub(crate) fn filled(bytes: usize, seed: u64) -> Vec<u8> {
    let mut whole = vec![0; bytes];
    fill(&mut whole, 0, seed);
    whole
}

/// True when all of the memory belongs to that offset and seed.
pub(crate) fn is_right(buffer: &[u8], offset: u64, seed: u64) -> bool {
    let parts = buffer.chunks(BLOCK).enumerate();
    parts.into_iter().all(|(index, part)| *part == block(offset + (index * BLOCK) as u64, seed)[..part.len()])
}

/// A new file of some bytes.
pub(crate) fn new_file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the folder can be written");
    path
}
