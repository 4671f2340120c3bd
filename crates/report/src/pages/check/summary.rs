//! The tables of a check: cells, depth-1 latency, the curve over queue depth, and cost.

use iostack_model::answers::{self, CellName, Check, Cost, DepthOne, Saturation, Step, StepKind};
use iostack_model::{Caveat, Direction};

use super::picture::knee;
use super::{of_latency, point_name};
use crate::document::{Block, Cell, Column, Document, Doubts, Row, Section, Table};
use crate::html::figures::{StepCurve, curves};
use crate::html::numbers::Quantity;
use crate::lists::{Joined, distinct};
use crate::text::format::{count, megabytes, or_dash, percentile_name, rate, significant, time};

/// Curves beside each other.
const CURVES: usize = 3;

/// Percentiles of the depth-1 table.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// The figures to remember, each with what it means.
pub(super) fn tiles(check: &Check) -> Vec<(String, String, String)> {
    let summary = &check.summary;
    let cell = |name: CellName| {
        summary.cells.iter().find(|cell| cell.name == name && cell.direction == Direction::Read)
    };
    let mut tiles = Vec::new();
    let mut tile = |what: &str, value: String, detail: String| tiles.push((what.to_owned(), value, detail));
    if let Some(cell) = cell(CellName::Random32) {
        tile("random read, depth 32", rate(cell.iops.mean) + " IOPS", "4 KiB".to_owned());
    }
    if let Some(one) = summary.depth_one.first() {
        let at = |wanted: f64| one.percentiles.iter().find(|(percent, _)| same(*percent, wanted));
        let spread = [("p50", 50.0), ("p99", 99.0)].into_iter();
        let spread = spread.filter_map(|(name, percent)| Some(format!("{name} {}", at(percent)?.1)));
        let spread = spread.joined(", ");
        tile(&format!("one random {}, mean", one.direction.name()), one.mean.to_string(), spread);
    }
    if let Some(curve) = summary.saturation.first() {
        let depth = curve.depth.map_or("not yet".to_owned(), |depth| format!("depth {depth}"));
        let at_once = format!("{} at once in the device", significant(curve.parallelism, 3));
        tile(&format!("{} saturates at", curve.series), depth, at_once);
    }
    if let Some(cell) = cell(CellName::Sequential8) {
        let bandwidth = Quantity::Bandwidth.say(cell.bandwidth.mean);
        tile("sequential read", bandwidth, "1 MiB, depth 8".to_owned());
    }
    if let Some(cost) = summary.costs.iter().min_by(|a, b| a.cpu_ns_per_io.total_cmp(&b.cpu_ns_per_io)) {
        let carried = format!("{} IOPS per core, {}", rate(cost.iops_per_core), cost.label);
        tile("least CPU time per I/O", time(cost.cpu_ns_per_io), carried);
    }
    tiles
}

/// A section for each table, so that a screen has a line between them.
pub(super) fn sections(check: &Check, all: &mut Document) {
    let (summary, doubts) = (&check.summary, &mut all.doubts);
    let mut cells = Section::new("summary", "Summary", "The cells people compare");
    if !summary.cells.is_empty() {
        cells.table(of_cells(&summary.cells, doubts));
    }
    let mut depth_one = Section::new("depth-one", "", "One I/O in flight");
    if !summary.depth_one.is_empty() {
        depth_one.table(of_depth_one(check, doubts));
    }
    let mut depth = Section::new("saturation", "", "Where it saturates");
    if let Some(step) = check.step(StepKind::Depth).filter(|step| !step.points.is_empty()) {
        depth.screen(Block::Table(of_depth(check, step, doubts)));
        if let Some(told) = saturation(check) {
            depth.screen(Block::Fact("saturates *".to_owned(), told));
        }
    }
    let mut costs = Section::new("costs", "", "What one I/O costs");
    if !summary.costs.is_empty() {
        costs.table(of_costs(check, doubts));
    }
    all.sections.extend([cells, depth_one, depth, costs]);
}

/// One row a cell: read beside write.
fn of_cells(cells: &[answers::Cell], doubts: &mut Doubts) -> Table {
    let mut table = Table::of(&["", "read MB/s", "IOPS", "mean", "write MB/s", "IOPS", "mean"]);
    for name in distinct(cells.iter().map(|cell| &cell.name)) {
        let mut row = vec![Cell::from(name.name())];
        for direction in [Direction::Read, Direction::Write] {
            match cells.iter().find(|cell| cell.name == *name && cell.direction == direction) {
                Some(cell) => row.extend(halves(cell, doubts)),
                None => row.extend(["-", "-", "-"].map(Cell::from)),
            }
        }
        table.row(row);
    }
    table
}

fn halves(cell: &answers::Cell, doubts: &mut Doubts) -> [Cell; 3] {
    let caveats = cell.caveats.iter().filter(|caveat| !of_latency(caveat));
    let marks = doubts.note(caveats, &format!("{} {}", cell.name, cell.direction.name()));
    let iops = Cell::interval(Quantity::Count, cell.iops);
    [megabytes(cell.bandwidth.mean).into(), iops, Cell::from(cell.latency_mean.to_string()).marked(marks)]
}

/// The percentiles of one I/O in flight.
fn of_depth_one(check: &Check, doubts: &mut Doubts) -> Table {
    let points = check.step(StepKind::Latency).map_or(&[][..], |step| &step.points);
    let name = |one: &DepthOne| {
        let mine = points.iter().filter(|point| point.outcome.flow(one.direction).latency.count > 0);
        let caveats = mine.flat_map(|point| &point.outcome.caveats).filter(|caveat| !of_latency(caveat));
        let marks = doubts.note(caveats, &format!("{} at depth 1", one.direction.name()));
        Cell::from(one.direction.name()).marked(marks)
    };
    let mut table = Table::over(&check.summary.depth_one)
        .words("depth 1", name)
        .column(Column::number("mean").page(), |one| one.mean.to_string());
    for wanted in PERCENTILES {
        // Said by its absence: ten samples must exceed a percentile.
        table = table.number(percentile_name(wanted), |one| {
            let found = one.percentiles.iter().find(|(percent, _)| same(*percent, wanted));
            or_dash(found, |(_, nanos)| nanos.to_string())
        });
    }
    table.number("max", |one| one.max.to_string()).number("I/Os", |one| count(one.samples)).done()
}

pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// IOPS and p99 over queue depth in numbers, the curves beside each other.
fn of_depth(check: &Check, step: &Step, doubts: &mut Doubts) -> Table {
    let mut curves = curves(&step.points);
    curves.truncate(CURVES);
    let far =
        |caveat: &&Caveat| !matches!(caveat, Caveat::FewSamples { percentile, .. } if *percentile > 99.0);
    let marks = doubts.note(step.points.iter().flat_map(|point| &point.outcome.caveats).filter(far), "depth");
    let heads = curves.iter().flat_map(|curve| [curve.name, "p99"].map(Column::number));
    let mut table = Table::new(std::iter::once(Column::words("depth")).chain(heads).collect());
    if !marks.is_empty() {
        table.rows.push(Row::of([Cell::from("doubts").marked(marks)]));
    }
    for depth in depths(step) {
        let cells = curves.iter().flat_map(|curve| at_depth(check, curve, depth));
        table.row(std::iter::once(depth.to_string()).chain(cells));
    }
    table
}

/// The places of the points of a step on its axis.
pub(super) fn depths(step: &Step) -> Vec<f64> {
    let mut depths: Vec<f64> = step.points.iter().map(|point| point.x).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    depths
}

fn at_depth(check: &Check, curve: &StepCurve<'_>, depth: f64) -> [String; 2] {
    let Some(point) = curve.points.iter().find(|point| same(point.x, depth)) else {
        return ["-", ""].map(str::to_owned);
    };
    let star = if knee(check, curve).is_some_and(|knee| same(knee, depth)) { " *" } else { "  " };
    let p99 = point.outcome.latency().quantile_ns(0.99).map(iostack_model::Nanos);
    [rate(point.outcome.iops.mean) + star, or_dash(p99, |p99| p99.to_string())]
}

/// Depth at which each curve saturates, and how many I/Os the device worked on.
pub(super) fn saturation(check: &Check) -> Option<String> {
    let step = check.step(StepKind::Depth)?;
    let most = depths(step).last().copied().unwrap_or_default();
    let is_measured = |one: &&Saturation| step.points.iter().any(|point| point.series == one.series);
    let each = check.summary.saturation.iter().filter(is_measured).map(|one| {
        let at = one.depth.map_or_else(|| format!("not by {most}"), |depth| format!("at {depth}"));
        format!("{} {at} ({} IOPS, {:.0} I/Os at once)", one.series, rate(one.iops_max), one.parallelism)
    });
    let told = each.joined(", ");
    (!told.is_empty()).then_some(told)
}

/// Costs of each way of asking.
fn of_costs(check: &Check, doubts: &mut Doubts) -> Table {
    let points = check.step(StepKind::Engines).map_or(&[][..], |step| &step.points);
    let point = |cost: &Cost| points.iter().find(|point| point_name(point) == cost.label);
    let name = |cost: &Cost| {
        let caveats = point(cost).into_iter().flat_map(|point| &point.outcome.caveats);
        let marks = doubts.note(caveats.filter(|caveat| !of_latency(caveat)), &cost.label);
        Cell::from(cost.label.replace(", depth ", " Q")).marked(marks)
    };
    let clocks = |cost: &Cost| Some(cost.clocks_per_io).filter(|clocks| *clocks > 0.0);
    Table::over(&check.summary.costs)
        .words("cost of one I/O", name)
        .number("IOPS", |cost| or_dash(point(cost), |point| rate(point.outcome.iops.mean)))
        .number("CPU ns", |cost| format!("{:.0}", cost.cpu_ns_per_io))
        .number("clocks", |cost| or_dash(clocks(cost), |clocks| format!("{clocks:.0}")))
        .number("calls", |cost| format!("{:.2}", cost.syscalls_per_io))
        .number("sleeps", |cost| format!("{:.2}", cost.switches_per_io))
        .number("IOPS/core", |cost| rate(cost.iops_per_core))
        .done()
}
