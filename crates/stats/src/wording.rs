//! How is a comparison said in a few sentences?

use crate::conditions::Difference;
use crate::judgement::{Change, Judgement};
use crate::row::ComparisonRow;
use crate::unit::Unit;

pub(crate) const DRIFT: &str = "One run of each cannot exclude that the machine drifted between the two; `iostack ab` runs them in turns, to know.";

/// The first sentence: what the headline figure says.
pub(crate) fn answer(headline: Option<&(ComparisonRow, Change)>, name: &str) -> String {
    let Some((row, change)) = headline else {
        return format!("The outcomes have no {name} in common.");
    };
    if !change.is_known() {
        return format!("The runs are too short to say whether their {name} differs: run longer.");
    }
    let faster = (change.mean > 0.0) == (row.unit != Unit::Nanos);
    let word = if faster { "faster" } else { "slower" };
    let by = percent(change.mean.abs());
    let subject = if name == "IOPS" { String::new() } else { format!(" in {name}") };
    let (low, high) = ends(change);
    match row.verdict {
        Judgement::Better | Judgement::Worse => {
            format!("B was {by} % {word}{subject} in these two runs (95 % interval {low}..{high} %).")
        }
        Judgement::Same if change.low > 0.0 || change.high < 0.0 => {
            format!("B was {by} % {word}{subject}, too little to matter (95 % interval {low}..{high} %).")
        }
        Judgement::Unclear if change.low > 0.0 || change.high < 0.0 => {
            format!(
                "B was {by} % {word}{subject} in these two runs, which may be chance: of so many figures compared at once, \
                 one often is."
            )
        }
        Judgement::Same | Judgement::Unclear => {
            let shown = percent(change.smallest_shown());
            format!("No difference in {name} can be shown; a difference of {shown} % would have been.")
        }
    }
}

/// The ends of the change's interval in percent, as sizes in rising order when both have the same sign.
fn ends(change: &Change) -> (String, String) {
    if change.high < 0.0 {
        (percent(-change.high), percent(-change.low))
    } else {
        (percent(change.low), percent(change.high))
    }
}

/// Other figures that stand out, the largest change first; bandwidth repeats what IOPS says.
pub(crate) fn also(judged: &[(ComparisonRow, Change)], headline: &str) -> Option<String> {
    let news = |row: &ComparisonRow| {
        row.name != headline && !row.name.ends_with("bandwidth") && !row.name.ends_with("IOPS")
    };
    let mut others: Vec<_> =
        judged.iter().map(|(row, _)| row).filter(|row| row.verdict.differs() && news(row)).collect();
    others.sort_by(|x, y| y.change_percent.abs().total_cmp(&x.change_percent.abs()));
    let texts: Vec<String> = others
        .iter()
        .take(3)
        .map(|row| {
            let sign = if row.change_percent > 0.0 { "+" } else { "-" };
            format!(
                "{} {sign}{} % ({})",
                row.name,
                percent(row.change_percent.abs() / 100.0),
                row.verdict.name()
            )
        })
        .collect();
    (!texts.is_empty()).then(|| format!("Also: {}.", texts.join(", ")))
}

/// The last sentence: what else was not the same.
pub(crate) fn unlike(conditions: &[Difference]) -> Option<String> {
    let mut names: Vec<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
    names.dedup();
    let shown = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(4);
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("Conditions differ: {shown}.")),
        (false, _) => Some(format!("Conditions differ: {shown} and {more} more.")),
    }
}

/// A share as percent, with a decimal only where it matters.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}
