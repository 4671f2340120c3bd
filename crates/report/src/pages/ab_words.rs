//! How is the answer of two in turns said?

use iostack_model::{Interval, Nanos};
use iostack_stats::{AbAnswer, AbReport, AbSide};

/// The answer in one or two sentences.
pub(crate) fn answer(report: &AbReport) -> String {
    let Some(primary) = report.design.figures.first().map(|figure| figure.name.as_str()) else {
        return "Nothing was compared.".to_owned();
    };
    match &report.answer {
        AbAnswer::Better { side, by_percent } => better(report, primary, *side, *by_percent),
        AbAnswer::NoneLarger { percent } => {
            format!("No difference in {primary} larger than {} %.", up(*percent))
        }
        AbAnswer::Undecided { blocks } => undecided(report, primary, *blocks),
    }
}

fn better(report: &AbReport, primary: &str, side: AbSide, by: Interval) -> String {
    let word = if by.mean > 0.0 { "higher" } else { "lower" };
    let (low, high) = if by.mean > 0.0 { (by.low, by.high) } else { (-by.high, -by.low) };
    let asked = report.design.difference_percent;
    let small = if high < asked {
        format!(", less than the {} % that matter here", plain(asked))
    } else {
        String::new()
    };
    format!(
        "{} is better: {primary} {} % {word} than {}'s (95 % interval {}..{} %){small}.",
        side.letter(),
        percent(by.mean.abs()),
        side.other().letter(),
        percent(low),
        percent(high),
    )
}

fn undecided(report: &AbReport, primary: &str, wanted: Option<u32>) -> String {
    let blocks = report.blocks.len() as u32;
    let row = report.rows.first().filter(|row| row.change_percent.samples > 0);
    let (Some(row), Some(wanted)) = (row, wanted) else {
        return format!(
            "Undecided: {blocks} blocks are too few to say anything of {primary}; {} are the least.",
            iostack_stats::AB_BLOCKS_LEAST
        );
    };
    let change = row.change_percent;
    format!(
        "Undecided: the change of {primary} from A to B may be anything from {} to {} %. About {wanted} blocks in all{} would \
         bring the ends within {} % of the middle.",
        signed(change.low),
        signed(change.high),
        more_time(report).map_or_else(String::new, |time| format!(" ({time})")),
        plain(report.design.difference_percent),
    )
}

/// The time that the wanted blocks would take; `None` when none are wanted, or in virtual time.
pub(crate) fn more_time(report: &AbReport) -> Option<Nanos> {
    let AbAnswer::Undecided { blocks: Some(wanted) } = report.answer else { return None };
    let blocks = (report.blocks.len() as u64).max(1);
    let whole = u128::from(report.elapsed.0) * u128::from(wanted) / u128::from(blocks);
    // Whole seconds, which can be typed.
    let seconds = whole.div_ceil(1_000_000_000);
    (report.elapsed.0 > 0).then(|| Nanos::secs(u64::try_from(seconds).unwrap_or(u64::MAX / 1_000_000_000)))
}

/// Explanation of what the ends and the test hold for.
pub(crate) const METHOD: &str = "The ends hold for all rows and all looks together, with 95 %, whatever the machine did meanwhile: \
     a coin chose the order of each block, and what was seen is held against other coins.";

/// A size in percent, two digits where they say something.
pub(crate) fn percent(value: f64) -> String {
    if value.abs() >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// A size in percent with its sign; what rounds to nothing has none.
pub(crate) fn signed(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:+.0}"),
        size if size < 0.05 => "0.0".to_owned(),
        _ => format!("{value:+.1}"),
    }
}

/// Rounded up: what is said not to be exceeded must not be. Adding 0 takes the sign from a zero.
fn up(value: f64) -> String {
    format!("{:.1}", (value * 10.0 - 1e-9).ceil().max(0.0) / 10.0 + 0.0)
}

/// A number as it was typed: `2`, `0.5`.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn with(answer: AbAnswer) -> AbReport {
        AbReport { answer, ..fixture::answer("ab") }
    }

    #[test]
    fn the_better_side_is_told_in_words_that_fit_the_figure() {
        let by = |mean, low, high| Interval { mean, low, high, samples: 12 };
        let told = answer(&with(AbAnswer::Better { side: AbSide::B, by_percent: by(5.12, 3.0, 12.3) }));
        assert_eq!(told, "B is better: IOPS 5.1 % higher than A's (95 % interval 3.0..12 %).");
        let mut slower = with(AbAnswer::Better { side: AbSide::A, by_percent: by(-20.0, -25.0, -15.04) });
        "mean latency".clone_into(&mut slower.design.figures[0].name);
        let told = answer(&slower);
        assert_eq!(told, "A is better: mean latency 20 % lower than B's (95 % interval 15..25 %).");
        let told = answer(&with(AbAnswer::Better { side: AbSide::B, by_percent: by(1.0, 0.5, 1.999) }));
        assert!(told.ends_with("(95 % interval 0.5..2.0 %), less than the 2 % that matter here."), "{told}");
        let told = answer(&with(AbAnswer::Better { side: AbSide::B, by_percent: by(1.0, 0.5, 2.0) }));
        assert!(told.ends_with("0.5..2.0 %)."), "at the threshold it may matter: {told}");
    }

    #[test]
    fn a_limit_is_rounded_up() {
        for (percent, said) in [(1.61, "1.7 %"), (1.6, "1.6 %"), (0.0, "0.0 %"), (1.600_000_1, "1.7 %")] {
            let told = answer(&with(AbAnswer::NoneLarger { percent }));
            assert_eq!(told, format!("No difference in IOPS larger than {said}."));
        }
    }

    #[test]
    fn what_is_undecided_says_what_more_time_would_give() {
        let mut report = with(AbAnswer::Undecided { blocks: Some(48) });
        report.rows[0].change_percent = Interval { mean: 0.5, low: -3.06, high: 14.0, samples: 12 };
        report.elapsed = Nanos::millis(24_000);
        report.blocks.truncate(12);
        assert_eq!(report.blocks.len(), 12);
        let told = answer(&report);
        assert_eq!(
            told,
            "Undecided: the change of IOPS from A to B may be anything from -3.1 to +14 %. About 48 blocks in all (96 s) \
             would bring the ends within 2 % of the middle."
        );
        report.answer = AbAnswer::Undecided { blocks: None };
        let told = answer(&report);
        assert!(told.contains("12 blocks are too few to say anything of IOPS; 6 are the least"), "{told}");
        assert_eq!(more_time(&report), None);
    }
}
