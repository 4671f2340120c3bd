//! Bytes and nanoseconds that cannot be mixed up, and how people write them.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A count of bytes. Written `4KiB`, `4k`, `1MiB`, `512`; `kB`, `MB`, `GB` and `TB` are powers of 1000.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A time span in nanoseconds. Written `250us`, `10s`, `2m`; a bare number other than 0 is refused.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{typed}` is not {expected}")]
pub struct ParseUnitError {
    /// The text as it was typed.
    pub typed: String,
    /// Texts that would have been accepted, with examples.
    pub expected: &'static str,
}

const BYTES_EXPECTED: &str =
    "a size; write it like 4k, 4KiB, 1MiB, 2g (powers of 1024) or 4kB, 1MB (powers of 1000)";
const NANOS_EXPECTED: &str = "a time; write it with its unit, like 250us, 10ms, 30s, 5m or 1h";

/// Factor of a suffix in lower case: `kb` and friends are decimal, everything shorter or with an `i` is binary.
fn byte_factor(unit: &str) -> Option<u64> {
    if matches!(unit, "" | "b") {
        return Some(1);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = "kmgt".find(letter)? as u32 + 1;
    match rest {
        "" | "i" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

fn time_factor(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

/// Splits `12.5ms` in number and unit and multiplies; `None` when either is nonsense or the product overflows.
fn quantity(text: &str, factor_of_unit: fn(&str) -> Option<u64>) -> Option<u64> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let factor = factor_of_unit(&unit.trim().to_lowercase())?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value.is_finite() && value >= 0.0 && value < u64::MAX as f64 && number.contains('.'))
        .then_some(value.round() as u64)
}

fn refused(typed: &str, expected: &'static str) -> ParseUnitError {
    ParseUnitError { typed: typed.to_owned(), expected }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        quantity(text, byte_factor).map(Bytes).ok_or_else(|| refused(text, BYTES_EXPECTED))
    }
}

impl FromStr for Nanos {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "0" {
            return Ok(Nanos(0));
        }
        quantity(text, time_factor).map(Nanos).ok_or_else(|| refused(text, NANOS_EXPECTED))
    }
}

impl Bytes {
    /// True of the amount 0.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Amount of `count` kibibytes.
    pub const fn kib(count: u64) -> Self {
        Bytes(count << 10)
    }

    /// Amount of `count` mebibytes.
    pub const fn mib(count: u64) -> Self {
        Bytes(count << 20)
    }

    /// Amount of `count` gibibytes.
    pub const fn gib(count: u64) -> Self {
        Bytes(count << 30)
    }
}

impl Nanos {
    /// Time of `count` microseconds.
    pub const fn micros(count: u64) -> Self {
        Nanos(count * 1_000)
    }

    /// Time of `count` milliseconds.
    pub const fn millis(count: u64) -> Self {
        Nanos(count * 1_000_000)
    }

    /// Time of `count` seconds.
    pub const fn secs(count: u64) -> Self {
        Nanos(count * 1_000_000_000)
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

/// Three significant digits, without a trailing `.0`: `4`, `12.5`, `127`.
fn short_number(value: f64) -> String {
    let places = usize::from(value < 100.0) + usize::from(value < 10.0);
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `4 KiB`, `1.5 MiB`: binary units, three significant digits.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        for (unit, factor) in units {
            if self.0 >= factor {
                return f.pad(&format!("{} {unit}", short_number(self.0 as f64 / factor as f64)));
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

/// `780 ns`, `21.3 us`, `4.2 ms`, `30 s`: three significant digits.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
        for (unit, factor) in units {
            if self.0 as f64 >= factor * 0.9995 {
                return f.pad(&format!("{} {unit}", short_number(self.0 as f64 / factor)));
            }
        }
        f.pad(&format!("{} ns", self.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0 * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_field_writes_them() {
        let cases = [
            ("512", 512),
            ("4k", 4096),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("1.5m", 3 << 19),
            ("2 GiB", 2 << 30),
        ];
        for (typed, bytes) in cases {
            assert_eq!(typed.parse(), Ok(Bytes(bytes)), "{typed}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_was_typed() {
        for typed in ["", "k", "4x", "-4k", "4kk", "1e3", "99999999999t", ".", "4 4k"] {
            let error = typed.parse::<Bytes>().expect_err(typed);
            assert!(error.to_string().contains(&format!("`{typed}`")));
        }
        for typed in ["10", "5 parsecs", "", "ms"] {
            typed.parse::<Nanos>().expect_err(typed);
        }
    }

    #[test]
    fn times_carry_their_unit() {
        let cases = [
            ("0", 0),
            ("250us", 250_000),
            ("1.5ms", 1_500_000),
            ("8.2us", 8_200),
            ("1.001us", 1_001),
            ("10s", 10_000_000_000),
            ("2m", 120_000_000_000),
        ];
        for (typed, ns) in cases {
            assert_eq!(typed.parse(), Ok(Nanos(ns)), "{typed}");
        }
    }

    #[test]
    fn quantities_print_three_digits() {
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(100).to_string(), "100 B");
        assert_eq!(Nanos(21_340).to_string(), "21.3 us");
        assert_eq!(Nanos(999_999).to_string(), "1 ms");
        assert_eq!(Nanos(780).to_string(), "780 ns");
    }
}
