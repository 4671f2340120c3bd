//! How is a number written? Always with its unit: a bare number would be read by everyone as they please.

use iostack_model::{Bytes, Nanos};
use serde_json::Value;

use crate::sheet::parameter::Unit;

/// Typed text that is no such number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

fn unreadable(what: &str, remedy: impl Into<String>) -> Unreadable {
    Unreadable { what: what.to_owned(), remedy: remedy.into() }
}

pub(crate) fn time(text: &str) -> Result<Nanos, Unreadable> {
    let example = "write it with its unit, like 25us or 1.5ms";
    let bare = text != "0" && text.parse::<f64>().is_ok();
    let what = if bare { "its unit is missing" } else { "not a time" };
    text.parse().map_err(|_| unreadable(what, example))
}

pub(crate) fn bytes(text: &str) -> Result<Bytes, Unreadable> {
    let example = "write it with its unit, like 512B, 16KiB (1024) or 80GB (1000)";
    if text != "0" && text.parse::<f64>().is_ok() {
        return Err(unreadable("its unit is missing", example));
    }
    text.parse().map_err(|_| unreadable("not a size", example))
}

pub(crate) fn rate(text: &str) -> Result<f64, Unreadable> {
    let per_second = text.strip_suffix("/s").and_then(|size| bytes(size.trim_end()).ok());
    match per_second {
        Some(Bytes(0)) => Err(unreadable("nothing would ever arrive", "write it like 800MB/s")),
        Some(Bytes(bytes)) => Ok(bytes as f64),
        None => Err(unreadable("not a rate of bytes", "write it like 800MB/s")),
    }
}

pub(crate) fn share(text: &str) -> Result<f64, Unreadable> {
    let value = text.strip_suffix('%').and_then(|number| positive(number.trim_end()));
    value.map(|value| value / 100.0).ok_or_else(|| unreadable("not a share", "write it like 7%"))
}

pub(crate) fn count(text: &str) -> Result<u64, Unreadable> {
    // `+8` and `08` are counts to Rust, and to nobody else.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or_else(|| unreadable("not a count", "write it like 8"))
}

pub(crate) fn per_second(text: &str) -> Result<f64, Unreadable> {
    let value = text.strip_suffix("/s").and_then(|number| positive(number.trim_end()));
    value.filter(|&value| value > 0.0).ok_or_else(|| unreadable("not a rate", "write it like 3000/s"))
}

pub(crate) fn number(text: &str) -> Result<f64, Unreadable> {
    positive(text).ok_or_else(|| unreadable("not a number", "write it like 1.5"))
}

/// Points whose counts rise; `read` reads what is at each.
pub(crate) fn points<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, Unreadable>,
) -> Result<Vec<(u64, T)>, Unreadable> {
    let wrong = || unreadable("not a list of points that rise", "write it like \"1:2ms 100:3.5ms\"");
    let mut points: Vec<(u64, T)> = Vec::new();
    for point in text.split_whitespace() {
        let (at, there) = point.split_once(':').ok_or_else(wrong)?;
        let at = count(at)?;
        if points.last().is_some_and(|&(last, _)| last >= at) {
            return Err(wrong());
        }
        points.push((at, read(there)?));
    }
    if points.is_empty() { Err(wrong()) } else { Ok(points) }
}

/// Digits and at most one point: no sign, no exponent, no `inf`.
fn positive(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|value: &f64| plain && value.is_finite())
}

/// Refuses text that cannot be read as `unit` asks. `none` is for numbers that a device may be without.
pub(crate) fn check(unit: Unit, text: &str, may_be_none: bool) -> Result<(), Unreadable> {
    if text == "none" && may_be_none { Ok(()) } else { read(unit, text).map(drop) }
}

/// Text as `unit` asks: times are ns, rates bytes per second, `yes` and `no` true and false.
pub(crate) fn read(unit: Unit, text: &str) -> Result<Value, Unreadable> {
    Ok(match unit {
        Unit::Time => time(text)?.0.into(),
        Unit::Bytes => bytes(text)?.0.into(),
        Unit::Rate => rate(text)?.into(),
        Unit::Share => share(text)?.into(),
        Unit::Count => count(text)?.into(),
        Unit::PerSecond => per_second(text)?.into(),
        Unit::Number => number(text)?.into(),
        Unit::Points => points(text, |y| Ok(y.to_owned())).map(|_| text.into())?,
        Unit::Word(words) if !words.contains(&text) => {
            return Err(unreadable("no such word", format!("write one of: {}", words.join(", "))));
        }
        Unit::Word(["no", "yes"]) => (text == "yes").into(),
        // A device is loaded by whoever makes the sheet.
        Unit::Word(_) | Unit::Device(_) => text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        assert_eq!(time("56.5us"), Ok(Nanos(56_500)));
        assert_eq!(bytes("80GB"), Ok(Bytes(80_000_000_000)));
        assert_eq!(rate("800MB/s"), Ok(8e8));
        assert_eq!(share("7%"), Ok(0.07));
        assert_eq!(per_second("3000/s"), Ok(3000.0));
        assert_eq!(number("1.5"), Ok(1.5));
        assert_eq!(count("8"), Ok(8));
        assert_eq!(points("1:2ms 9:3ms", time), Ok(vec![(1, Nanos(2_000_000)), (9, Nanos(3_000_000))]));
    }

    #[test]
    fn numbers_without_or_with_other_units_are_refused() {
        let units = [
            (Unit::Time, "25"),
            (Unit::Time, "25KiB"),
            (Unit::Bytes, "4096"),
            (Unit::Bytes, "-4KiB"),
            (Unit::Rate, "800MB"),
            (Unit::Rate, "800"),
            (Unit::Rate, "0B/s"),
            (Unit::Share, "0.07"),
            (Unit::Share, "inf%"),
            (Unit::Count, "+8"),
            (Unit::Count, "8.5"),
            (Unit::Count, "none"),
            (Unit::PerSecond, "3000"),
            (Unit::PerSecond, "0/s"),
            (Unit::Number, "-1"),
            (Unit::Number, "1e3"),
            (Unit::Word(&["greedy"]), "gredy"),
            (Unit::Points, ""),
            (Unit::Points, "1"),
            (Unit::Points, "1:2ms 1:3ms"),
        ];
        for (unit, text) in units {
            let wrong = check(unit, text, false).expect_err(text);
            assert!(wrong.remedy.starts_with("write "), "{text}: {}", wrong.remedy);
        }
        assert_eq!(check(Unit::Bytes, "none", true), Ok(()));
    }
}
