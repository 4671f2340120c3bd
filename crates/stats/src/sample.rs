//! Which random worlds do the tests check against?
//!
//! Seeded draws of known distributions: tests compare what the crate says with what is true of them.

use std::f64::consts::TAU;

use crate::random::Random;

/// Seeded source of draws.
pub(crate) struct Samples(Random);

impl Samples {
    pub(crate) fn new(seed: u64) -> Self {
        Samples(Random::of_seed(seed))
    }

    /// Number uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Number of the standard normal distribution.
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
