//! Dividing by a number that stays the same, by multiplying.

/// A divisor below 2^31 for numbers below 2^32. With m = ceil(2^63 / d), n / d is n m >> 63, exactly, since the error of
/// m is below d and n d < 2^63 (Granlund and Montgomery 1994).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    divisor: u32,
    inverse: u64,
}

impl Divisor {
    pub(crate) fn new(divisor: u32) -> Divisor {
        assert!(divisor > 0 && divisor < 1 << 31, "{divisor} is no divisor");
        Divisor { divisor, inverse: (1u64 << 63).div_ceil(u64::from(divisor)) }
    }

    #[inline]
    pub(crate) fn quotient(self, number: u32) -> u32 {
        ((u128::from(number) * u128::from(self.inverse)) >> 63) as u32
    }

    /// Quotient and remainder.
    #[inline]
    pub(crate) fn split(self, number: u32) -> (u32, u32) {
        let quotient = self.quotient(number);
        (quotient, number - quotient * self.divisor)
    }

    #[inline]
    pub(crate) fn get(self) -> u32 {
        self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let divisors = [1, 2, 3, 5, 7, 64, 255, 256, 1023, 65_537, 1 << 30, (1 << 31) - 1];
        for divisor in divisors {
            let by = Divisor::new(divisor);
            for near in [0, 1, divisor, divisor * 2, u32::MAX / divisor * divisor, u32::MAX] {
                for number in [near.saturating_sub(1), near, near.saturating_add(1)] {
                    assert_eq!(
                        by.split(number),
                        (number / divisor, number % divisor),
                        "{number} / {divisor}"
                    );
                }
            }
        }
    }
}
