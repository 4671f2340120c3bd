//! How does a number look on the page?
//!
//! Three significant digits with a unit that keeps them short: `212 k`, `21.3 µs`, `1.25 GB/s`, `4 KiB`. `plot.js`
//! formats in the same way, so that a zoomed axis looks like the printed one.

use serde::Serialize;

use crate::text::format;

/// Sign for a number that does not exist.
pub(crate) const NOTHING: &str = "–";

/// Kind of number on an axis or in a column; decides the unit shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quantity {
    /// A bare count, or a rate of I/Os: `97`, `212 k`.
    #[default]
    Count,
    /// Nanoseconds: `780 ns`, `21.3 µs`.
    Nanos,
    /// Bytes: `4 KiB`.
    Bytes,
    /// Bytes per second: `1.25 GB/s`.
    Bandwidth,
    /// Seconds on a time axis: `12.5`.
    Seconds,
    /// Percent: `0.4`.
    Percent,
    /// A percentile, with all its nines: `99.99`.
    Percentile,
}

impl Quantity {
    /// The value with its unit as screens and tables write it: four digits of a rate.
    pub(crate) fn say(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_owned();
        }
        match self {
            Quantity::Count => format::rate(value),
            Quantity::Nanos => format::time(value),
            Quantity::Bandwidth => format::megabytes(value) + " MB/s",
            Quantity::Bytes => iostack_model::Bytes(value as u64).to_string(),
            Quantity::Seconds | Quantity::Percent | Quantity::Percentile => self.show(value),
        }
    }

    /// The value with its unit as axes write it, where room is short.
    pub(crate) fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return NOTHING.to_owned();
        }
        match self {
            Quantity::Count => scaled(value, &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")]),
            Quantity::Nanos => scaled(value, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")]),
            Quantity::Bytes => scaled(value, &BINARY),
            Quantity::Bandwidth => {
                scaled(value, &[(1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")])
            }
            Quantity::Seconds | Quantity::Percent => significant(value),
            Quantity::Percentile => ((value * 1e5).round() / 1e5).to_string(),
        }
    }
}

const TIB: f64 = (1u64 << 40) as f64;
const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;
const BINARY: [(f64, &str); 5] = [(TIB, " TiB"), (GIB, " GiB"), (MIB, " MiB"), (1024.0, " KiB"), (1.0, " B")];

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.6 of one unit rounds to 1 of the next.
    let fits = |&&(factor, _): &&(f64, &str)| value.abs() >= factor * 0.9995;
    let &(factor, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{unit}", significant(value / factor))
}

/// Three significant digits without trailing zeroes: `4`, `12.5`, `127`, `0.0021`.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// An exact count with thin spaces between groups of three: `1 234 567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// `2026-03-01 14:05:09 UTC` of milliseconds since 1970.
pub(crate) fn date(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a count of days since 1970, in the Gregorian calendar. The year is taken to begin in
/// March, so that the leap day is its last; 400 years are 146 097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_their_unit() {
        let cases = [
            (Quantity::Count, 212_345.0, "212 k"),
            (Quantity::Count, 999_700.0, "1 M"),
            (Quantity::Count, 97.0, "97"),
            (Quantity::Count, 0.0, "0"),
            (Quantity::Nanos, 21_340.0, "21.3 µs"),
            (Quantity::Bandwidth, 1.25e9, "1.25 GB/s"),
            (Quantity::Bytes, 4096.0, "4 KiB"),
            (Quantity::Percent, 0.002_13, "0.00213"),
            (Quantity::Percentile, 99.999, "99.999"),
            (Quantity::Nanos, f64::NAN, NOTHING),
            (Quantity::Count, f64::INFINITY, NOTHING),
        ];
        for (quantity, value, text) in cases {
            assert_eq!(quantity.show(value), text);
        }
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_772_373_909_123), "2026-03-01 14:05:09 UTC");
    }

    #[test]
    fn exact_counts_are_grouped_by_thousands() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
