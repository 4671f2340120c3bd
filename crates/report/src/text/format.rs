//! How a quantity, a paragraph and a heading are written.

use iostack_model::{Bins, Interval, Nanos};

use super::WIDTH;

/// Four significant digits with a factor of 1000: `812`, `12.35k`, `1.234M`.
pub(crate) fn rate(value: f64) -> String {
    for (unit, factor) in [("M", 1e6), ("k", 1e3)] {
        if value >= factor * 0.999_95 {
            return significant(value / factor, 4) + unit;
        }
    }
    significant(value, if value >= 100.0 { 3 } else { 4 })
}

/// Bytes per second in MB/s (powers of 1000, as the field compares them), four significant digits.
pub(crate) fn megabytes(bytes_per_second: f64) -> String {
    significant(bytes_per_second / 1e6, 4)
}

/// A number with `digits` significant digits, whole numbers never cut: `3382`, `486.1`, `12.31`, `0.5`.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let before_point = value.abs().log10().floor() as i32 + 1;
    let decimals = (digits - before_point).clamp(0, 3) as usize;
    format!("{value:.decimals$}")
}

/// `±1.0%`, or `-` where no interval could be had.
pub(crate) fn plus_minus(interval: Interval) -> String {
    let percent = interval.relative() * 100.0;
    if interval.samples < 3 || !percent.is_finite() {
        return "-".to_owned();
    }
    if percent >= 9.95 { format!("±{percent:.0}%") } else { format!("±{percent:.1}%") }
}

/// `+24 %`, `-7.5 %`.
pub(crate) fn change(percent: f64) -> String {
    if percent.abs() >= 9.95 { format!("{percent:+.0} %") } else { format!("{percent:+.1} %") }
}

/// A figure in words, or `-` where there is none.
pub(crate) fn or_dash<Figure, Said: From<&'static str>>(
    figure: Option<Figure>,
    say: impl FnOnce(Figure) -> Said,
) -> Said {
    figure.map_or_else(|| "-".into(), say)
}

/// A condition in words, also where there is none.
pub(crate) fn or_nothing(condition: &str) -> &str {
    if condition.is_empty() { "nothing" } else { condition }
}

/// 1234567 as `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The units of [`brief`], by factor.
const THOUSANDS: [(&str, f64); 6] =
    [("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];

/// A count in at most ten characters: `12,345,678` as it is, beyond that with a factor of 1000 as `1.234G`.
pub(crate) fn brief(value: f64) -> String {
    if !value.is_finite() || value < 0.5 {
        return if value > 0.0 && value.is_finite() { significant(value, 2) } else { "0".to_owned() };
    }
    if value < 99_999_999.5 {
        return count(value.round() as u64);
    }
    rate_of_any(value)
}

/// A count of any size in at most six characters, four significant digits: `812`, `12.35k`, `18.45E`.
pub(crate) fn rate_of_any(value: f64) -> String {
    match THOUSANDS.iter().find(|(_, factor)| value >= factor * 0.999_95) {
        Some((unit, factor)) if value < 1e21 => significant(value / factor, 4) + unit,
        Some(_) => "huge".to_owned(),
        None => rate(value),
    }
}

/// The units of [`time`] beyond seconds, by the nanoseconds from which they are used.
const LONG_TIMES: [(&str, f64, f64); 3] =
    [("y", 365.25 * 86_400e9, 1e4 * 86_400e9), ("d", 86_400e9, 1e4 * 3600e9), ("h", 3600e9, 1e4 * 1e9)];

/// A time of any length in at most seven characters: `780 ns`, `21.3 us`, `585 y`.
pub(crate) fn time(ns: f64) -> String {
    if !ns.is_finite() || ns < 0.0 {
        return "-".to_owned();
    }
    match LONG_TIMES.iter().find(|(_, _, from)| ns >= *from) {
        Some((unit, factor, _)) => format!("{:.0} {unit}", ns / factor),
        None => Nanos(ns.round() as u64).to_string(),
    }
}

/// The text with a capital at its beginning.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A share of 0..=1 as a bare percentage: `15.3`, `100.0`.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}", (share * 100.0).clamp(0.0, 999.9)) } else { "-".to_owned() }
}

/// A percentile that ten samples exceed, else `-`.
pub(crate) fn supported(bins: &Bins, fraction: f64) -> String {
    let enough = bins.count >= iostack_stats::samples_needed(fraction);
    or_dash(bins.quantile_ns(fraction).filter(|_| enough), |ns| time(ns as f64))
}

/// A percentile's name: `p50`, `p99.9`.
pub(crate) fn percentile_name(percent: f64) -> String {
    format!("p{percent}")
}

/// Words that stay on one line with the number before them.
const UNITS: [&str; 15] =
    ["B", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "s", "%", "IOPS", "MB/s", "GHz", "CPUs", "I/Os"];

/// The paragraph in lines of at most [`WIDTH`]: the first begins with `first`, the others with as many spaces.
/// A word longer than a line stays in one piece.
pub(crate) fn paragraph(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words(text) {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += line.trim_end();
            lines.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += &word;
        empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// The words of a text, a number and its unit as one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', '.', ')', ':']);
        match words.last_mut() {
            Some(last)
                if UNITS.contains(&unit)
                    && last.ends_with(|c: char| c.is_ascii_digit() || "kM".contains(c)) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// `left` and `right` at the two ends of a line, on two lines when they do not fit.
pub(crate) fn both_ends(left: &str, right: &str) -> String {
    let used = left.chars().count() + right.chars().count();
    if used + 2 > WIDTH {
        return format!("{left}\n{right:>WIDTH$}\n");
    }
    format!("{left}{}{right}\n", " ".repeat(WIDTH - used))
}

/// The text in at most `width` characters, the last one `…` when something was cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// The text without trailing blanks and without control characters, which a job's or device's name could carry
/// into the terminal.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for line in text.lines() {
        cleaned.extend(line.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }));
        cleaned.push('\n');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_four_digits_and_never_show_a_thousand_of_a_unit() {
        let cases = [
            (0.0, "0"),
            (0.5, "0.500"),
            (97.31, "97.31"),
            (812.4, "812"),
            (999.97, "1.000k"),
            (12_345.0, "12.35k"),
            (999_960.0, "1.000M"),
            (1_234_000.0, "1.234M"),
        ];
        for (value, text) in cases {
            assert_eq!(rate(value), text);
        }
        assert_eq!(megabytes(3_382_100_000.0), "3382");
        assert_eq!(megabytes(0.0), "0");
    }

    #[test]
    fn an_interval_of_fewer_than_three_pieces_is_not_claimed() {
        assert_eq!(plus_minus(Interval { mean: 100.0, low: 99.0, high: 101.0, samples: 2 }), "-");
        assert_eq!(plus_minus(Interval { mean: 100.0, low: 99.0, high: 101.0, samples: 3 }), "±1.0%");
        assert_eq!(plus_minus(Interval { mean: 100.0, low: 88.0, high: 112.0, samples: 9 }), "±12%");
    }

    #[test]
    fn a_paragraph_is_indented_under_its_first_word_and_keeps_long_words_whole() {
        let long = "x".repeat(100);
        let text = paragraph("  - ", &format!("{} {long} end", "word ".repeat(30)));
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("  - word") && lines[1].starts_with("    word"), "{text}");
        assert!(lines.iter().any(|line| line.trim() == long), "{text}");
        assert!(lines.iter().all(|line| line.trim() == long || line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        let text = paragraph("", &"it took 12.5 ms, ".repeat(20));
        assert!(text.lines().all(|line| !line.starts_with("ms") && line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb  \nc"), "a?[31mb\nc\n");
    }

    #[test]
    fn any_number_fits_its_column() {
        let briefs = [
            (0.0, "0"),
            (0.25, "0.25"),
            (97.4, "97"),
            (36_472.0, "36,472"),
            (99_999_999.0, "99,999,999"),
            (123_456_789.0, "123.5M"),
            (18_446_744_073_709_551_615.0, "18.45E"),
            (1e300, "huge"),
            (f64::NAN, "0"),
        ];
        for (value, text) in briefs {
            assert_eq!(brief(value), text);
        }
        let times = [
            (0.2, "0 ns"),
            (21_345.0, "21.3 us"),
            (9_999e9, "9999 s"),
            (36_000e9, "10 h"),
            (u64::MAX as f64, "585 y"),
            (f64::NAN, "-"),
        ];
        for (ns, text) in times {
            assert_eq!(time(ns), text);
        }
        for power in 0..64 {
            let value = 2f64.powi(power) * 1.37;
            assert!(brief(value).len() <= 10 && time(value).len() <= 7, "{value}");
        }
        assert_eq!([0.1534, 1.0, 1e9, f64::NAN].map(percent), ["15.3", "100.0", "999.9", "-"]);
    }

    #[test]
    fn counts_are_grouped_in_threes() {
        assert_eq!([7, 97, 1000, 1_234_567].map(count), ["7", "97", "1,000", "1,234,567"]);
    }
}
