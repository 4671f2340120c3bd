//! The four tables of a check: cells, depth-1 latency, the curve over queue depth, and cost.

use iostack_model::{Caveat, Cell, Check, DepthOne, Outcome, Point, Step, StepKind};

use super::format::{count, cut, latency, megabytes, paragraph, percentile_name, plus_minus, rate};
use super::glyphs::bar;
use super::notes::Notes;
use super::screen::caveat_of_latency;

/// Curves that fit side by side.
const CURVES: usize = 3;

/// Percentiles of the depth-1 table.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// The figures people compare, reads left, writes right.
pub(super) fn cells(check: &Check, notes: &mut Notes) -> String {
    let cells = &check.summary.cells;
    if cells.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for cell in cells {
        if !names.contains(&cell.name.as_str()) {
            names.push(&cell.name);
        }
    }
    let head = format!("{:>6} {:>6} {:>5} {:>7}", "MB/s", "IOPS", "95 %", "mean");
    let mut text = format!("{:<10}{:<34} {:<34}\n", "", "READ", "WRITE").trim_end().to_owned() + "\n";
    text += &format!("{:<9}{head:<34} {head}\n", "");
    for name in names {
        let half = |direction: &str, notes: &mut Notes| {
            let cell = cells.iter().find(|cell| cell.name == name && cell.direction == direction);
            cell.map_or_else(|| format!("{:>6}", "-"), |cell| cell_text(cell, notes))
        };
        let (read, write) = (half("read", notes), half("write", notes));
        text += &format!("{:<9}{read:<34} {write}\n", cut(name, 9));
    }
    text
}

fn cell_text(cell: &Cell, notes: &mut Notes) -> String {
    format!(
        "{:>6} {:>6} {:>5} {:>7} {}",
        megabytes(cell.bandwidth.mean),
        rate(cell.iops.mean),
        plus_minus(cell.iops),
        cell.latency_mean.to_string(),
        notes.mark(cell.caveats.iter().filter(|caveat| !caveat_of_latency(caveat)))
    )
}

/// Latency with one I/O in flight. A percentile the samples do not support shows its note instead.
pub(super) fn depth_one(check: &Check, notes: &mut Notes) -> String {
    if check.summary.depth_one.is_empty() {
        return String::new();
    }
    let mut text = format!("{:<10}", "DEPTH 1");
    for percent in PERCENTILES {
        text += &format!("{:>9}", percentile_name(percent));
    }
    text += &format!("{:>9}{:>10}\n", "max", "I/Os");
    for one in &check.summary.depth_one {
        text += &depth_one_row(check, one, notes);
    }
    text
}

fn depth_one_row(check: &Check, one: &DepthOne, notes: &mut Notes) -> String {
    let points = check.step(StepKind::Latency).map_or(&[][..], |step| &step.points);
    let mine = points.iter().filter(|point| moved(&point.outcome, &one.direction));
    let caveats: Vec<&Caveat> = mine.flat_map(|point| &point.outcome.caveats).collect();
    let mark = notes.mark(caveats.iter().copied().filter(|caveat| !caveat_of_latency(caveat)));
    let mut text = format!("{:<10}", format!("{} {mark}", one.direction));
    for wanted in PERCENTILES {
        let found = one.percentiles.iter().find(|(percent, _)| same(*percent, wanted));
        let cell = match found {
            Some(&(_, nanos)) => nanos.to_string(),
            None => missing(wanted, one.samples, notes),
        };
        text += &format!("{cell:>9}");
    }
    text + &format!("{:>9}{:>10}\n", one.max.to_string(), count(one.samples))
}

/// `-` and the mark of the note that says why.
fn missing(wanted: f64, samples: u64, notes: &mut Notes) -> String {
    let needed = iostack_stats::samples_needed(wanted / 100.0);
    format!("-{}", notes.mark(&[Caveat::FewSamples { percentile: wanted, samples, needed }]))
}

fn moved(outcome: &Outcome, direction: &str) -> bool {
    iostack_model::Direction::ALL
        .into_iter()
        .any(|each| each.name() == direction && outcome.flow(each).latency.count > 0)
}

/// IOPS over queue depth, one row for each depth, with the depth marked at which each curve saturates.
pub(super) fn depth(check: &Check, notes: &mut Notes) -> String {
    let Some(step) = check.step(StepKind::Depth).filter(|step| !step.points.is_empty()) else {
        return String::new();
    };
    let series = series(step);
    let caveats = step.points.iter().flat_map(|point| &point.outcome.caveats);
    let caveats = caveats
        .filter(|caveat| !matches!(caveat, Caveat::FewSamples { percentile, .. } if *percentile > 99.0));
    let mark = notes.mark(caveats);
    let mut names = format!("{:<7}", "DEPTH");
    let mut heads = format!("{mark:<7}");
    for name in &series {
        names += &format!("{:<24}", name.to_uppercase());
        heads += &format!("{:>6} {:<6}{:>9}  ", "IOPS", "", "p99");
    }
    let mut text = format!("{}\n{}\n", names.trim_end(), heads.trim_end());
    for x in places(step) {
        text += &depth_row(check, step, &series, x);
    }
    text + &saturation(check)
}

fn depth_row(check: &Check, step: &Step, series: &[&str], x: f64) -> String {
    let mut row = format!("{x:>4}   ");
    for name in series {
        let most = in_series(step, name).map(|point| point.outcome.iops.mean).fold(0.0, f64::max);
        let Some(point) = in_series(step, name).find(|point| same(point.x, x)) else {
            row += &format!("{:<24}", "-");
            continue;
        };
        let knee = check.summary.saturation.iter().find(|one| one.series == **name).and_then(|one| one.depth);
        let star = if knee.is_some_and(|depth| same(f64::from(depth), x)) { '*' } else { ' ' };
        let iops = point.outcome.iops.mean;
        let p99 = point.outcome.latency().quantile_ns(0.99).map(iostack_model::Nanos);
        row += &format!("{:>6}{star}{}{:>9}  ", rate(iops), bar(iops, most, 6), latency(p99));
    }
    row.trim_end().to_owned() + "\n"
}

/// What the curves mean: where they stop rising, and how many I/Os the device works on at once.
fn saturation(check: &Check) -> String {
    let Some(step) = check.step(StepKind::Depth) else { return String::new() };
    let most = places(step).last().copied().unwrap_or_default();
    let measured =
        check.summary.saturation.iter().filter(|one| in_series(step, &one.series).next().is_some());
    let each = measured.map(|one| {
        let at = one.depth.map_or_else(|| format!("not by {most}"), |depth| format!("at {depth}"));
        format!("{} {at} ({:.0})", one.series, one.parallelism)
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        return String::new();
    }
    paragraph(" *     ", &format!("saturates (I/Os worked on at once): {}", each.join(", ")))
}

/// Places on an axis and percentiles are copied, never computed; this only spares an exact comparison.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Distinct series of a step, in order of appearance, as many as fit.
fn series(step: &Step) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for point in &step.points {
        if !names.contains(&point.series.as_str()) {
            names.push(&point.series);
        }
    }
    names.truncate(CURVES);
    names
}

fn in_series<'a>(step: &'a Step, name: &'a str) -> impl Iterator<Item = &'a Point> {
    step.points.iter().filter(move |point| point.series == name)
}

/// Distinct places on the axis, rising.
fn places(step: &Step) -> Vec<f64> {
    let mut places: Vec<f64> = step.points.iter().map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Columns of an engine's name with its note.
const ENGINE: usize = 34;

/// What one I/O costs in the processor, with the rate at which that was measured.
pub(super) fn costs(check: &Check, notes: &mut Notes) -> String {
    if check.summary.costs.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{:<ENGINE$}{:>8}{:>8}{:>8}{:>6}{:>7}{:>9}\n",
        "COST OF ONE I/O", "IOPS", "CPU ns", "clocks", "calls", "sleeps", "per core"
    );
    let points = check.step(StepKind::Engines).map_or(&[][..], |step| &step.points);
    for cost in &check.summary.costs {
        let mine = points.iter().find(|point| names_cost(point, &cost.label));
        let caveats = mine.iter().flat_map(|point| &point.outcome.caveats);
        let mark = notes.mark(caveats.filter(|caveat| !caveat_of_latency(caveat)));
        let name = cost.label.replace(", depth ", " Q");
        let name = format!("{} {mark}", cut(&name, ENGINE - 1 - mark.chars().count()));
        text += &format!(
            "{name:<ENGINE$}{:>8}{:>8.0}{:>8.0}{:>6.2}{:>7.2}{:>9}\n",
            mine.map_or_else(|| "-".to_owned(), |point| rate(point.outcome.iops.mean)),
            cost.cpu_ns_per_io,
            cost.clocks_per_io,
            cost.syscalls_per_io,
            cost.switches_per_io,
            rate(cost.iops_per_core)
        );
    }
    text
}

/// True when the cost was measured at this point: its label is the series, or the series and the point's label.
fn names_cost(point: &Point, label: &str) -> bool {
    label.strip_prefix(point.series.as_str()).is_some_and(|rest| rest == format!(", {}", point.label))
        || label == point.label
}
