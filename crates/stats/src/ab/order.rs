//! In which order do the two run, and with which seeds?

use super::AbSide::{self, A, B};
use crate::random::Random;

/// Streams of the seed: the coin of each block's order, and the seeds of runs.
const ORDER: u64 = 1;
const RUNS: u64 = 2;

/// The order of a block, from 0: which of the two mirror images is decided by a coin.
pub fn ab_order(seed: u64, block: u32) -> [AbSide; 4] {
    let coin = Random::new(Random::new(seed, ORDER).bits(), u64::from(block)).bits();
    if coin >> 63 == 0 { [A, B, B, A] } else { [B, A, A, B] }
}

/// The seed of the job in run `slot` (0..4) of a block: another one for each, so that what the seed decides is part of
/// the noise. It belongs to the slot and not to the side, as everything must that is not the difference itself.
pub fn ab_seed(seed: u64, block: u32, slot: u32) -> u64 {
    let of_runs = Random::new(seed, RUNS).bits();
    // Seeds are shown and typed: half of the bits are enough.
    Random::new(of_runs, u64::from(block) * 4 + u64::from(slot)).bits() >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_order_comes_half_of_the_time_and_cancels_a_drift() {
        for seed in 1..=20 {
            let first_a = (0..1_000).filter(|&block| ab_order(seed, block)[0] == A).count();
            assert!((420..=580).contains(&first_a), "seed {seed}: {first_a} of 1000");
        }
        for block in 0..50 {
            let order = ab_order(1, block);
            let places = |side| (0..4).filter(|&slot| order[slot] == side).sum::<usize>();
            assert_eq!((places(A), places(B)), (3, 3), "{order:?}");
        }
    }

    #[test]
    fn no_two_runs_share_a_seed() {
        let mut seeds: Vec<u64> =
            (0..200).flat_map(|block| (0..4).map(move |slot| ab_seed(9, block, slot))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 800);
        assert_ne!(ab_seed(1, 0, 0), ab_seed(2, 0, 0));
    }
}
