//! Which numbers of a platform matter, and how much of it does a rate need?

use iostack_model::answers::{RankedNumber, Ranking, RateBand, Sizing, SizingStep, UnrankedNumber};

use crate::document::{Block, Section, Table};
use crate::lists::Joined;
use crate::text::format::{percent, rate};

/// An elasticity below this is no more than the noise of a window.
const MATTERS: f64 = 0.01;

/// Numbers by how much the rate depends on them.
pub(super) fn ranking(ranking: &Ranking) -> Section {
    let mut section = Section::new("rank", "Rank", "Which numbers matter");
    section.screen(Block::Heading("Change of the rate, per cent for each per cent of a number".to_owned()));
    let (matter, idle): (Vec<&RankedNumber>, Vec<_>) =
        ranking.numbers.iter().partition(|number| number.elasticity.abs() >= MATTERS);
    section.table(table(&matter));
    let turned = format!(
        "each number {} % up and down, all else as it is, {} IOPS",
        percent(ranking.step),
        rate(ranking.iops)
    );
    section.fact("ranked by", turned);
    if !idle.is_empty() {
        section.fact("no matter", idle.iter().map(|number| &number.key).joined(", "));
    }
    for (why, keys) in reasons(&ranking.left_out) {
        section.fact("left out", format!("{why}: {keys}"));
    }
    section.fact("band", ranking.band.as_ref().map_or_else(|| "nothing is assumed".to_owned(), band));
    section
}

fn table(numbers: &[&RankedNumber]) -> Table {
    Table::over(numbers.iter().copied())
        .words("number", |number| &number.key)
        .words("value", |number| &number.value)
        .number("elasticity", |number| format!("{:+.2}", number.elasticity))
        .words("", |number| if number.assumed { "assumed" } else { "" })
        .below(|number| vec![number.meaning.clone()])
        .done()
}

/// Keys of each reason.
fn reasons(left_out: &[UnrankedNumber]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for UnrankedNumber { key, why } in left_out {
        match all.iter_mut().find(|(known, _)| known == why) {
            Some((_, keys)) => {
                keys.push_str(", ");
                keys.push_str(key);
            }
            None => all.push((why.clone(), key.clone())),
        }
    }
    all
}

fn band(band: &RateBand) -> String {
    let RateBand { iops, drawn, spread, seed, failed } = band;
    let [Some(least), Some(most)] = [iops.first(), iops.last()] else {
        return format!("none of {failed} draws could be run");
    };
    let failed = if *failed == 0 { String::new() } else { format!("; {failed} more could not be run") };
    format!(
        "{} to {} IOPS, median {}: {} draws (seed {seed}) of {drawn} numbers that are not known exactly, assumed ones within {} %{failed}",
        rate(*least),
        rate(*most),
        rate(iops[iops.len() / 2]),
        iops.len(),
        percent(*spread)
    )
}

/// Fewest of each for a rate.
pub(super) fn sizing(sizing: &Sizing) -> Section {
    let mut section = Section::new("reach", "Reach", "What a rate needs");
    section.screen(Block::Heading(format!("What {} IOPS need", rate(sizing.wanted))));
    let table = Table::over(&sizing.steps)
        .number("drives", |step: &SizingStep| step.drives.to_string())
        .number("adapters", |step| step.adapters.to_string())
        .number("cores", |step| step.cores.to_string())
        .number("IOPS", |step| rate(step.iops))
        .words("used up", |step| if step.full.is_empty() { "nothing" } else { &step.full });
    section.table(table.done());
    section.fact(if sizing.reached { "REACHED" } else { "NOT REACHED" }, verdict(sizing));
    section
}

/// The answer in a sentence.
pub(super) fn verdict(sizing: &Sizing) -> String {
    let Some(SizingStep { drives, adapters, cores, iops, .. }) = sizing.steps.last() else {
        return sizing.why.clone();
    };
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let all = [counted(*drives, "drive"), counted(*adapters, "adapter"), counted(*cores, "core")].join(", ");
    let does = if sizing.reached { "reach" } else { "reach only" };
    format!("{all} {does} {} IOPS; {}.", rate(*iops), sizing.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(drives: u64, iops: f64, full: &str) -> SizingStep {
        SizingStep { drives, adapters: 1, cores: 2, iops, full: full.to_owned() }
    }

    #[test]
    fn what_cannot_be_reached_is_told_with_its_reason() {
        let mut asked = Sizing {
            wanted: 3e6,
            steps: vec![step(1, 1e5, "dram"), step(30, 2e5, "core")],
            reached: false,
            why: "the core is used up".to_owned(),
        };
        assert_eq!(
            verdict(&asked),
            "30 drives, 1 adapter, 2 cores reach only 200.0k IOPS; the core is used up."
        );
        asked.reached = true;
        assert!(verdict(&asked).contains("cores reach 200.0k"), "{}", verdict(&asked));
    }

    #[test]
    fn a_band_without_draws_says_so() {
        let drawn = |iops, failed| band(&RateBand { seed: 1, drawn: 3, spread: 0.2, iops, failed });
        assert_eq!(drawn(vec![], 40), "none of 40 draws could be run");
        let told = drawn(vec![1e5, 1.1e5, 1.2e5], 2);
        assert!(told.starts_with("100.0k to 120.0k IOPS, median 110.0k: 3 draws"), "{told}");
        assert!(told.ends_with("assumed ones within 20.0 %; 2 more could not be run"), "{told}");
    }
}
