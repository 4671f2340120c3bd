//! What became of each figure over time?
//!
//! A list has a row a series, its trend and its newest step. One series has each of its steps, what changed with it, and
//! its runs. A page has a small plot of each series, with its steps marked.

use iostack_model::Interval;
use iostack_model::answers::{
    History, HistoryCondition, HistoryFigure, HistoryRun, HistorySeries, HistoryStep, SeriesName,
};

use crate::document::{Block, Cell, Column, Document, Drawn, Row, Section, Table};
use crate::html::numbers::date;
use crate::html::plot::{Axis, Look, Plot, PlotMark, Quantity, Series, Spot};
use crate::lists::Joined;
use crate::text::format::{change, or_dash, or_nothing};
use crate::text::glyphs::sparkline;

/// Cells of a trend in a list, and of one series alone.
const TREND: (usize, usize) = (10, 60);
/// Runs of one series on a screen, and those that a plot draws: the newest.
const RUNS: usize = 20;
const DRAWN: usize = 1_000;
/// Series that a page draws.
const PLOTS: usize = 60;

/// Document of `iostack history`.
pub fn history(report: &History) -> Document {
    let mut all = Document::new("iostack history");
    let runs: usize = report.series.iter().map(|series| series.runs.len()).sum();
    all.beside = vec![format!("{} series, {runs} runs", report.series.len())];
    if let Some(since) = report.since_unix_ms {
        all.beside.push(format!("since {}", day(since)));
    }
    all.origin = vec![report.store.clone(), format!("iostack {}", report.iostack)];
    // The doubts of a run stand in its own report.
    all.unjudged = true;
    (all.answers, all.answer) = ("CHANGED", answer(report));
    match (&report.chosen, &report.series[..]) {
        (Some(_), [one]) => {
            about(&one.name, &mut all.head);
            all.sections.extend([trend(one, report.figure), steps(one, report), runs_of(one)]);
        }
        _ => all.sections.extend([list(report), drawings(report)]),
    }
    all.sections.push(problems(report));
    all.next = next(report);
    all.data(report);
    all
}

fn answer(report: &History) -> String {
    let figure = report.figure.name();
    let newest = report.newest_steps().max_by_key(|(series, step)| series.runs[step.run as usize].unix_ms);
    let Some((series, step)) = newest else {
        return format!("no step in {figure}: each level held, as far as these runs can tell");
    };
    let changed = report.newest_steps().count();
    let of = match report.series.len() {
        1 => String::new(),
        all => format!("{changed} of {all} series have a step in {figure}; the newest: "),
    };
    format!("{of}{} {}", series.name.job, said(series, step, report.figure))
}

/// `on 2026-03-01: IOPS -5.1 % (-5.9 to -4.3 %), worse`
fn said(series: &HistorySeries, step: &HistoryStep, figure: HistoryFigure) -> String {
    let Interval { mean, low, high, .. } = step.change_percent;
    let when = day(series.runs[step.run as usize].unix_ms);
    let verdict = if step.worse { "worse" } else { "better" };
    format!("on {when}: {} {} ({low:+.1} to {high:+.1} %), {verdict}", figure.name(), change(mean))
}

fn about(name: &SeriesName, section: &mut Section) {
    section.fact("machine", &name.machine).fact("target", &name.target).fact("job", &name.job);
}

fn list(report: &History) -> Section {
    let mut section = Section::new("series", "Series", "Every series");
    let figure = report.figure;
    let last = if figure == HistoryFigure::Iops { "last IOPS" } else { "last" };
    let day_of = |series: &HistorySeries, step: &HistoryStep| day(series.runs[step.run as usize].unix_ms);
    let table = Table::over(&report.series)
        .words("series", |series| series.number.to_string())
        .words("target", |series| &series.name.target)
        .words("job", |series| &series.name.job)
        .number("runs", |series| series.runs.len().to_string())
        .number(last, |series| {
            let last = values(series, figure).pop();
            last.map_or_else(Cell::default, |(_, last)| Cell::interval(quantity(figure), last))
        })
        .column(Column::words("trend").screen(), |series| spark(&values(series, figure), TREND.0))
        .number("step", |series| or_dash(series.steps.last(), |step| change(step.change_percent.mean)))
        .column(Column::words("on").light(1), |series| {
            series.steps.last().map_or_else(String::new, |step| day_of(series, step))
        });
    let mut table = table.done();
    let mut rows = std::mem::take(&mut table.rows).into_iter();
    for of_machine in report.series.chunk_by(|a, b| a.name.machine == b.name.machine) {
        let machine = Some(&of_machine[0].name.machine).filter(|name| !name.is_empty());
        table.rows.extend(machine.map(Row::group));
        table.rows.extend(rows.by_ref().take(of_machine.len()));
    }
    section.table(table);
    section.screen(Block::Words(SCALE.to_owned()));
    section
}

/// Explanation of how a trend is drawn.
const SCALE: &str = "A trend begins a tenth below its median, or at its lowest run.";

fn values(series: &HistorySeries, figure: HistoryFigure) -> Vec<(usize, Interval)> {
    let runs = series.runs.iter().enumerate();
    runs.filter_map(|(at, run)| Some((at, run.figure(figure)?))).collect()
}

fn spark(values: &[(usize, Interval)], cells: usize) -> String {
    let means: Vec<f64> = values.iter().map(|(_, value)| value.mean).collect();
    let mut sorted = means.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(&lowest) = sorted.first() else { return String::new() };
    // From the lowest itself nothing would be left to draw.
    let floor = (sorted[sorted.len() / 2] * 0.9).min(lowest * 0.99);
    sparkline(&means.iter().map(|mean| mean - floor).collect::<Vec<_>>(), cells)
}

fn trend(series: &HistorySeries, figure: HistoryFigure) -> Section {
    let mut section = Section::new("trend", "Trend", "Every run");
    section.screen(Block::Fact("trend".to_owned(), spark(&values(series, figure), TREND.1)));
    let mut drawn = drawn(series, figure);
    drawn.plot.wide = true;
    section.page(Block::Plots(vec![drawn]));
    section
}

fn steps(series: &HistorySeries, report: &History) -> Section {
    let mut section = Section::new("steps", "Steps", "Where the level changed");
    let quantity = quantity(report.figure);
    for step in series.steps.iter().rev() {
        let levels = format!("{} to {}", quantity.say(step.before.mean), quantity.say(step.after.mean));
        section.put(Block::Heading(format!("STEP {}, {levels}", said(series, step, report.figure))));
        section.list(step.conditions.iter().map(condition).collect());
        if step.conditions.is_empty() {
            section.words("None of the conditions that outcomes hold changed with it.");
        }
    }
    section
}

fn condition(one: &HistoryCondition) -> String {
    format!("{}: {} before, {} after", one.name, or_nothing(&one.before), or_nothing(&one.after))
}

fn runs_of(series: &HistorySeries) -> Section {
    let mut section = Section::new("runs", "Runs", "The newest runs");
    let value = |quantity, value| or_dash(value, |one| Cell::interval(quantity, one));
    let step = |at| series.steps.iter().find(|step| step.run as usize == at);
    let table = Table::over(series.runs.iter().enumerate().rev().take(DRAWN))
        .words("run", |(_, run)| date(run.unix_ms).trim_end_matches(" UTC").to_owned())
        .number("IOPS", |(_, run)| value(Quantity::Count, run.iops))
        .number("p50", |(_, run)| value(Quantity::Nanos, run.p50_ns))
        .number("p99", |(_, run)| value(Quantity::Nanos, run.p99_ns))
        .number("doubts", |(_, run)| run.doubts.to_string())
        .words("step", |(at, _)| step(at).map_or_else(String::new, |step| change(step.change_percent.mean)));
    let older = series.runs.len().saturating_sub(RUNS);
    let rest = Some(Row::of([format!("and {older} older")]));
    section.table(Table { shown: RUNS, rest, ..table.done() });
    section
}

fn drawings(report: &History) -> Section {
    let mut section = Section::new("plots", "Plots", "Each series, its steps marked");
    if report.series.len() > PLOTS {
        let all = report.series.len();
        section.page(Block::Note(format!(
            "{PLOTS} of {all} series are drawn; words behind `iostack history` choose some."
        )));
    }
    let plots = report.series.iter().take(PLOTS).map(|series| drawn(series, report.figure));
    section.page(Block::Plots(plots.collect()));
    section
}

fn drawn(series: &HistorySeries, figure: HistoryFigure) -> Drawn {
    let steps = series.steps.iter().map(|step| {
        let changed = step.conditions.iter().map(condition).joined("; ");
        let with = if changed.is_empty() { changed } else { format!(" with {changed}") };
        format!("; step {}{with}", said(series, step, figure))
    });
    let counted = format!("one point a run, {} runs{}", series.runs.len(), steps.collect::<String>());
    Drawn::new(plot(series, figure), counted)
}

/// Runs against the first level that is drawn: what is level is at 0.
fn plot(series: &HistorySeries, figure: HistoryFigure) -> Plot {
    let SeriesName { machine, target, job } = &series.name;
    let values = values(series, figure);
    let values = &values[values.len().saturating_sub(DRAWN)..];
    let from = values.first().map_or(0, |(at, _)| *at);
    let first = match series.steps.iter().find(|step| step.run as usize > from) {
        Some(step) => step.before.mean,
        None => values.iter().map(|(_, value)| value.mean).sum::<f64>() / values.len().max(1) as f64,
    };
    let share = |value: f64| (value / first - 1.0) * 100.0;
    let spot = |(at, value): &(usize, Interval)| Spot {
        low: share(value.low),
        high: share(value.high),
        label: format!("{}, {}", day(series.runs[*at].unix_ms), quantity(figure).say(value.mean)),
        ..Spot::at(*at as f64 + 1.0, share(value.mean))
    };
    let look = if values.len() > 2 * RUNS { Look::Plain } else { Look::Line };
    let runs = Series::new(figure.name(), 0, look, values.iter().map(spot));
    let mark = |step: &HistoryStep| PlotMark {
        x: f64::from(step.run) + 1.0,
        label: change(step.change_percent.mean),
        slot: Some(usize::from(step.worse)),
        leftward: true,
    };
    let marks = series.steps.iter().filter(|step| step.run as usize >= from).map(mark).collect();
    let heading = format!("{}. {job} on {target}, {machine}", series.number);
    let y = format!("{} against {} (%)", figure.name(), quantity(figure).say(first));
    let (x, y) = (Axis::linear("run", Quantity::Count), Axis::linear(y, Quantity::Percent));
    Plot { marks, ..Plot::new(heading, x, y, [runs]) }
}

fn problems(report: &History) -> Section {
    let mut section = Section::new("problems", "Problems", "What could not be read");
    if !report.problems.is_empty() {
        section.screen(Block::Heading("COULD NOT BE READ".to_owned()));
        section.list(report.problems.clone());
    }
    section
}

fn next(report: &History) -> Option<(String, &'static str)> {
    let (series, step) =
        report.newest_steps().max_by_key(|(series, step)| series.runs[step.run as usize].unix_ms)?;
    if report.chosen.is_none() || report.series.len() > 1 {
        return Some((format!("iostack history {}", series.number), "its steps, and what changed with them"));
    }
    let answer =
        |run: &HistoryRun| iostack_model::quoted(&format!("{}/answers/{}.json", report.store, run.answer));
    let [before, after] = [step.run as usize - 1, step.run as usize].map(|at| answer(&series.runs[at]));
    Some((format!("iostack compare {before} {after}"), "the runs beside the newest step"))
}

const fn quantity(figure: HistoryFigure) -> Quantity {
    if figure.higher_is_better() { Quantity::Count } else { Quantity::Nanos }
}

fn day(unix_ms: u64) -> String {
    date(unix_ms)[..10].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_small_step_is_seen_in_a_trend_and_scatter_is_not() {
        let history: History = fixture::answer("history");
        let trend = |of: usize| spark(&values(&history.series[of], HistoryFigure::Iops), 8);
        assert_eq!([trend(0), trend(1)], ["████████", "██████▄▄"]);
        assert_eq!(spark(&[], 8), "");
    }
}
