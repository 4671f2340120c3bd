//! Which columns does a sweep have?

use iostack_answers::{Sweep, SweepAxis, SweepPoint};
use iostack_model::{Bins, Direction, Outcome};

use super::quantity::measure;
use super::{Cells, Column, Table};

/// A row: a point and one of its outcomes, none when it failed.
#[derive(Clone, Copy)]
struct Row<'a> {
    number: usize,
    point: &'a SweepPoint,
    outcome: Option<&'a Outcome>,
}

/// The points of a sweep with everything that is one number each.
pub fn of_sweep(sweep: &Sweep) -> Table {
    let rows: Vec<Row<'_>> =
        sweep.points.iter().enumerate().flat_map(|(number, point)| rows(number, point)).collect();
    let mut columns = vec![counts("point", &rows, |row| Some(row.number as u64))];
    if sweep.axes.iter().all(|axis| axis.key != SweepAxis::DEVICE) {
        columns.push(text("device", &rows, |_| Some(sweep.device.clone())));
    }
    columns.extend(sweep.axes.iter().enumerate().flat_map(|(index, axis)| varied(index, &axis.key, &rows)));
    columns.push(text("job", &rows, |row| row.outcome.map(|outcome| outcome.job.name.clone())));
    columns.extend(totals(&rows));
    columns.extend(latencies(&rows));
    columns.extend(flash(&rows));
    columns.extend(inside(&rows));
    columns
        .push(text("limit", &rows, |row| Some(row.outcome?.inside.as_ref()?.limit.as_ref()?.name.clone())));
    columns.push(text("state", &rows, |row| Some(row.outcome?.inside.as_ref()?.state.clone())));
    columns.push(counts("seed", &rows, |row| Some(row.outcome?.inside.as_ref()?.seed)));
    columns.push(text("interrupted", &rows, |row| Some(interrupted(row.point, row.outcome).to_owned())));
    columns.push(text("error", &rows, |row| row.point.error.clone()));
    columns.push(text("command", &rows, |row| Some(row.point.command.clone())));
    Table { columns }
}

fn rows(number: usize, point: &SweepPoint) -> Vec<Row<'_>> {
    if point.outcomes.is_empty() {
        return vec![Row { number, point, outcome: None }];
    }
    point.outcomes.iter().map(|outcome| Row { number, point, outcome: Some(outcome) }).collect()
}

fn interrupted(point: &SweepPoint, outcome: Option<&Outcome>) -> &'static str {
    let cut = point.is_missing() || outcome.is_some_and(|outcome| outcome.interrupted);
    if cut { "yes" } else { "no" }
}

fn text(name: &str, rows: &[Row<'_>], cell: impl Fn(&Row<'_>) -> Option<String>) -> Column {
    Column { name: name.to_owned(), cells: Cells::Text(rows.iter().map(cell).collect()) }
}

fn counts(name: &str, rows: &[Row<'_>], cell: impl Fn(&Row<'_>) -> Option<u64>) -> Column {
    Column { name: name.to_owned(), cells: Cells::Counts(rows.iter().map(cell).collect()) }
}

fn numbers(name: impl Into<String>, rows: &[Row<'_>], cell: impl Fn(&Row<'_>) -> Option<f64>) -> Column {
    let cell = |row: &Row<'_>| cell(row).filter(|number| number.is_finite());
    Column { name: name.into(), cells: Cells::Numbers(rows.iter().map(cell).collect()) }
}

/// The values as typed; beside them the numbers they stand for, when that is something else.
fn varied(axis: usize, key: &str, rows: &[Row<'_>]) -> Vec<Column> {
    let typed: Vec<&str> = rows.iter().map(|row| row.point.settings[axis].1.as_str()).collect();
    let words = text(key, rows, |row| Some(row.point.settings[axis].1.clone()));
    let Some((kind, values)) = measure(&typed) else { return vec![words] };
    let cells = Cells::Numbers(values.into_iter().map(Some).collect());
    let column = Column { name: format!("{key}{}", kind.suffix()), cells };
    if kind.suffix().is_empty() { vec![column] } else { vec![words, column] }
}

fn totals(rows: &[Row<'_>]) -> Vec<Column> {
    type Figure = (&'static str, fn(&Outcome) -> f64);
    let figures: [Figure; 8] = [
        ("elapsed_s", |outcome| outcome.elapsed.as_secs_f64()),
        ("iops", Outcome::rate),
        ("iops_low", |outcome| outcome.iops.low),
        ("iops_high", |outcome| outcome.iops.high),
        ("bytes_per_s", Outcome::bandwidth),
        ("read_iops", |outcome| per_second(outcome, Direction::Read)),
        ("write_iops", |outcome| per_second(outcome, Direction::Write)),
        ("depth_achieved", |outcome| outcome.depth_achieved),
    ];
    let mut columns = vec![counts("ios", rows, |row| row.outcome.map(Outcome::ios))];
    columns.extend(figures.map(|(name, figure)| numbers(name, rows, |row| row.outcome.map(figure))));
    columns
}

fn per_second(outcome: &Outcome, direction: Direction) -> f64 {
    outcome.flow(direction).latency.count as f64 / outcome.elapsed.as_secs_f64()
}

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

/// All directions together, then each that has I/O in any row.
fn latencies(rows: &[Row<'_>]) -> Vec<Column> {
    let mut columns = latency("", rows, &|outcome| outcome.latency());
    for direction in Direction::ALL {
        if rows.iter().filter_map(|row| row.outcome).any(|outcome| outcome.flow(direction).latency.count > 0)
        {
            let prefix = format!("{}_", direction.name());
            columns.extend(latency(&prefix, rows, &|outcome| outcome.flow(direction).latency.clone()));
        }
    }
    columns
}

fn latency(prefix: &str, rows: &[Row<'_>], bins: &dyn Fn(&Outcome) -> Bins) -> Vec<Column> {
    let of = |row: &Row<'_>| row.outcome.map(bins).filter(|bins| bins.count > 0);
    let mut columns =
        vec![numbers(format!("{prefix}latency_mean_ns"), rows, |row| of(row).map(|bins| bins.mean_ns()))];
    for (name, fraction) in PERCENTILES {
        columns.push(counts(&format!("{prefix}latency_{name}_ns"), rows, |row| {
            // Ten samples beyond, or it is not printed: the rule of every report.
            of(row)
                .filter(|bins| bins.count >= iostack_stats::samples_needed(fraction))?
                .quantile_ns(fraction)
        }));
    }
    columns.push(counts(&format!("{prefix}latency_max_ns"), rows, |row| of(row).map(|bins| bins.max_ns)));
    columns
}

fn flash(rows: &[Row<'_>]) -> Vec<Column> {
    let of = |row: &Row<'_>| row.outcome?.inside.as_ref()?.flash.clone();
    if !rows.iter().any(|row| of(row).is_some()) {
        return Vec::new();
    }
    vec![
        numbers("write_amplification", rows, |row| {
            of(row).map(|f| f.write_amplification).filter(|&wa| wa > 0.0)
        }),
        numbers("collector_amplification", rows, |row| {
            of(row).map(|f| f.collector_factor()).filter(|_| of(row).is_some_and(|f| f.pages_host > 0))
        }),
        counts("bytes_host", rows, |row| of(row).map(|f| f.bytes_host.0)),
        counts("pages_host", rows, |row| of(row).map(|f| f.pages_host)),
        counts("pages_moved", rows, |row| of(row).map(|f| f.pages_moved)),
        counts("erases", rows, |row| of(row).map(|f| f.erases)),
        counts("blocks_free", rows, |row| of(row).map(|f| f.blocks_free)),
    ]
}

/// Busy shares of the resources, and the mean time of each stage.
fn inside(rows: &[Row<'_>]) -> Vec<Column> {
    let mut resources: Vec<String> = Vec::new();
    let mut stages: Vec<(Direction, &'static str)> = Vec::new();
    for seen in rows.iter().filter_map(|row| row.outcome?.inside.as_ref()) {
        for resource in &seen.resources {
            if !resources.contains(&resource.name) {
                resources.push(resource.name.clone());
            }
        }
        for flow in &seen.flows {
            for stage in flow.stages.iter().map(|(stage, _)| (flow.direction, stage.name())) {
                if !stages.contains(&stage) {
                    stages.push(stage);
                }
            }
        }
    }
    let busy = resources.iter().map(|name| {
        numbers(format!("busy_{}", word(name)), rows, |row| {
            let resources = &row.outcome?.inside.as_ref()?.resources;
            resources.iter().find(|resource| resource.name == *name).map(|resource| resource.busy)
        })
    });
    let mut columns: Vec<Column> = busy.collect();
    columns.extend(stages.iter().map(|&(direction, stage)| {
        numbers(format!("{}_stage_{}_mean_ns", direction.name(), word(stage)), rows, |row| {
            let flow = row.outcome?.inside.as_ref()?.flows.iter().find(|flow| flow.direction == direction)?;
            flow.stages.iter().find(|(one, _)| one.name() == stage).map(|(_, bins)| bins.mean_ns())
        })
    }));
    columns
}

fn word(name: &str) -> String {
    name.replace(' ', "_")
}
