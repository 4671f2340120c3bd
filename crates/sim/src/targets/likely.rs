//! How far may a number of a sheet be off? As far as its source says: an interval, or nothing known.

use crate::sheet::{SheetNumber, Source, Unit, value};

/// Range of what somebody assumed, over the value.
const ASSUMED: [f64; 2] = [0.8, 1.2];

/// Smallest and largest likely value over the value. Counts, sizes and words are facts; a document or a claim is believed
/// unless its words give an interval: `measured, check.json: 38.5us to 41.2us`.
pub(super) fn range(entry: &SheetNumber) -> Option<[f64; 2]> {
    if !matches!(entry.unit, Unit::Time | Unit::Rate | Unit::Share | Unit::PerSecond | Unit::Number) {
        return None;
    }
    let value = number(entry.unit, &entry.text).filter(|&value| value > 0.0)?;
    match &entry.source {
        Source::Cited(words) | Source::Fitted(words) => interval(entry.unit, words, value),
        Source::Assumed(words) => Some(interval(entry.unit, words, value).unwrap_or(ASSUMED)),
        // The usual value of a kind is mostly that a device does without something.
        Source::Changed | Source::Default => None,
    }
}

fn number(unit: Unit, text: &str) -> Option<f64> {
    value::read(unit, text.trim_matches([',', ';', '(', ')'])).ok()?.as_f64()
}

/// `LOW to HIGH` among the words, each with its unit and around the value.
fn interval(unit: Unit, words: &str, value: f64) -> Option<[f64; 2]> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let ends = |three: &[&str]| match three {
        [low, "to", high] => Some([number(unit, low)? / value, number(unit, high)? / value]),
        _ => None,
    };
    words.windows(3).find_map(ends).filter(|[low, high]| *low <= 1.0 && 1.0 <= *high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_of(unit: Unit, text: &str, source: Source) -> Option<[f64; 2]> {
        range(&SheetNumber { key: "a.b", text: text.to_owned(), unit, meaning: "", source, applies: true })
    }

    fn cited(words: &str) -> Source {
        Source::Cited(words.to_owned())
    }

    #[test]
    fn an_interval_in_the_source_is_the_range() {
        let measured = cited("measured: check.json, 95 % from 36us to 50us, 12 points");
        assert_eq!(range_of(Unit::Time, "40us", measured), Some([0.9, 1.25]));
        assert_eq!(range_of(Unit::Rate, "800MB/s", cited("m: 400MB/s to 1GB/s")), Some([0.5, 1.25]));
        assert_eq!(range_of(Unit::Number, "2000", cited("m: (1500 to 2500)")), Some([0.75, 1.25]));
    }

    #[test]
    fn what_is_assumed_may_be_off_by_a_fifth_and_what_is_cited_is_believed() {
        let assumed = || Source::Assumed("usual".to_owned());
        assert_eq!(range_of(Unit::Time, "40us", assumed()), Some([0.8, 1.2]));
        assert_eq!(range_of(Unit::Time, "40us", cited("data sheet: page 4")), None);
        assert_eq!(range_of(Unit::Time, "40us", Source::Default), None);
        // Facts are not drawn, and what is not there cannot be.
        assert_eq!(range_of(Unit::Count, "8", assumed()), None);
        assert_eq!(range_of(Unit::Bytes, "1TB", assumed()), None);
        assert_eq!(range_of(Unit::Time, "none", assumed()), None);
        assert_eq!(range_of(Unit::Time, "0", assumed()), None);
    }

    #[test]
    fn an_interval_of_another_unit_or_beside_the_value_is_none() {
        assert_eq!(range_of(Unit::Time, "40us", cited("m: pages 3 to 5")), None);
        assert_eq!(range_of(Unit::Time, "40us", cited("m: 50us to 60us")), None);
    }
}
