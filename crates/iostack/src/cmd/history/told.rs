//! What does the history say? Pure: the answers around a step are asked of who calls.

use std::collections::BTreeMap;

use iostack_model::Interval;
use iostack_model::answers::{History, HistoryFigure, HistoryRun, HistorySeries, HistoryStep, SeriesName};
use iostack_stats::{LevelStep, Unit, compare_figure, level_steps};

use super::found::{FoundOutcomes, Noted, changed};

/// The runs of each series since then, in the order of time, without their steps.
pub(super) fn series(noted: impl Iterator<Item = Noted>, since_unix_ms: u64) -> Vec<HistorySeries> {
    let mut all: BTreeMap<SeriesName, Vec<HistoryRun>> = BTreeMap::new();
    for Noted { name, run } in noted {
        all.entry(name).or_default().push(run);
    }
    let numbered = (1..).zip(all).map(|(number, (name, mut runs))| {
        runs.retain(|run| run.unix_ms >= since_unix_ms);
        runs.sort_by_key(|run| run.unix_ms);
        HistorySeries { number, name, runs, steps: Vec::new() }
    });
    numbered.filter(|series| !series.runs.is_empty()).collect()
}

/// The series that were asked for: one by its number, or those in whose name all words are.
pub(super) fn chosen(all: Vec<HistorySeries>, typed: &str) -> Vec<HistorySeries> {
    let number = typed.parse::<u32>().ok();
    let is_meant = |series: &HistorySeries| {
        let SeriesName { machine, target, job } = &series.name;
        let name = format!("{machine} {target} {job}").to_lowercase();
        let named = typed.to_lowercase().split_whitespace().all(|word| name.contains(word));
        number.map_or(named, |number| series.number == number)
    };
    all.into_iter().filter(is_meant).collect()
}

/// Steps of a figure, without what changed with them.
pub(super) fn steps(series: &HistorySeries, figure: HistoryFigure) -> Vec<HistoryStep> {
    let with: Vec<(u32, Interval)> =
        (0..).zip(&series.runs).filter_map(|(at, run)| Some((at, run.figure(figure)?))).collect();
    let values: Vec<Interval> = with.iter().map(|(_, value)| *value).collect();
    level_steps(&values).into_iter().map(|step| told(step, with[step.at].0, figure)).collect()
}

fn told(step: LevelStep, run: u32, figure: HistoryFigure) -> HistoryStep {
    let LevelStep { before, after, .. } = step;
    let higher = figure.higher_is_better();
    let row = compare_figure(figure.name(), Unit::PerSecond, before, after, higher);
    let (low, high) = (row.change_percent_low, row.change_percent_high);
    let samples = before.samples.min(after.samples);
    let change_percent = Interval { mean: row.change_percent, low, high, samples };
    HistoryStep {
        run,
        before,
        after,
        change_percent,
        worse: (after.mean < before.mean) == higher,
        conditions: Vec::new(),
    }
}

/// Puts to each of a series' steps from the place `from` on what changed with it, as far as its answers can be read.
pub(super) fn explain(
    series: &mut HistorySeries,
    from: usize,
    known: &mut BTreeMap<String, Option<FoundOutcomes>>,
    mut find: impl FnMut(&str) -> Option<FoundOutcomes>,
) {
    for step in series.steps.iter_mut().skip(from) {
        let after = &series.runs[step.run as usize];
        let before = &series.runs[step.run as usize - 1];
        for answer in [&before.answer, &after.answer] {
            known.entry(answer.clone()).or_insert_with(|| find(answer));
        }
        if let [Some(Some(a)), Some(Some(b))] =
            [&before.answer, &after.answer].map(|answer| known.get(answer))
        {
            step.conditions = changed((a, before.outcome), (b, after.outcome));
        }
    }
}

/// The newest steps that are worse by more than so many percent.
pub(super) fn beyond(history: &History, percent: f64) -> Vec<String> {
    let worse = |step: &HistoryStep| step.worse && step.change_percent.mean.abs() > percent;
    let said = |(series, step): (&HistorySeries, &HistoryStep)| {
        let SeriesName { machine, target, job } = &series.name;
        format!(
            "worse by more than {percent} %: {} of `{job}` on {target} of {machine}, by {:+.1} % (series {})",
            history.figure.name(),
            step.change_percent.mean,
            series.number
        )
    };
    history.newest_steps().filter(|(_, step)| worse(step)).map(said).collect()
}
