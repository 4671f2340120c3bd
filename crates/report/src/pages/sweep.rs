//! What does varying it show?
//!
//! Each figure over the axis with the most numbers, one curve for each combination of the others, then every point.

use iostack_model::answers::{Sweep, SweepAxis, SweepPoint};
use iostack_model::{Interval, Outcome};

use super::simulated::{limit, own};
use crate::document::{Bar, Block, Cell, Column, Document, Drawn, Section, Table};
use crate::html::figures::{iops, latency_axis, quantile};
use crate::html::plot::{Axis, Look, Plot, Quantity, SLOTS, Scale, Series, Spot};
use crate::lists::{Joined, grouped};
use crate::table::{Measure, measure};
use crate::text::format::{cut, megabytes, or_dash, plus_minus, rate, significant};

/// More curves than this cannot be told apart.
const CURVES: usize = 3 * SLOTS;
/// Columns of a varied value on a screen, and of a key before its last word is enough: the command below has the whole.
const AXIS: usize = 20;
const KEY: usize = 14;

/// Document of `iostack sim sweep`, also of one that was cut short.
pub fn sweep(report: &Sweep) -> Document {
    let mut all = Document::new(format!("iostack sim sweep {}", report.device));
    let (count, plural) = (report.points.len(), if report.points.len() == 1 { "point" } else { "points" });
    all.beside = vec!["SIMULATED".to_owned(), format!("{count} {plural}")];
    all.origin = vec![format!("sim:{}", report.device), format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the points");
    let axes = report.axes.iter().map(|axis| format!("{} ({})", axis.key, axis.values.len()));
    all.answer = if report.axes.is_empty() { "nothing varied".to_owned() } else { axes.joined(" × ") };
    all.simulated(outcomes(report), "every point");
    let points = points(report, &mut all);
    all.sections.extend([figures(report), points, failures(report)]);
    all.next = next(report);
    all
}

fn outcomes(report: &Sweep) -> impl Iterator<Item = &Outcome> {
    report.points.iter().flat_map(|point| &point.outcomes)
}

fn has_jobs(report: &Sweep) -> bool {
    report.points.iter().any(|point| point.outcomes.len() > 1)
}

/// The axis that is drawn along: most numbers first.
fn along(sweep: &Sweep) -> Option<(usize, Axis, Vec<f64>)> {
    let axes = sweep.axes.iter().enumerate().filter(|(_, axis)| axis.values.len() > 1);
    let numbered = axes.filter_map(|(index, axis)| {
        let values: Vec<&str> = axis.values.iter().map(String::as_str).collect();
        measure(&values).map(|(kind, numbers)| (index, kind, numbers))
    });
    let (index, kind, numbers) =
        numbered.max_by_key(|(index, _, numbers)| (numbers.len(), usize::MAX - index))?;
    let unit = if kind == Measure::Percent { " (%)" } else { "" };
    let label = format!("{}{unit}", sweep.axes[index].key);
    Some((index, Axis::new(label, quantity(kind), Scale::of(&numbers)), numbers))
}

fn quantity(kind: Measure) -> Quantity {
    match kind {
        Measure::Plain | Measure::PerSecond => Quantity::Count,
        Measure::Bytes => Quantity::Bytes,
        Measure::Nanos => Quantity::Nanos,
        Measure::Percent => Quantity::Percent,
        Measure::BytesPerSecond => Quantity::Bandwidth,
    }
}

/// One curve: its name, and its points in order of x.
struct Curve<'a> {
    name: String,
    points: Vec<(f64, &'a SweepPoint, &'a Outcome)>,
}

fn curves<'a>(sweep: &'a Sweep, axis: usize, numbers: &[f64]) -> Vec<Curve<'a>> {
    let place = |point: &SweepPoint| {
        let mut values = sweep.axes[axis].values.iter();
        values.position(|value| *value == point.settings[axis].1).map(|place| numbers[place])
    };
    let points = sweep.points.iter().filter_map(|point| Some((place(point)?, point)));
    let spots = points.flat_map(|(x, point)| {
        point.outcomes.iter().map(move |outcome| (name(sweep, axis, point, outcome), (x, point, outcome)))
    });
    let mut curves: Vec<Curve<'a>> =
        grouped(spots).into_iter().map(|(name, points)| Curve { name, points }).collect();
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// Name of a curve: the values of all other axes.
fn name(sweep: &Sweep, axis: usize, point: &SweepPoint, outcome: &Outcome) -> String {
    let others = point.settings.iter().enumerate().filter(|&(index, _)| index != axis);
    let others = others.map(|(_, (key, value))| {
        if key == SweepAxis::DEVICE {
            value.clone()
        } else {
            format!("{} {value}", key.rsplit('.').next().unwrap_or(key))
        }
    });
    let job = has_jobs(sweep).then(|| outcome.job.name.clone());
    let words = others.chain(job).joined(", ");
    if words.is_empty() { sweep.device.clone() } else { words }
}

fn figures(report: &Sweep) -> Section {
    let mut section = Section::new("figures", "Figures", "What varying it shows");
    let Some((axis, x, numbers)) = along(report) else {
        section.page(Block::Note("No axis of several numbers to draw along: see the table.".to_owned()));
        return section;
    };
    let mut curves = curves(report, axis, &numbers);
    if curves.len() > CURVES {
        let note = format!("{CURVES} of {} curves are drawn; the table has all.", curves.len());
        section.page(Block::Note(note));
        curves.truncate(CURVES);
    }
    let key = &report.axes[axis].key;
    let rate = Axis::linear("I/Os per second", Quantity::Count);
    let tail = |outcome: &Outcome| quantile(&outcome.latency(), 0.99);
    let median = |outcome: &Outcome| quantile(&outcome.latency(), 0.5);
    let mut plots = vec![
        plot(&format!("Throughput over {key}"), &x, rate, &curves, iops),
        plot(&format!("Median latency over {key}"), &x, latency_axis(), &curves, median),
        plot(&format!("99th percentile over {key}"), &x, latency_axis(), &curves, tail),
    ];
    if curves.iter().flat_map(|curve| &curve.points).any(|(.., outcome)| amplification(outcome) > 0.0) {
        let y = Axis::linear("pages written per page the host wrote", Quantity::Percent);
        // Not a number where nothing was written.
        let wa = |outcome: &Outcome| {
            Interval::exact(Some(amplification(outcome)).filter(|&wa| wa > 0.0).unwrap_or(f64::NAN))
        };
        plots.push(plot(&format!("Write amplification over {key}"), &x, y, &curves, wa));
    }
    let drawn = |plot| Drawn::new(plot, "simulated; band: 95 % interval over virtual time");
    section.page(Block::Plots(plots.into_iter().map(drawn).collect()));
    section
}

fn plot(
    heading: &str,
    x: &Axis,
    y: Axis,
    curves: &[Curve<'_>],
    value: impl Fn(&Outcome) -> Interval,
) -> Plot {
    let spot = |&(x, point, outcome): &(f64, &SweepPoint, &Outcome)| Spot {
        count: outcome.ios(),
        label: point.name(),
        ..Spot::of_interval(x, value(outcome))
    };
    let series = curves.iter().enumerate().map(|(slot, curve)| {
        let look = if slot < SLOTS { Look::Line } else { Look::Dashed };
        Series::new(&curve.name, slot % SLOTS, look, curve.points.iter().map(spot))
    });
    Plot::new(heading, x.clone(), y, series)
}

fn amplification(outcome: &Outcome) -> f64 {
    let flash = outcome.inside.as_ref().and_then(|inside| inside.flash.as_ref());
    flash.map_or(0.0, |flash| flash.write_amplification)
}

/// A page names a point in one column, a screen has one for each key; then the figures, those that weigh least to be left
/// out first.
fn points(report: &Sweep, all: &mut Document) -> Section {
    let mut section = Section::new("points", "Points", "Every point");
    if outcomes(report).next().is_none() {
        return section;
    }
    let rows = report.points.iter().flat_map(|point| point.outcomes.iter().map(move |one| (point, one)));
    let mut table = Table::over(rows).column(Column::words("point").page(), |(point, _)| point.name());
    for (at, axis) in report.axes.iter().enumerate() {
        let short = axis.key.chars().count() <= KEY;
        let head = if short { &axis.key } else { axis.key.rsplit('.').next().unwrap_or(&axis.key) };
        let column = Column::words(cut(&head.to_uppercase(), AXIS)).screen();
        table = table.column(column, |(point, _)| cut(&point.settings[at].1, AXIS));
    }
    let only = |column: Column, wanted| if wanted { column } else { column.page() };
    let written = outcomes(report).any(|outcome| amplification(outcome) > 0.0);
    let most = outcomes(report).map(Outcome::rate).fold(0.0, f64::max);
    let mut marked = |(point, outcome): (&SweepPoint, &Outcome)| {
        let place = format!("{}, {}", point.name(), outcome.job.name);
        Cell::from(rate(outcome.rate())).marked(all.doubts.note(own(outcome), &place))
    };
    let time = |outcome: &Outcome, fraction| {
        let ns = outcome.latency().quantile_ns(fraction).map_or(f64::NAN, |ns| ns as f64);
        Quantity::Nanos.say(ns)
    };
    let number = Column::number;
    let table = table
        .column(only(Column::words("job"), has_jobs(report)), |(_, outcome)| &outcome.job.name)
        .number("IOPS", &mut marked)
        .column(number("±").page(), |(_, outcome)| plus_minus(iops(outcome)))
        .column(Column::bars("").light(4), |(_, outcome)| Bar::whole(outcome.rate(), most, 0))
        .column(number("MB/s").light(5), |(_, outcome)| megabytes(outcome.bandwidth()))
        .column(number("p50").light(6), |(_, outcome)| time(outcome, 0.5))
        .column(number("p99").light(1), |(_, outcome)| time(outcome, 0.99))
        .column(only(number("WA"), written).light(2), |(_, outcome)| {
            or_dash(Some(amplification(outcome)).filter(|wa| *wa > 0.0), |wa| significant(wa, 3))
        })
        .column(Column::words("limit").light(3), |(_, outcome)| limit(outcome))
        .below(|(_, outcome)| outcome.interrupted.then(|| "interrupted".to_owned()).into_iter().collect());
    section.table(table.done());
    let mut commands = Section::default();
    for point in &report.points {
        commands.fact(point.name(), &point.command);
    }
    section.page(Block::Fold(format!("Each point alone ({})", report.points.len()), commands));
    section
}

fn failures(report: &Sweep) -> Section {
    let mut section = Section::new("failed", "Failed", "What failed or was not run");
    let count = report.points.len();
    let failed = report
        .failed()
        .map(|point| format!("{}: {}", point.name(), point.error.as_deref().unwrap_or_default()));
    let missing = report.points.iter().filter(|point| point.is_missing()).map(SweepPoint::name);
    let (failed, missing): (Vec<_>, Vec<_>) = (failed.collect(), missing.collect());
    if !failed.is_empty() {
        section.fact("FAILED", format!("{} of {count}", failed.len())).list(failed);
    }
    if !missing.is_empty() {
        section.fact("NOT RUN", format!("{} of {count}", missing.len())).page(Block::List(missing));
    }
    section
}

/// The fastest point alone: what to look at more closely.
fn next(report: &Sweep) -> Option<(String, &'static str)> {
    let rate = |point: &SweepPoint| point.outcomes.iter().map(Outcome::rate).sum::<f64>();
    // A point that was cut short may only look fast.
    let whole = |point: &&SweepPoint| point.outcomes.iter().all(|outcome| !outcome.interrupted);
    let run = report.points.iter().filter(|point| !point.outcomes.is_empty()).filter(whole);
    let best = run.max_by(|a, b| rate(a).total_cmp(&rate(b))).or(report.points.first())?;
    let what = if best.outcomes.is_empty() { "the first point alone" } else { "the fastest point alone" };
    Some((best.command.clone(), what))
}
