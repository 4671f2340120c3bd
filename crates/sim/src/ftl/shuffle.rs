//! A shuffled order of the numbers below a limit, without a table.
//!
//! Multiplying by an odd number and xoring with the upper half are bijections of b-bit numbers; three rounds of both
//! scatter neighbours. Numbers that fall beyond the limit go round again (cycle walking: Black and Rogaway 2002), less
//! than twice on average.

use iostack_workload::Rng;

#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    limit: u32,
    mask: u32,
    shift: u32,
    rounds: [Round; ROUNDS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    add: u32,
    factor: u32,
    inverse: u32,
}

const ROUNDS: usize = 3;

impl Shuffle {
    /// A bijection of `0..limit`; another key is another order.
    pub(super) fn new(limit: u32, key: u64) -> Shuffle {
        assert!(limit > 0, "nothing to shuffle");
        let bits = (u32::BITS - (limit - 1).leading_zeros()).max(2);
        let mask = u32::MAX >> (u32::BITS - bits);
        let mut rng = Rng::stream(key, u64::from(limit));
        let rounds = std::array::from_fn(|_| {
            let factor = rng.next_u64() as u32 | 1;
            Round { add: rng.next_u64() as u32, factor, inverse: inverse(factor) }
        });
        Shuffle { limit, mask, shift: bits.div_ceil(2), rounds }
    }

    #[inline]
    pub(super) fn forward(&self, mut number: u32) -> u32 {
        debug_assert!(number < self.limit);
        loop {
            for round in &self.rounds {
                number = number.wrapping_mul(round.factor).wrapping_add(round.add) & self.mask;
                number ^= number >> self.shift;
            }
            if number < self.limit {
                return number;
            }
        }
    }

    #[inline]
    pub(super) fn backward(&self, mut number: u32) -> u32 {
        debug_assert!(number < self.limit);
        loop {
            for round in self.rounds.iter().rev() {
                number ^= number >> self.shift;
                number = number.wrapping_sub(round.add).wrapping_mul(round.inverse) & self.mask;
            }
            if number < self.limit {
                return number;
            }
        }
    }
}

/// Newton's iteration doubles the right bits; an odd number is its own inverse in three.
fn inverse(odd: u32) -> u32 {
    (0..4).fold(odd, |guess, _| guess.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(guess))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_once_and_goes_back() {
        for limit in [1, 2, 3, 5, 17, 64, 1000, 4097] {
            let shuffle = Shuffle::new(limit, 7);
            let mut seen = vec![false; limit as usize];
            for number in 0..limit {
                let there = shuffle.forward(number);
                assert!(!std::mem::replace(&mut seen[there as usize], true), "{there} of {limit} twice");
                assert_eq!(shuffle.backward(there), number, "limit {limit}");
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let limit = 3_000_000;
        let shuffle = Shuffle::new(limit, 1);
        let runs: Vec<u32> = (0..64_000).map(|number| shuffle.forward(number)).collect();
        let mut buckets = [0u32; 64];
        for &there in &runs {
            buckets[(u64::from(there) * 64 / u64::from(limit)) as usize] += 1;
        }
        assert!(buckets.iter().all(|&count| (850..1150).contains(&count)), "{buckets:?}");
        let near = runs.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < limit / 100).count();
        assert!((900..1700).contains(&near), "{near} of 64000 neighbours are near, 1280 expected");
    }
}
