//! Is what comes back what was written?
//!
//! Each 512 bytes carry their own header, so that any later process can check any part of the target, in blocks of
//! another size than they were written in, with no memory of the writing one; and a write that was torn at a sector
//! is seen.
//!
//! ```text
//!   0        4      8        16           24     32             40             44         48
//!   | magic  | crc  | offset | generation | seed | write offset | write length | reserved | content ...
//! ```
//!
//! All little-endian. `crc` is the crc32c of everything behind it up to the end of the 512 bytes. The sectors of one
//! write share write offset, write length and generation. Start reading at [`stamp`] and [`check`].

/// Bytes of the header at the start of each sector.
pub const HEADER_LEN: usize = 48;

/// Bytes that carry one header. The smallest logical block of any device, so every aligned I/O is whole sectors.
pub const SECTOR_LEN: usize = 512;

const MAGIC: [u8; 4] = *b"iost";
const _: () = assert!(HEADER_LEN < SECTOR_LEN);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    offset: u64,
    generation: u64,
    seed: u64,
    write_offset: u64,
    write_length: u32,
}

/// Data that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset {offset}: {found}")]
pub struct Mismatch {
    /// First byte of the sector that does not match.
    pub offset: u64,
    /// Content that was found.
    pub found: Found,
}

/// Content of a sector that does not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Found {
    /// No header: never written by a verifying job, overwritten, or trimmed.
    #[error("{}", if *.zeroes { "all zeroes where written data should be" } else { "no verify header" })]
    NoHeader {
        /// All bytes are zero.
        zeroes: bool,
    },
    /// A header, but the content behind it changed.
    #[error("crc32c {computed:08x}, the header says {stored:08x}")]
    WrongChecksum {
        /// Checksum in the header.
        stored: u32,
        /// Checksum of the content.
        computed: u32,
    },
    /// A sound sector that belongs elsewhere: a misdirected write or read.
    #[error("data of offset {belongs}")]
    OtherOffset {
        /// Offset at which it belongs.
        belongs: u64,
    },
    /// One write of several sectors, only some of which arrived.
    #[error("torn write: generation {before} before, {here} from here")]
    Torn {
        /// Generation of the sectors before.
        before: u64,
        /// Generation from this sector on.
        here: u64,
    },
    /// The buffer is too short to hold a header.
    #[error("shorter than a verify header")]
    TooShort,
    /// Not the byte of the pattern.
    #[error("byte {byte:02x}, the pattern has {expected:02x}")]
    NotPattern {
        /// Byte that was found.
        byte: u8,
        /// Byte that was expected.
        expected: u8,
    },
}

/// Writes the headers into a buffer that is about to be written at `offset`. Keeps the content between them.
///
/// `generation` tells one write of the same place from another. A buffer shorter than [`HEADER_LEN`] is left alone (and
/// [`check`] refuses it).
pub fn stamp(buffer: &mut [u8], offset: u64, generation: u64, seed: u64) {
    let (write_offset, write_length) = (offset, buffer.len() as u32);
    for (at, sector) in sectors(buffer.len()) {
        let header = Header { offset: offset + at as u64, generation, seed, write_offset, write_length };
        header.write(&mut buffer[at..at + sector]);
    }
}

/// Checks what was read from `offset`; the smallest generation found, or the first sector that does not match.
pub fn check(buffer: &[u8], offset: u64) -> Result<u64, Mismatch> {
    if buffer.len() < HEADER_LEN {
        return Err(Mismatch { offset, found: Found::TooShort });
    }
    let mut smallest = u64::MAX;
    let mut before: Option<Header> = None;
    for (at, sector) in sectors(buffer.len()) {
        let place = offset + at as u64;
        let header = Header::read(&buffer[at..at + sector], place)
            .map_err(|found| Mismatch { offset: place, found })?;
        if let Some(before) = before
            && before.torn_from(&header)
        {
            let found = Found::Torn { before: before.generation, here: header.generation };
            return Err(Mismatch { offset: place, found });
        }
        smallest = smallest.min(header.generation);
        before = Some(header);
    }
    Ok(smallest)
}

/// Checks that what was read from `offset` is `pattern`, again and again from its start.
pub fn check_pattern(buffer: &[u8], offset: u64, pattern: &[u8]) -> Result<(), Mismatch> {
    let mut bytes = (offset..).zip(buffer.iter().zip(pattern.iter().cycle()));
    match bytes.find(|(_, (byte, expected))| byte != expected) {
        None => Ok(()),
        Some((offset, (&byte, &expected))) => {
            Err(Mismatch { offset, found: Found::NotPattern { byte, expected } })
        }
    }
}

/// True when the first and the last sector were read from where they say that they belong. The content between is not
/// summed: this costs some nanoseconds where [`check`] costs a microsecond, and finds data that came to the wrong buffer.
pub fn belongs(buffer: &[u8], offset: u64) -> bool {
    let is_of = |at: usize| {
        let place = (offset + at as u64).to_le_bytes();
        buffer[at..at + 4] == MAGIC && buffer[at + 8..at + 16] == place
    };
    let sectors = buffer.len() / SECTOR_LEN;
    sectors > 0 && is_of(0) && is_of((sectors - 1) * SECTOR_LEN)
}

/// Makes sure that [`belongs`] is true only of what arrives from now on.
pub fn forget(buffer: &mut [u8]) {
    let sectors = buffer.len() / SECTOR_LEN;
    if let Some(last) = sectors.checked_sub(1) {
        buffer[..4].fill(0);
        buffer[last * SECTOR_LEN..last * SECTOR_LEN + 4].fill(0);
    }
}

/// Start and length of each sector; a rest too short for a header belongs to the sector before it.
fn sectors(length: usize) -> impl Iterator<Item = (usize, usize)> {
    let whole = length / SECTOR_LEN;
    let rest = length % SECTOR_LEN;
    let count = whole + usize::from(rest >= HEADER_LEN);
    (0..count).map(move |index| {
        let at = index * SECTOR_LEN;
        (at, if index + 1 == count { length - at } else { SECTOR_LEN })
    })
}

impl Header {
    fn write(&self, sector: &mut [u8]) {
        sector[0..4].copy_from_slice(&MAGIC);
        sector[8..16].copy_from_slice(&self.offset.to_le_bytes());
        sector[16..24].copy_from_slice(&self.generation.to_le_bytes());
        sector[24..32].copy_from_slice(&self.seed.to_le_bytes());
        sector[32..40].copy_from_slice(&self.write_offset.to_le_bytes());
        sector[40..44].copy_from_slice(&self.write_length.to_le_bytes());
        sector[44..48].fill(0);
        let crc = crc32c::crc32c(&sector[8..]);
        sector[4..8].copy_from_slice(&crc.to_le_bytes());
    }

    fn read(sector: &[u8], offset: u64) -> Result<Header, Found> {
        if sector[0..4] != MAGIC {
            return Err(Found::NoHeader { zeroes: sector.iter().all(|&b| b == 0) });
        }
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&sector[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (stored, computed) = ((word(0) >> 32) as u32, crc32c::crc32c(&sector[8..]));
        if stored != computed {
            return Err(Found::WrongChecksum { stored, computed });
        }
        let header = Header {
            offset: word(8),
            generation: word(16),
            seed: word(24),
            write_offset: word(32),
            write_length: word(40) as u32,
        };
        if header.offset != offset {
            return Err(Found::OtherOffset { belongs: header.offset });
        }
        Ok(header)
    }

    /// True when both sectors claim the same write by place, but not by generation.
    fn torn_from(&self, next: &Header) -> bool {
        self.write_offset == next.write_offset
            && self.write_length == next.write_length
            && (self.generation != next.generation || self.seed != next.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, fill_buffer};
    use iostack_model::Data;

    fn written(length: usize, offset: u64, generation: u64) -> Vec<u8> {
        let mut buffer = vec![0; length];
        fill_buffer(&mut buffer, &Data::Random, &mut Rng::from_seed(generation));
        stamp(&mut buffer, offset, generation, 42);
        buffer
    }

    #[test]
    fn what_was_written_checks_in_blocks_of_any_size() {
        let buffer = written(8192, 4096, 3);
        for block in [512, 1024, 4096, 8192] {
            for (index, part) in buffer.chunks(block).enumerate() {
                assert_eq!(check(part, 4096 + (index * block) as u64), Ok(3));
            }
        }
        for length in [48, 100, 511, 513, 559, 560, 1000, 4097] {
            assert_eq!(check(&written(length, 7, 1), 7), Ok(1), "{length}");
        }
    }

    #[test]
    fn a_quick_look_tells_a_block_from_its_neighbour_and_from_what_was_there_before() {
        let mut block = written(4096, 8192, 1);
        assert!(belongs(&block, 8192) && !belongs(&block, 4096) && !belongs(&block[..511], 8192));
        assert!(!belongs(&[&block[..2048], &written(2048, 2048, 1)[..]].concat(), 8192), "half of another");
        forget(&mut block);
        assert!(!belongs(&block, 8192));
        forget(&mut []);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut buffer = written(1024, 0, 1);
        for bit in 0..buffer.len() * 8 {
            buffer[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&buffer, 0).is_err(), "bit {bit}");
            buffer[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_torn_write_is_seen_by_the_checker() {
        let mut buffer = written(4096, 0, 1);
        buffer[2048..].copy_from_slice(&written(4096, 0, 2)[2048..]);
        let torn = Mismatch { offset: 2048, found: Found::Torn { before: 1, here: 2 } };
        assert_eq!(check(&buffer, 0), Err(torn));
    }

    #[test]
    fn neighbours_of_other_generations_are_no_tear() {
        let mut buffer = written(4096, 0, 7);
        buffer.extend(written(4096, 4096, 5));
        assert_eq!(check(&buffer, 0), Ok(5));
    }

    #[test]
    fn a_byte_that_is_not_the_patterns_is_named() {
        let pattern = [1, 2, 3];
        let mut buffer = vec![0; 100];
        fill_buffer(&mut buffer, &Data::Pattern(pattern.to_vec()), &mut Rng::from_seed(1));
        assert_eq!(check_pattern(&buffer, 4096, &pattern), Ok(()));
        buffer[99] = 7;
        let found = Found::NotPattern { byte: 7, expected: 1 };
        assert_eq!(check_pattern(&buffer, 4096, &pattern), Err(Mismatch { offset: 4195, found }));
    }

    #[test]
    fn a_misdirected_block_and_zeroes_are_named() {
        let buffer = written(4096, 8192, 1);
        assert_eq!(
            check(&buffer, 4096),
            Err(Mismatch { offset: 4096, found: Found::OtherOffset { belongs: 8192 } })
        );
        assert_eq!(check(&[0; 512], 0), Err(Mismatch { offset: 0, found: Found::NoHeader { zeroes: true } }));
        assert_eq!(check(&[1; 10], 0), Err(Mismatch { offset: 0, found: Found::TooShort }));
    }
}
