//! How does fio read sizes and times?
//!
//! As fio 3.33 was seen to: with the default `kb_base=1024` every suffix is binary, except that `KiB`, `MiB` ... are
//! decimal (so `4KiB` is 4000 bytes); with `kb_base=1000` it is the other way round. `4ki` counts as `4k`. Where fio
//! silently drops what it does not understand (`4x` is 4 there, `1.5k` is 1), we refuse.

use iostack_model::{Amount, Bytes, Nanos};

use crate::options::value::{ValueError, bad};

const SIZE_EXPECTED: &str = "give a size like 512, 4k, 1m, 2g or 0x1000";
const TIME_EXPECTED: &str = "give a time like 30, 30s, 5m, 1h or 500ms; a bare number is";

/// A size, with fio's suffixes.
pub(super) fn size(text: &str, kb_base: u64) -> Result<Bytes, ValueError> {
    let lower = text.trim().to_ascii_lowercase();
    let (radix, digits) = lower.strip_prefix("0x").map_or((10, lower.as_str()), |hex| (16, hex));
    // In hexadecimal `b` is a digit, never a suffix; fio's strtoull takes it first as well.
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let number = u64::from_str_radix(number, radix).or_else(|_| bad(SIZE_EXPECTED))?;
    let factor = match suffix {
        "" | "b" => 1,
        suffix => {
            let mut letters = suffix.chars();
            let power = letters.next().and_then(|letter| "kmgtp".find(letter));
            let inverted = match letters.as_str() {
                "" | "b" | "i" => false,
                "ib" => true,
                _ => return bad(SIZE_EXPECTED),
            };
            let other_base = if kb_base == 1000 { 1024u64 } else { 1000 };
            match power {
                Some(power) => if inverted { other_base } else { kb_base }.pow(power as u32 + 1),
                None => return bad(SIZE_EXPECTED),
            }
        }
    };
    match number.checked_mul(factor) {
        Some(bytes) => Ok(Bytes(bytes)),
        None => bad("the size does not fit in 64 bits"),
    }
}

/// A size, or a share in percent.
pub(super) fn amount(text: &str, kb_base: u64) -> Result<Amount, ValueError> {
    // fio looks at nothing behind the first sign: generators of job files double it.
    match text.trim().split_once('%').filter(|(_, rest)| rest.chars().all(|sign| sign == '%')) {
        Some((percent, _)) => match percent.trim().parse::<u32>() {
            Ok(percent) if percent <= 100 => Ok(Amount::Percent(f64::from(percent))),
            _ => bad("give a share from 0% to 100%"),
        },
        None => size(text, kb_base).map(Amount::Bytes),
    }
}

/// A time of which a bare number is seconds.
pub(super) fn seconds(text: &str) -> Result<Nanos, ValueError> {
    time(text, 1_000_000_000)
}

/// A time of which a bare number is microseconds.
pub(super) fn microseconds(text: &str) -> Result<Nanos, ValueError> {
    time(text, 1_000)
}

/// A time; `bare_ns` is what a bare number counts.
pub(super) fn time(text: &str, bare_ns: u64) -> Result<Nanos, ValueError> {
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let unit_ns: u64 = match unit.trim() {
        "" => bare_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => 0,
    };
    let bare = if bare_ns == 1_000 { "microseconds" } else { "seconds" };
    match number.parse::<u64>() {
        Ok(number) if unit_ns > 0 => match number.checked_mul(unit_ns) {
            Some(ns) => Ok(Nanos(ns)),
            None => bad("the time does not fit in 64 bits of nanoseconds"),
        },
        _ => bad(format!("{TIME_EXPECTED} {bare}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_what_fio_makes_of_them() {
        // (typed, with kb_base=1024, with kb_base=1000), from runs of fio 3.33.
        let seen = [
            ("4k", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4kib", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("4K", 4096, 4000),
            ("1m", 1 << 20, 1_000_000),
            ("1MiB", 1_000_000, 1 << 20),
            ("0x1000", 4096, 4096),
            ("4096b", 4096, 4096),
        ];
        for (typed, binary, decimal) in seen {
            assert_eq!(size(typed, 1024), Ok(Bytes(binary)), "{typed}");
            assert_eq!(size(typed, 1000), Ok(Bytes(decimal)), "{typed}");
        }
        for typed in ["", "k", "4x", "1.5k", "4kk", "-4k", "99999999999999p", "2z", "4µ", "0x"] {
            size(typed, 1024).expect_err(typed);
        }
    }

    #[test]
    fn bare_times_are_seconds_or_microseconds() {
        assert_eq!(time("30", 1_000_000_000), Ok(Nanos::secs(30)));
        assert_eq!(time("30", 1_000), Ok(Nanos::micros(30)));
        assert_eq!(time("2m", 1_000), Ok(Nanos::secs(120)));
        assert_eq!(time("500ms", 1_000_000_000), Ok(Nanos::millis(500)));
        for typed in ["", "s", "1x", "1.5", "99999999999999999999", "999999999999d", "5µ"] {
            time(typed, 1_000_000_000).expect_err(typed);
        }
    }
}
