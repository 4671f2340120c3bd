//! How is each block visited once, in no order anyone can see, without remembering which were?
//!
//! A bijection of 0..2^k, the smallest such range that holds all blocks, is applied to a counter; results outside
//! the blocks are skipped. Less than half of the range is, so a block costs less than two tries on average.
//!
//! The bijection is three rounds of: exclusive-or a key, multiply by an odd constant modulo 2^k, fold the upper half onto
//! the lower (each step can be undone, so the whole can). The constants are those of splitmix64 (Steele, Lea,
//! Flood 2014). fio uses a shift register for the same purpose (`random_generator=lfsr`); there, each block number is the last
//! one halved or halved and mixed, an order that a drive with read-ahead can see.

use super::scatter::{LANES, Lanes, ODD, Steps};
use crate::Rng;
use crate::rng::stir;
use crate::sys;

/// Visits 0..count in a scattered order.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    count: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
    counter: u64,
    /// The next ones, scattered ahead, of which `given..ready` are still to come.
    lanes: Lanes,
    given: usize,
    ready: usize,
}

impl Shuffle {
    /// An order of 0..count that depends on `key`. `count` must not be 0.
    pub(super) fn new(count: u64, key: u64) -> Shuffle {
        assert!(count > 0, "an order of no blocks");
        let bits = u64::BITS - (count - 1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let shift = bits.div_ceil(2).max(1);
        Shuffle { count, mask, shift, keys: keys(key), counter: 0, lanes: [0; LANES], given: 0, ready: 0 }
    }

    /// Begins again in another order.
    pub(super) fn restart(&mut self, rng: &mut Rng) {
        self.keys = keys(rng.next_u64());
        (self.counter, self.given, self.ready) = (0, 0, 0);
    }

    /// The next in order; after all have come, the same order again.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        if self.is_narrow() {
            return u64::from(self.next_many(1)[0]);
        }
        loop {
            let scattered = self.scatter_in_range(self.counter);
            // In a full turn each of 0..count comes once, so the loop ends.
            self.counter = self.counter.wrapping_add(1) & self.mask;
            if scattered < self.count {
                return scattered;
            }
        }
    }

    /// The next in order, as many as are at hand and at most so many; at least one when one is wanted.
    ///
    /// Of few enough blocks several are scattered together: the steps need no more bits than the mask has, so that 32-bit
    /// lanes give what 64-bit ones would (measured: 13 instructions per block less).
    pub(super) fn next_many(&mut self, most: usize) -> &[u32] {
        while self.given == self.ready {
            self.scatter_next();
        }
        let first = self.given;
        self.given = self.ready.min(first + most);
        &self.lanes[first..self.given]
    }

    /// True when blocks have 32 bits, as [`Shuffle::next_many`] needs it.
    pub(super) fn is_narrow(&self) -> bool {
        u32::try_from(self.mask).is_ok()
    }

    fn scatter_next(&mut self) {
        let (counter, mask) = (self.counter as u32, self.mask as u32);
        for (lane, step) in self.lanes.iter_mut().zip(0..) {
            *lane = counter.wrapping_add(step) & mask;
        }
        self.counter = (self.counter + LANES as u64) & self.mask;
        sys::scatter(&self.steps(), &mut self.lanes);
        (self.given, self.ready) = (0, LANES);
        if self.count <= self.mask {
            let (count, mut kept) = (self.count as u32, 0);
            for at in 0..LANES {
                let lane = self.lanes[at];
                // `kept` is at most `at`; the remainder says so to the compiler.
                self.lanes[kept % LANES] = lane;
                kept += usize::from(lane < count);
            }
            self.ready = kept;
        }
    }

    /// [`Shuffle::place`] of these blocks, which have 32 bits.
    pub(super) fn places(&self, blocks: &mut Lanes) {
        sys::scatter(&self.steps(), blocks);
        if self.count <= self.mask {
            for block in blocks.iter_mut().filter(|block| u64::from(**block) >= self.count) {
                *block = self.place(u64::from(*block)) as u32;
            }
        }
    }

    fn steps(&self) -> Steps {
        Steps { keys: self.keys, mask: self.mask as u32, shift: self.shift }
    }

    /// The place of `block` in the order: a bijection of 0..count.
    #[inline]
    pub(super) fn place(&self, block: u64) -> u64 {
        let mut place = self.scatter_in_range(block);
        // Following the cycle that `block` lies on must lead back into 0..count, where it started (cycle walking,
        // Black and Rogaway 2002).
        while place >= self.count {
            place = self.scatter_in_range(place);
        }
        place
    }

    #[inline]
    fn scatter_in_range(&self, from: u64) -> u64 {
        let mut x = from;
        for (key, odd) in self.keys.iter().zip(ODD) {
            x = (x ^ key).wrapping_mul(odd) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

fn keys(seed: u64) -> [u64; 3] {
    [stir(seed), stir(seed ^ 1), stir(seed ^ 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_comes_once_for_every_count() {
        for count in (1..300).chain([1023, 1024, 1025, 65_535, 65_537]) {
            let mut shuffle = Shuffle::new(count, 99);
            for _ in 0..2 {
                let mut seen = vec![false; count as usize];
                for _ in 0..count {
                    let block = shuffle.next() as usize;
                    assert!(!seen[block], "{block} of {count} twice");
                    seen[block] = true;
                }
                shuffle.restart(&mut Rng::from_seed(count));
            }
        }
    }

    #[test]
    fn places_are_a_bijection_too() {
        for count in [1, 2, 3, 100, 1025] {
            let shuffle = Shuffle::new(count, 5);
            let mut places: Vec<u64> = (0..count).map(|block| shuffle.place(block)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count));
        }
    }

    /// The order as it is defined: one block after the other, by 64 bits.
    fn defined(shuffle: &Shuffle, wanted: usize) -> Vec<u64> {
        let scattered = (0..=shuffle.mask).cycle().map(|counter| shuffle.scatter_in_range(counter));
        scattered.filter(|&block| block < shuffle.count).take(wanted).collect()
    }

    #[test]
    fn scattered_together_they_are_the_same_as_one_by_one() {
        for count in
            [1, 2, 3, 63, 64, 65, 100, 1 << 14, 100_000, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40]
        {
            let mut shuffle = Shuffle::new(count, 7);
            let order = defined(&shuffle, 2000);
            let mut taken: Vec<u64> = (0..3).map(|_| shuffle.next()).collect();
            while shuffle.is_narrow() && taken.len() < 1900 {
                let most = taken.len() % 70 + 1;
                let many = shuffle.next_many(most);
                assert!((1..=most).contains(&many.len()));
                taken.extend(many.iter().map(|&block| u64::from(block)));
            }
            taken.extend((0..5).map(|_| shuffle.next()));
            assert_eq!(taken, order[..taken.len()], "{count}");
            let blocks: [u32; LANES] = std::array::from_fn(|step| ((count - 1) / 63 * step as u64) as u32);
            let mut places = blocks;
            if shuffle.is_narrow() {
                shuffle.places(&mut places);
                assert_eq!(
                    places.map(u64::from),
                    blocks.map(|block| shuffle.place(u64::from(block))),
                    "{count}"
                );
            }
        }
    }

    #[test]
    fn another_key_gives_another_order() {
        let order = |key| {
            let mut shuffle = Shuffle::new(1000, key);
            (0..1000).map(|_| shuffle.next()).collect::<Vec<_>>()
        };
        let same = order(1).iter().zip(order(2)).filter(|(a, b)| **a == *b).count();
        assert!(same < 15, "{same} of 1000 blocks at the same place; 1 is expected by chance");
    }

    #[test]
    fn consecutive_blocks_are_unrelated() {
        for count in [1 << 16, 100_000, 1_000_003] {
            let mut shuffle = Shuffle::new(count, 11);
            // The upper four bits of two consecutive blocks fill a 16 x 16 table evenly.
            let mut table = [0u32; 256];
            let mut last = shuffle.next();
            let draws = (count - 1).min(200_000);
            for _ in 0..draws {
                let block = shuffle.next();
                table[(last * 16 / count * 16 + block * 16 / count) as usize] += 1;
                last = block;
            }
            let expected = draws as f64 / 256.0;
            let chi: f64 = table.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            // 255 degrees of freedom: above 331 once in a thousand keys.
            assert!(chi < 331.0, "chi-square {chi} for {count} blocks");
        }
    }
}
