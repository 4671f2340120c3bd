//! Does the screen of merge fit, and does it say what it must?

use super::{WIDTH, merge};
use crate::fixture;

#[test]
fn every_line_fits_and_says_the_same_without_colour() {
    for made in [fixture::merge(), fixture::merge_simulated(), fixture::merge_interrupted()] {
        let text = merge(&made);
        for line in text.lines().filter(|line| !line.starts_with("next:")) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(!text.contains('\u{1b}') && !text.contains("NaN") && !text.contains("inf "), "{text}");
        assert!(text.lines().last().is_some_and(|line| line.starts_with("next: iostack ")), "{text}");
    }
}

#[test]
fn winners_are_marked_and_the_base_is_absolute() {
    let text = merge(&fixture::merge());
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(row(" pread").contains("38.46k") && !row(" pread").contains('+'), "{}", row(" pread"));
    assert!(row(" hybrid").contains("1.62+") && row(" hybrid").contains("4.12+"), "{}", row(" hybrid"));
    assert!(row(" ring").contains("1.00 ") && !row(" ring").contains('+'), "{}", row(" ring"));
    assert!(text.contains("Merging can gain at most (c + x) / x here: 4.3 times."), "{text}");
    assert!(text.contains("VERDICT    single calls: hybrid: 4.06 times"), "{text}");
}

#[test]
fn a_simulated_report_says_so_and_has_no_machine() {
    let text = merge(&fixture::merge_simulated());
    assert!(
        text.contains("SIMULATED, seed 1") && text.contains("percent of peak") && !text.contains("host  "),
        "{text}"
    );
    assert!(text.contains("changed    platform.cores=4"));
}

#[test]
fn a_line_that_does_not_hold_and_a_wrong_block_are_said() {
    let mut made = fixture::merge();
    let fit = made.fit.as_mut().expect("it has one");
    (fit.holds, fit.residual, fit.bend) = (false, 0.31, 2.2);
    made.tables[0].cells[1].failures.push("offset 0 brought other data than is there".to_owned());
    let text = merge(&made);
    assert!(text.contains("THE LINE DOES NOT HOLD: no point is further than 31 %"), "{text}");
    assert!(text.contains("failed"), "{text}");
}

#[test]
fn a_report_survives_json() {
    for made in [fixture::merge(), fixture::merge_simulated(), fixture::merge_interrupted()] {
        let text = serde_json::to_string(&made).expect("plain data");
        let back: iostack_model::MergeReport = serde_json::from_str(&text).expect("what it wrote");
        // The last bit of a fraction may differ; what people see does not.
        assert!(merge(&back) == merge(&made) && back.tables.len() == made.tables.len());
    }
}
