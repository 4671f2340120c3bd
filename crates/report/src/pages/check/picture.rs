//! The first picture of a check: IOPS and latency over queue depth, each knee marked, and where the time goes by depth.

use iostack_model::answers::{AgainstFigure, Check, Point, Step, StepKind};
use iostack_model::{Bins, Outcome, Stage, Way};

use super::drawings::{iops_axis, outcomes, step_axis};
use super::letters;
use crate::document::{Block, Cell, Column, Document, Section, Table};
use crate::html::figures::{self, RANK_BAND, RATE_BAND, StepCurve, curves, iops};
use crate::html::plot::{Look, Plot, PlotMark, Scale, Series, Spot};
use crate::lists::{Joined, grouped};
use crate::pages::numbers::captioned;
use crate::pages::stages::bar;
use crate::text::format::{brief, capitalised, rate, time};

/// Puts the picture below the tiles of a page, and before the tables of a screen.
pub(super) fn first(check: &Check, all: &mut Document) {
    if let Some(step) = check.step(StepKind::Depth).filter(|step| !step.points.is_empty()) {
        let (curves, x) = (curves(&step.points), step_axis(&step.axis));
        let mut rates = figures::over(&curves, &x, iops_axis(Scale::Linear), &heading(check), iops);
        rates.series.extend(rated(check, step, "iops").map(|one| one.series("")));
        let mut latency = figures::latency_over(&curves, &x, "What waiting in the queue costs: p50 and p99");
        for (figure, name) in [("latency_median", " p50"), ("latency_p99", " p99")] {
            latency.series.extend(rated(check, step, figure).map(|one| one.series(name)));
        }
        let plots = [(rates, RATE_BAND), (latency, RANK_BAND)].map(|(plot, band)| {
            let band = format!("{band}; vertical line: knee");
            captioned(Plot { marks: knees(check, &curves), ..plot }, &outcomes(step), &band, &mut all.doubts)
        });
        all.head.page(Block::Plots(plots.into()));
        let mut screen = Section::default();
        screen.screen(Block::Ready(letters::picture(check, step, &curves)));
        all.sections.push(screen);
    }
    if let Some(table) = stages_by_depth(check) {
        all.head.page(Block::Table(table));
    }
}

/// `Random read saturates at depth 16: 212 k IOPS at most`, or that it does not.
fn heading(check: &Check) -> String {
    let Some(first) = check.summary.saturation.first() else { return "IOPS over queue depth".to_owned() };
    let most = rate(first.iops_max);
    let series = capitalised(first.series.name());
    match first.depth {
        Some(depth) => format!("{series} saturates at depth {depth}: {most} IOPS at most"),
        None => format!("{series} still rises at the largest depth: {most} IOPS so far"),
    }
}

/// The depth at which a curve saturates.
pub(super) fn knee(check: &Check, curve: &StepCurve<'_>) -> Option<f64> {
    let own = check.summary.saturation.iter().find(|one| one.series.name() == curve.name);
    own.and_then(|one| one.depth).map(f64::from)
}

/// A line at each depth where curves bend, with the colour of a lone one and the names of all.
fn knees(check: &Check, curves: &[StepCurve<'_>]) -> Vec<PlotMark> {
    let bent = curves.iter().filter_map(|curve| Some((knee(check, curve)?, curve)));
    let mut bent = grouped(bent);
    bent.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mark = |(x, here): (f64, Vec<&StepCurve<'_>>)| {
        let names = here.iter().map(|curve| curve.name);
        let names = if here.len() > 2 { "all".to_owned() } else { names.joined(", ") };
        let slot = if let [curve] = here[..] { Some(curve.slot) } else { None };
        PlotMark { x, label: format!("knee {x}: {names}"), slot, leftward: true }
    };
    bent.into_iter().map(mark).collect()
}

/// A figure of the data sheet at the depth at which it was held against a measurement.
pub(super) struct Rated<'a> {
    pub(super) curve: &'a str,
    pub(super) depth: f64,
    pub(super) value: f64,
    slot: usize,
}

impl Rated<'_> {
    fn series(&self, percentile: &str) -> Series {
        let name = format!("rated, {}{percentile}", self.curve);
        Series::new(name, self.slot, Look::Dashed, [Spot::at(self.depth, self.value)])
    }
}

/// The rated figures of one kind that a measurement like those of `step` was held against.
pub(super) fn rated<'a>(
    check: &'a Check,
    step: &'a Step,
    figure: &'static str,
) -> impl Iterator<Item = Rated<'a>> {
    let figures = check.against.iter().flat_map(|against| &against.figures);
    figures.filter(move |one| one.figure == figure).filter_map(move |one| {
        let all = check.steps.iter().flat_map(|step| &step.points);
        let found = all.map(|point| &point.outcome).find(|outcome| is_measured(one, outcome))?;
        let alike = |point: &&Point| {
            let (job, other) = (&point.outcome.job, &found.job);
            (&job.mix, &job.access, &job.block_sizes) == (&other.mix, &other.access, &other.block_sizes)
        };
        let curve = step.points.iter().find(alike)?.series.name();
        let slot = curves(&step.points).into_iter().find(|each| each.name == curve)?.slot;
        let depth = f64::from(found.job.depth() * found.job.threads);
        Some(Rated { curve, depth, value: one.rated, slot })
    })
}

/// True of the outcome that a rated figure was held against.
fn is_measured(figure: &AgainstFigure, outcome: &Outcome) -> bool {
    let quantile = |fraction| outcome.latency().quantile_ns(fraction).map(|ns| ns as f64);
    figure.measured.is_some_and(|measured| match figure.figure.as_str() {
        "iops" => outcome.iops == measured,
        "latency_median" => quantile(0.5) == Some(measured.mean),
        "latency_p99" => quantile(0.99) == Some(measured.mean),
        _ => false,
    })
}

/// The stages of a traced or simulated I/O, and the whole.
fn stages_of_point(point: &Point) -> Option<(&[(Stage, Bins)], &Bins)> {
    let traced = point.outcome.stages.as_ref().and_then(|stages| stages.way(Way::Device));
    let traced = traced.map(|way| (&way.stages[..], &way.whole));
    let inside = || point.outcome.inside.as_ref()?.flows.first().map(|flow| (&flow.stages[..], &flow.whole));
    traced.or_else(inside).filter(|(_, all)| all.count > 0)
}

/// A bar for each depth of the first curve that was looked into, as long as the whole and cut into stages.
fn stages_by_depth(check: &Check) -> Option<Table> {
    let steps = [StepKind::Places, StepKind::Depth];
    let points = || steps.iter().filter_map(|&id| check.step(id)).flat_map(|step| &step.points);
    let first = points().find(|point| stages_of_point(point).is_some())?;
    let known = points().filter(|point| point.series == first.series).filter_map(|point| {
        let (stages, whole) = stages_of_point(point)?;
        Some((point.outcome.job.depth(), (stages, whole)))
    });
    let mut ios = 0;
    let mut table = Table::new(vec![Column::words("depth"), Column::bars(""), Column::number("mean")]);
    table.heading = format!("Where the time of one {} goes, at each depth", first.series.name());
    for (depth, all) in grouped(known) {
        let (stages, whole) = all[0];
        let mut stages: Vec<&(Stage, Bins)> = stages.iter().filter(|(_, bins)| bins.sum_ns > 0).collect();
        stages.sort_by_key(|(stage, _)| *stage);
        let bar = bar(stages, whole.mean_ns());
        table.row([depth.to_string().into(), Cell::from(bar), time(whole.mean_ns()).into()]);
        ios += whole.count;
    }
    table.page_caption =
        format!("each bar is the mean I/O from its start to its end; {} I/Os", brief(ios as f64));
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The fixture with a sheet that rates 600 k IOPS where its deepest reads were measured, and their p99.
    fn against() -> Check {
        let mut check = fixture::check();
        let step = check.step(StepKind::Depth).expect("the fixture has the step");
        let deepest = step.points.iter().rfind(|point| point.series.name() == "random read");
        let outcome = deepest.expect("it reads").outcome.clone();
        let tail = outcome.latency().quantile_ns(0.99).expect("it has I/Os") as f64;
        let mut sheet = fixture::against();
        sheet.figures[0] =
            AgainstFigure { rated: 6e5, measured: Some(outcome.iops), ..sheet.figures[0].clone() };
        sheet.figures[1] = AgainstFigure {
            figure: "latency_p99".to_owned(),
            rated: 9e5,
            measured: Some(iostack_model::Interval::exact(tail)),
            ..sheet.figures[1].clone()
        };
        check.against = Some(sheet);
        check
    }

    #[test]
    fn the_first_picture_stands_above_all_sections_with_its_knees_and_what_the_sheet_rates() {
        for (check, names) in [(fixture::check(), 0), (against(), 1)] {
            let page = crate::check(&check).html();
            let (header, sections) = page.split_once("</header>").expect("a page has a header");
            assert_eq!(header.matches("data-plot=").count(), 2, "IOPS and latency");
            assert_eq!(header.matches("knee 64: random read").count(), 2, "in both");
            assert!(header.find("class=\"tiles\"") < header.find("data-plot="), "below the tiles");
            assert!(header.contains("Where the time of one random read goes, at each depth"), "{header}");
            for name in ["rated, random read</button>", "rated, random read p99</button>"] {
                assert_eq!(header.matches(name).count(), names, "{name}");
            }
            let folds = sections.matches("<details class=\"fold\">").count();
            assert_eq!(sections.matches("<section ").count() - folds, 1 + names, "what stays open");
        }
    }

    #[test]
    fn the_picture_on_a_screen_has_a_letter_for_each_measurement_and_a_dash_where_a_sheet_rates_one() {
        let screen = |check: &Check| crate::check(check).text();
        let picture = |screen: String| -> Vec<String> {
            let rows = screen.lines().skip_while(|line| !line.starts_with("IOPS OVER DEPTH"));
            rows.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let rows = picture(screen(&fixture::check()));
        // Columns 9 to 40 and from 49 on are the panels; labels stand before them.
        let letters = |rows: &[String], letter: char| {
            let cells = rows[1..rows.len() - 2].iter().flat_map(|row| row.chars().enumerate());
            cells.filter(|&(at, cell)| (at % 40 > 8) && cell == letter).count()
        };
        // Eight depths in two panels; the knee is a capital.
        for (small, capital) in [('r', 'R'), ('w', 'W'), ('m', 'M')] {
            assert_eq!([letters(&rows, small), letters(&rows, capital)], [14, 2], "{rows:#?}");
        }
        assert!(rows[1].starts_with(" 498.9k │") && rows[1].contains('r'), "the highest on top: {rows:#?}");
        assert!(rows.last().is_some_and(|row| row.ends_with("capital: knee")), "{rows:#?}");
        let rated = picture(screen(&against()));
        assert!(rated[1].starts_with(" 600.0k │") && letters(&rated, '-') == 2, "{rated:#?}");
        assert!(rated.last().is_some_and(|row| row.ends_with("-: rated")), "{rated:#?}");
    }

    #[test]
    fn more_depths_than_there_is_room_for_are_no_picture() {
        let mut check = fixture::check();
        let depth = check.steps.iter_mut().find(|step| step.id == StepKind::Depth).expect("it has the step");
        for (at, point) in depth.points.iter_mut().enumerate() {
            point.x = 1.0 + at as f64;
        }
        assert!(!crate::check(&check).text().contains("IOPS OVER DEPTH"));
    }
}
