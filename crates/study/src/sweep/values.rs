//! Which values does `--vary KEY=1..128*2,200` mean?
//!
//! ```text
//!   8             one value          1..4          1, 2, 3, 4
//!   1,2,8         several            1..128*2      doubling, up to 128
//!   4k..1m*4      sizes              10%..50%+10%  in steps of ten percent
//! ```
//!
//! Values stay the text that was or could have been typed, so that the command of a point can be printed. Start reading at
//! [`parse`].

use std::collections::BTreeSet;

use iostack_model::{Bytes, Nanos};

/// More values than this are a slip of the keyboard.
const MOST: usize = 10_000;

/// All values of a list of values and ranges, in the order typed.
pub(crate) fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for item in text.split(',').map(str::trim) {
        if item.is_empty() {
            return Err("a value is missing between two commas".to_owned());
        }
        match item.split_once("..") {
            Some((first, rest)) => values.extend(range(item, first.trim(), rest.trim())?),
            None => values.push(item.to_owned()),
        }
    }
    if values.len() > MOST {
        return Err(format!("more than {MOST} values"));
    }
    let mut seen = BTreeSet::new();
    match values.iter().find(|value| !seen.insert(value.as_str())) {
        Some(value) => Err(format!("`{value}` is there twice")),
        None => Ok(values),
    }
}

fn range(item: &str, first: &str, rest: &str) -> Result<Vec<String>, String> {
    let help = || format!("`{item}` is no range; write it like 1..128*2 or 10%..50%+10%");
    let (last, step) = match rest.find(['*', '+']) {
        Some(at) => (rest[..at].trim(), Some((rest.as_bytes()[at], rest[at + 1..].trim()))),
        None => (rest, None),
    };
    let added = step.filter(|(sign, _)| *sign == b'+').map(|(_, text)| text);
    let scale = Scale::of_range(first, last, added).ok_or_else(help)?;
    let (low, high) = (scale.number(first).ok_or_else(help)?, scale.number(last).ok_or_else(help)?);
    let (times, plus): (f64, f64) = match step {
        Some((b'*', factor)) => (factor.parse().map_err(|_| help())?, 0.0),
        Some((_, text)) => (1.0, scale.number(text).ok_or_else(help)?),
        None if scale.is_plain_count(first) => (1.0, 1.0),
        None => return Err(format!("`{item}` says no step; write it like {item}*2 or {item}+STEP")),
    };
    if low > high {
        return Err(format!("`{item}` ends before it begins"));
    }
    let grows = times > 1.0 && times.is_finite() && low > 0.0;
    if !grows && plus <= 0.0 {
        return Err(format!("`{item}` never arrives: its step must lead upward"));
    }
    let mut values = Vec::new();
    for index in 0.. {
        let value = low * times.powi(index) + plus * f64::from(index);
        // A last value that rounding moved by a hair is still the last.
        if value > high * (1.0 + 1e-9) {
            break;
        }
        if values.len() >= MOST {
            return Err(format!("`{item}` has more than {MOST} values"));
        }
        values.push(scale.show(value));
    }
    Ok(values)
}

/// Unit of a range's numbers, which decides how they are written.
enum Scale {
    /// The same letters behind each number: `%`, `us`, `MB/s`, or none.
    Suffix(String),
    /// Sizes with different units; `/s` behind each, or nothing.
    Bytes(&'static str),
    /// Times with different units.
    Nanos,
}

/// Number and letters.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

impl Scale {
    fn of_range(first: &str, last: &str, step: Option<&str>) -> Option<Scale> {
        let all: Vec<&str> = [Some(first), Some(last), step].into_iter().flatten().collect();
        let suffixes: Vec<&str> =
            all.iter().map(|text| split(text).map(|(_, suffix)| suffix)).collect::<Option<_>>()?;
        if suffixes.iter().all(|suffix| *suffix == suffixes[0]) {
            return Some(Scale::Suffix(suffixes[0].to_owned()));
        }
        // 0 has no unit.
        let scales = [Scale::Nanos, Scale::Bytes(""), Scale::Bytes("/s")];
        scales.into_iter().find(|scale| all.iter().all(|text| scale.number(text).is_some()))
    }

    fn number(&self, text: &str) -> Option<f64> {
        match self {
            Scale::Suffix(_) => split(text).map(|(number, _)| number),
            Scale::Bytes(rest) => text.strip_suffix(rest)?.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
            Scale::Nanos => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
        }
    }

    /// `1..8` goes up by one without saying so; `1k..8k` or `0.5..1.5` might mean anything.
    fn is_plain_count(&self, first: &str) -> bool {
        matches!(self, Scale::Suffix(suffix) if suffix.is_empty()) && !first.contains('.')
    }

    fn show(&self, value: f64) -> String {
        match self {
            Scale::Suffix(suffix) => format!("{}{suffix}", decimal(value)),
            Scale::Bytes(rest) => exact(value.round() as u64, &BYTES) + rest,
            Scale::Nanos => exact(value.round() as u64, &TIMES),
        }
    }
}

const BYTES: [(&str, u64); 4] = [("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10), ("", 1)];
const TIMES: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Writes a number with at most six decimals and no trailing zeros.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The time as it is typed.
pub(crate) fn short(time: Nanos) -> String {
    exact(time.0, &TIMES)
}

/// The whole number with the largest unit that needs no decimals.
fn exact(whole: u64, units: &[(&str, u64)]) -> String {
    let fits = |&&(_, factor): &&(&str, u64)| whole >= factor && whole.is_multiple_of(factor);
    let (unit, factor) = units.iter().find(fits).copied().unwrap_or(units[units.len() - 1]);
    format!("{}{unit}", whole / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_they_look_like() {
        for (typed, values) in [
            ("8", "8"),
            ("fresh, steady", "fresh steady"),
            ("1..4", "1 2 3 4"),
            ("1..128*2", "1 2 4 8 16 32 64 128"),
            ("1..100*10,200", "1 10 100 200"),
            ("1..7*2", "1 2 4"),
            ("10%..50%+10%", "10% 20% 30% 40% 50%"),
            ("7%..28%*2", "7% 14% 28%"),
            ("4k..1m*4", "4k 16k 64k 256k 1m"),
            ("4KiB..16KiB*2", "4KiB 8KiB 16KiB"),
            ("500us..2ms+500us", "500us 1ms 1500us 2ms"),
            ("0us..2ms+1ms", "0ns 1ms 2ms"),
            ("100MB/s..400MB/s*2", "100MB/s 200MB/s 400MB/s"),
            ("0.1..0.4+0.1", "0.1 0.2 0.3 0.4"),
            ("1..2*1.5", "1 1.5"),
            ("512..2k*2", "512 1k 2k"),
            ("4k/60:64k/40,4k", "4k/60:64k/40 4k"),
        ] {
            assert_eq!(parse(typed).map(|values| values.join(" ")), Ok(values.to_owned()), "{typed}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_remedy() {
        for (typed, said) in [
            ("", "a value is missing"),
            ("1,,2", "a value is missing"),
            ("1..", "`1..` is no range"),
            ("..4", "`..4` is no range"),
            ("a..b", "`a..b` is no range"),
            ("1..8*x", "no range"),
            ("4k..1s*2", "no range"),
            ("8..1", "ends before it begins"),
            ("1..8*1", "never arrives"),
            ("1..8*0.5", "never arrives"),
            ("0..8*2", "never arrives"),
            ("1..8+0", "never arrives"),
            ("1k..8k", "says no step; write it like 1k..8k*2"),
            ("0..1000000", "more than 10000 values"),
            ("1,1..4", "`1` is there twice"),
        ] {
            let error = parse(typed).expect_err(typed);
            assert!(error.contains(said), "{typed}: {error}");
        }
    }

    #[test]
    fn nothing_typed_makes_the_parser_panic_or_run_away() {
        let pieces: Vec<&str> =
            "1 .. * + % k .. 9999999999999 0.0000001 , é - 1e309 us .".split(' ').collect();
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let mut text = String::new();
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            if let Ok(values) = parse(&text) {
                assert!(values.len() <= MOST, "{text}");
            }
        }
    }
}
