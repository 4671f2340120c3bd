//! The tables of a check: cells, depth-1 latency, the curve over queue depth, and cost.

use iostack_model::answers::{self, CellName, Check, DepthOne, Step, StepKind};
use iostack_model::{Caveat, Direction};

use super::picture::knee;
use super::{of_latency, point_name};
use crate::document::{Block, Cell, Column, Document, Doubts, Row, Section, Table};
use crate::html::figures::{StepCurve, curves};
use crate::html::numbers::Quantity;
use crate::text::format::{count, latency, megabytes, percentile_name, rate, significant, time};

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
        let [median, tail] = [50.0, 99.0].map(|percent| at(percent).map(|(_, nanos)| nanos.to_string()));
        let tail = tail.map_or_else(String::new, |tail| format!("p99 {tail}"));
        let median = median.map_or_else(String::new, |median| format!("p50 {median}"));
        let spread = [median, tail].into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(", ");
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
    let doubts = &mut all.doubts;
    let mut cells = Section::new("summary", "Summary", "The cells people compare");
    if !check.summary.cells.is_empty() {
        cells.put(Block::Table(of_cells(&check.summary.cells, doubts)));
    }
    let mut depth_one = Section::new("depth-one", "", "One I/O in flight");
    if !check.summary.depth_one.is_empty() {
        depth_one.put(Block::Table(of_depth_one(check, doubts)));
    }
    let mut depth = Section::new("saturation", "", "Where it saturates");
    if let Some(step) = check.step(StepKind::Depth).filter(|step| !step.points.is_empty()) {
        depth.screen(Block::Table(of_depth(check, step, doubts)));
        if let Some(told) = saturation(check) {
            depth.screen(Block::Fact("saturates *".to_owned(), told));
        }
    }
    let mut costs = Section::new("costs", "", "What one I/O costs");
    if !check.summary.costs.is_empty() {
        costs.put(Block::Table(of_costs(check, doubts)));
    }
    all.sections.extend([cells, depth_one, depth, costs]);
}

/// The names in order of appearance.
pub(super) fn distinct<'a, T: PartialEq + ?Sized>(names: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut known: Vec<&T> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
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
    let marks = doubts.note(
        cell.caveats.iter().filter(|caveat| !of_latency(caveat)),
        &format!("{} {}", cell.name, cell.direction.name()),
    );
    [
        megabytes(cell.bandwidth.mean).into(),
        Cell::interval(Quantity::Count, cell.iops),
        Cell::from(cell.latency_mean.to_string()).marked(marks),
    ]
}

/// The percentiles of one I/O in flight.
fn of_depth_one(check: &Check, doubts: &mut Doubts) -> Table {
    let heads = ["mean".to_owned()].into_iter().chain(PERCENTILES.map(percentile_name));
    let heads = heads.chain(["max".to_owned(), "I/Os".to_owned()]).map(Column::number);
    let mut table = Table::new(std::iter::once(Column::words("depth 1")).chain(heads).collect());
    table.columns[1] = Column::number("mean").page();
    for one in &check.summary.depth_one {
        table.row(depth_one_row(check, one, doubts));
    }
    table
}

fn depth_one_row(check: &Check, one: &DepthOne, doubts: &mut Doubts) -> Vec<Cell> {
    let points = check.step(StepKind::Latency).map_or(&[][..], |step| &step.points);
    let mine = points.iter().filter(|point| point.outcome.flow(one.direction).latency.count > 0);
    let caveats = mine.flat_map(|point| &point.outcome.caveats).filter(|caveat| !of_latency(caveat));
    let marks = doubts.note(caveats, &format!("{} at depth 1", one.direction.name()));
    let mut row = vec![Cell::from(one.direction.name()).marked(marks), one.mean.to_string().into()];
    for wanted in PERCENTILES {
        let found = one.percentiles.iter().find(|(percent, _)| same(*percent, wanted));
        row.push(match found {
            Some((_, nanos)) => nanos.to_string().into(),
            // Said by its absence: ten samples must exceed a percentile.
            None => "-".into(),
        });
    }
    row.extend([one.max.to_string(), count(one.samples)].map(Cell::from));
    row
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
    [rate(point.outcome.iops.mean) + star, latency(p99)]
}

/// Depth at which each curve saturates, and how many I/Os the device worked on.
pub(super) fn saturation(check: &Check) -> Option<String> {
    let step = check.step(StepKind::Depth)?;
    let most = depths(step).last().copied().unwrap_or_default();
    let measured = check
        .summary
        .saturation
        .iter()
        .filter(|one| step.points.iter().any(|point| point.series == one.series));
    let each = measured.map(|one| {
        let at = one.depth.map_or_else(|| format!("not by {most}"), |depth| format!("at {depth}"));
        format!("{} {at} ({} IOPS, {:.0} I/Os at once)", one.series, rate(one.iops_max), one.parallelism)
    });
    let told = each.collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then_some(told)
}

/// Costs of each way of asking.
fn of_costs(check: &Check, doubts: &mut Doubts) -> Table {
    let mut table =
        Table::of(&["cost of one I/O", "IOPS", "CPU ns", "clocks", "calls", "sleeps", "IOPS/core"]);
    let points = check.step(StepKind::Engines).map_or(&[][..], |step| &step.points);
    for cost in &check.summary.costs {
        let mine = points.iter().find(|point| point_name(point) == cost.label);
        let caveats = mine.iter().flat_map(|point| &point.outcome.caveats);
        let marks = doubts.note(caveats.filter(|caveat| !of_latency(caveat)), &cost.label);
        let clocks =
            if cost.clocks_per_io > 0.0 { format!("{:.0}", cost.clocks_per_io) } else { "-".to_owned() };
        table.row([
            Cell::from(cost.label.replace(", depth ", " Q")).marked(marks),
            mine.map_or_else(|| "-".to_owned(), |point| rate(point.outcome.iops.mean)).into(),
            format!("{:.0}", cost.cpu_ns_per_io).into(),
            clocks.into(),
            format!("{:.2}", cost.syscalls_per_io).into(),
            format!("{:.2}", cost.switches_per_io).into(),
            rate(cost.iops_per_core).into(),
        ]);
    }
    table
}
