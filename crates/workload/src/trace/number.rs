//! Numbers of traces, exactly: a time with a fraction does not pass through floating point.

use super::error::{TraceError, shown};

/// Digits of a fraction that are looked at: a day in units of a picosecond.
const FRACTION_DIGITS: usize = 18;

/// A decimal number times `unit`, rounded to nearest: `1.5` of `1_000_000` is 1500000.
pub(super) fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return with_exponent(text, unit);
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let parts: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10u128.pow(fraction.len() as u32);
    let rest = (parts * u128::from(unit) + scale / 2) / scale;
    whole.checked_mul(unit)?.checked_add(u64::try_from(rest).ok()?)
}

/// Large times as `%g` prints them: `1.25e+06`. They have few digits, which a double holds.
fn with_exponent(text: &str, unit: u64) -> Option<u64> {
    let is_number = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !text.bytes().all(is_number) || text.starts_with(['-', '+']) {
        return None;
    }
    let value = (text.parse::<f64>().ok()? * unit as f64).round();
    (value.is_finite() && value < u64::MAX as f64).then_some(value as u64)
}

/// The number of a field, or what is wrong with it.
pub(super) fn count(field: &str, meaning: &str) -> Result<u64, TraceError> {
    let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    field.parse().ok().filter(|_| digits).ok_or_else(|| {
        let why = if digits { "is larger than 2^64" } else { "is not a whole number" };
        TraceError::line(format!("the {meaning} `{}` {why}", shown(field)))
    })
}

/// The time of a field in units of `unit` ns, or what is wrong with it.
pub(super) fn time(field: &str, unit: u64, name_of_unit: &str) -> Result<u64, TraceError> {
    scaled(field, unit).ok_or_else(|| {
        let what = format!(
            "the time `{}` is not a number of {name_of_unit} that ends within 584 years",
            shown(field)
        );
        TraceError::line(what)
    })
}

/// Sectors of 512 bytes as bytes.
pub(super) fn sectors(count: u64, meaning: &str) -> Result<u64, TraceError> {
    count
        .checked_mul(512)
        .ok_or_else(|| TraceError::line(format!("the {meaning} of {count} sectors is beyond 2^64 bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let cases = [
            ("0", 1, Some(0)),
            ("0.551706", 1_000_000_000, Some(551_706_000)),
            ("9007199.254740993", 1_000_000_000, Some(9_007_199_254_740_993)),
            ("1.0000000004", 1_000_000_000, Some(1_000_000_000)),
            ("1.0000000005", 1_000_000_000, Some(1_000_000_001)),
            (".5", 1_000_000, Some(500_000)),
            ("5.", 1_000_000, Some(5_000_000)),
            ("1.25e+06", 1_000_000, Some(1_250_000_000_000)),
            ("0.1234567890123456789012345678901234567890", 1000, Some(123)),
            ("18446744073.709551615", 1_000_000_000, Some(u64::MAX)),
            ("18446744073.709551616", 1_000_000_000, None),
            ("1e40", 1, None),
            ("", 1, None),
            (".", 1, None),
            ("-1", 1, None),
            ("+1", 1, None),
            ("1e", 1, None),
            ("inf", 1, None),
            ("nan", 1, None),
            ("1 ", 1, None),
            ("1,5", 1, None),
        ];
        for (text, unit, nanos) in cases {
            assert_eq!(scaled(text, unit), nanos, "{text} times {unit}");
        }
    }

    #[test]
    fn counts_are_digits_only() {
        assert_eq!(count("18446744073709551615", "size"), Ok(u64::MAX));
        for wrong in ["", "+1", "-1", "1.0", "0x10", "18446744073709551616", "１"] {
            assert!(count(wrong, "size").is_err(), "{wrong}");
        }
        assert!(sectors(u64::MAX / 512, "size").is_ok() && sectors(u64::MAX / 512 + 1, "size").is_err());
    }
}
