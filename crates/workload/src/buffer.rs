//! What do write buffers hold?
//!
//! Random content must cost little beside the write itself: one random number per 8 bytes, about 0.1 ns per byte.

use iostack_model::{Data, Repeated};

use crate::Rng;

/// Compressible content repeats its share in pieces this large, so that storage that compresses by the sector sees it
/// too (fio's `buffer_compress_chunk`, same default).
pub(crate) const COMPRESS_CHUNK: usize = 512;

/// Fills `buffer` with content of the kind the job asks for; random parts differ at each call.
pub fn fill_buffer(buffer: &mut [u8], data: &Data, rng: &mut Rng) {
    match data {
        Data::Zeroes => buffer.fill(0),
        Data::Random | Data::Duplicate(_) | Data::Repeated(Repeated { compressible: 0, .. }) => {
            fill_random(buffer, rng);
        }
        Data::Repeated(Repeated { compressible, chunk, .. }) => {
            fill_buffer(buffer, &Data::CompressibleBy(*compressible, *chunk), rng);
        }
        Data::Compressible(percent) => fill_compressible(buffer, *percent, COMPRESS_CHUNK, rng),
        Data::CompressibleBy(percent, chunk) => {
            let whole = buffer.len().max(1);
            let chunk = if *chunk == 0 { whole } else { whole.min(*chunk as usize) };
            fill_compressible(buffer, *percent, chunk, rng);
        }
        Data::Pattern(pattern) if pattern.is_empty() => buffer.fill(0),
        Data::Pattern(pattern) => {
            for chunk in buffer.chunks_mut(pattern.len()) {
                chunk.copy_from_slice(&pattern[..chunk.len()]);
            }
        }
    }
}

fn fill_compressible(buffer: &mut [u8], percent: u8, chunk: usize, rng: &mut Rng) {
    let percent = usize::from(percent).min(100);
    for chunk in buffer.chunks_mut(chunk) {
        let random = chunk.len() - chunk.len() * percent / 100;
        fill_random(&mut chunk[..random], rng);
        chunk[random..].fill(0);
    }
}

fn fill_random(buffer: &mut [u8], rng: &mut Rng) {
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    let rest = words.into_remainder();
    let last = rng.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(length: usize, data: &Data) -> Vec<u8> {
        let mut buffer = vec![0xEE; length];
        fill_buffer(&mut buffer, data, &mut Rng::from_seed(1));
        buffer
    }

    #[test]
    fn random_content_has_every_byte_about_equally_often() {
        let mut seen = [0u32; 256];
        for byte in filled(1 << 20, &Data::Random) {
            seen[usize::from(byte)] += 1;
        }
        // 4096 expected; 6 standard deviations are 384.
        assert!(seen.iter().all(|&n| n.abs_diff(4096) < 384), "{seen:?}");
    }

    #[test]
    fn two_fills_differ() {
        let mut rng = Rng::from_seed(1);
        let (mut a, mut b) = ([0; 4096], [0; 4096]);
        fill_buffer(&mut a, &Data::Random, &mut rng);
        fill_buffer(&mut b, &Data::Random, &mut rng);
        assert_ne!(a, b);
    }

    #[test]
    fn the_asked_share_is_zero_in_each_chunk() {
        for chunk in filled(4096, &Data::Compressible(75)).chunks(512) {
            assert!(chunk[128..].iter().all(|&b| b == 0));
            assert!(chunk[..128].windows(2).all(|pair| pair != [0, 0]));
        }
        let by_the_kib = filled(4096, &Data::CompressibleBy(25, 1024));
        assert!(
            by_the_kib
                .chunks(1024)
                .all(|chunk| chunk[768..].iter().all(|&b| b == 0) && chunk[760..768] != [0; 8])
        );
        for whole in [0, 1 << 20] {
            let whole = filled(4096, &Data::CompressibleBy(50, whole));
            assert!(whole[2048..].iter().all(|&b| b == 0) && whole[2040..2048] != [0; 8]);
        }
        assert!(filled(999, &Data::Zeroes).iter().all(|&b| b == 0));
    }

    #[test]
    fn a_pattern_repeats_and_is_cut_at_the_end() {
        assert_eq!(filled(7, &Data::Pattern(vec![1, 2, 3])), [1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(filled(3, &Data::Pattern(vec![])), [0, 0, 0]);
    }
}
