//! What does a seed give?
//!
//! Numbers that look random and that the same seed gives again (splitmix64, <https://prng.di.unimi.it/splitmix64.c>).

/// Seeded source of random bits.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub(crate) fn of_seed(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Source `stream` of a seed: sources of one seed have nothing in common.
    pub fn new(seed: u64, stream: u64) -> Self {
        let own = Random::of_seed(seed).bits();
        Random(Random(own ^ stream.wrapping_mul(0xd134_2543_de82_ef95)).bits())
    }

    /// The next 64 bits, each a fair coin.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniformly distributed, 0 or more and below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_that_of_its_seed_and_stream() {
        let first = |seed, stream| Random::new(seed, stream).bits();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
        let mut seen: Vec<u64> = (0..1_000).map(|stream| first(7, stream)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_000);
    }

    #[test]
    fn each_bit_is_a_fair_coin() {
        // 6,400 tosses each; 5 deviations of 40 are 200.
        for bit in 0..64 {
            let heads = (0..6_400).filter(|&stream| Random::new(3, stream).bits() >> bit & 1 == 1).count();
            assert!((3_000..=3_400).contains(&heads), "bit {bit}: {heads} of 6400");
        }
    }
}
