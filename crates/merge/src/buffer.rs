//! What memory may go around the page cache?

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Owned bytes, zero at first, at an address that direct I/O (`O_DIRECT`) takes.
pub struct Buffer {
    memory: Vec<u8>,
    first: usize,
    length: usize,
}

impl Buffer {
    /// Addresses are multiples of this, bytes: a page, which every device takes.
    pub const ALIGNMENT: usize = 4096;

    /// So many bytes.
    pub fn new(length: usize) -> Buffer {
        let memory = vec![0; length + Buffer::ALIGNMENT - 1];
        // The heap's place of a vector that never grows does not change.
        let first = memory.as_ptr().addr().wrapping_neg() % Buffer::ALIGNMENT;
        Buffer { memory, first, length }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.first..self.first + self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..self.first + self.length]
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_page_wherever_it_is_moved() {
        let buffers: Vec<Buffer> = [0, 1, 512, 4096, 100_000].map(Buffer::new).into();
        for (mut buffer, length) in buffers.into_iter().zip([0, 1, 512, 4096, 100_000]) {
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % Buffer::ALIGNMENT), (length, 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|byte| *byte == 7));
        }
    }
}
