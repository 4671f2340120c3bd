//! Which random worlds do the tests check against?
//!
//! Seeded draws of known distributions: tests compare what the crate says with what is true of them.

use std::f64::consts::TAU;

/// A seeded source (splitmix64, <https://prng.di.unimi.it/splitmix64.c>).
pub(crate) struct Samples(u64);

impl Samples {
    pub(crate) fn new(seed: u64) -> Self {
        Samples(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// `count` values around `mean` with relative deviation `spread`, each keeping `memory` of the one before:
    /// AR(1), stationary from the first element.
    pub(crate) fn series(&mut self, count: usize, mean: f64, spread: f64, memory: f64) -> Vec<f64> {
        let fresh = (1.0 - memory * memory).sqrt();
        let mut state = self.normal();
        (0..count)
            .map(|_| {
                let value = mean * (1.0 + spread * state);
                state = memory * state + fresh * self.normal();
                value
            })
            .collect()
    }
}
