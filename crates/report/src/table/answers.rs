//! Which columns does each answer have?

use iostack_model::answers::{Check, Iolat, IolatTest, MergeCell, MergeReport, MergeTable};
use iostack_model::{Outcome, OutcomeFile};
use iostack_stats::{AbReport, AbRow};

use super::columns::Columns;
use super::outcomes::{caveats, clock, of_outcomes, yes};
use super::{Column, Table};
use crate::lists::distinct;

/// A row for each outcome of a run.
pub fn of_run(file: &OutcomeFile) -> Table {
    let rows: Vec<&Outcome> = file.outcomes.iter().collect();
    let numbered: Vec<usize> = (0..rows.len()).collect();
    let mut columns = Columns::of_rows(&numbered);
    columns.number_key("group", "number of the report group, from 0", |&number| Some(number as u64));
    measured(columns.made, &rows)
}

/// A row for each point of a check.
pub fn of_check(check: &Check) -> Table {
    let points: Vec<_> =
        check.steps.iter().flat_map(|step| step.points.iter().map(move |point| (step, point))).collect();
    let mut columns = Columns::of_rows(&points);
    columns.key("step", "which question", |(step, _)| Some(step.id.name().to_owned()));
    columns.key("series", "which curve", |(_, point)| Some(point.series.name().to_owned()));
    columns.key("label", "the place on the axis, in words", |(_, point)| Some(point.label.clone()));
    columns.note("axis", "what the axis counts", |(step, _)| Some(step.axis.label.name().to_owned()));
    columns.number("x", "the place on the axis", |(_, point)| Some(point.x));
    let outcomes: Vec<&Outcome> = points.iter().map(|(_, point)| &point.outcome).collect();
    measured(columns.made, &outcomes)
}

fn measured(mut columns: Vec<Column>, outcomes: &[&Outcome]) -> Table {
    let some: Vec<Option<&Outcome>> = outcomes.iter().copied().map(Some).collect();
    columns.extend(of_outcomes(&some));
    let mut behind = Columns::of_rows(outcomes);
    behind.note("interrupted", "whether it was cut short", |outcome| Some(yes(outcome.interrupted)));
    columns.extend(behind.made);
    Table { columns }
}

/// A row for each test.
pub fn of_iolat(iolat: &Iolat) -> Table {
    let mut columns = Columns::of_rows(&iolat.tests);
    columns.key("test", "as in 2008", |test| Some(test.name.clone()));
    columns.key("target", "what answered", |_| Some(iolat.target.path.display().to_string()));
    columns.key("clock", "whose clock", |_| Some(clock(iolat.target.kind)));
    columns.note("direction", "read or write", |test| Some(test.direction.name().to_owned()));
    columns.count("request_bytes", "bytes of an I/O", |test| Some(test.bytes.0));
    columns.note("direct", "whether around the page cache", |test| Some(yes(test.direct)));
    columns.counter("ios", "I/Os in all rounds", |test| Some(test.ios));
    columns.number("elapsed_s", "measured time of all rounds", |test| Some(test.elapsed.as_secs_f64()));
    let done = |test: &IolatTest| (test.ios > 0).then_some(());
    columns.interval("iops", "", "I/Os per second", |test| done(test).map(|()| test.iops));
    columns.interval("request", "_ns", "mean time of a request", |test| done(test).map(|()| test.request));
    columns.interval("clocks_per_io", "", "clocks of the load's thread for an I/O", |test| {
        Some(test.clocks).filter(|clocks| clocks.mean > 0.0)
    });
    columns.latency("latency", "time of a request", |test| Some(test.latency.clone()));
    columns.latency("sync_latency", "time of an fdatasync", |test| Some(test.sync.clone()));
    layers(iolat, &mut columns);
    caveats(&mut columns, |test| Some(&test.caveats));
    columns.note("interrupted", "whether it was cut short", |_| Some(yes(iolat.interrupted)));
    Table { columns: columns.made }
}

/// The clocks of each layer that any test met.
fn layers(iolat: &Iolat, columns: &mut Columns<'_, IolatTest>) {
    let costs = iolat.tests.iter().flat_map(|test| &test.layer_costs);
    for layer in distinct(costs.map(|cost| cost.layer.as_str())) {
        let name =
            format!("layer_{}_clocks_per_io", layer.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        columns.number(name, format!("clocks of an I/O in the layer {layer}"), |test| {
            Some(test.layer_cost(layer)?.clocks.mean)
        });
    }
}

/// A row for each policy at each number of callers.
pub fn of_merge(merge: &MergeReport) -> Table {
    let rows: Vec<(&MergeTable, &MergeCell)> =
        merge.tables.iter().flat_map(|table| table.cells.iter().map(move |cell| (table, cell))).collect();
    let mut columns = Columns::of_rows(&rows);
    columns.key("asked", "how programs asked", |(table, _)| Some(table.ask.name().to_owned()));
    columns.key("policy", "how requests were sent", |(_, cell)| Some(cell.policy.clone()));
    columns.number_key("callers", "callers, or requests in a group", |(_, cell)| Some(cell.column.into()));
    columns.key("target", "what answered", |_| Some(merge.target.path.display().to_string()));
    columns.key("clock", "whose clock: measured here or simulated", |_| Some(clock(merge.target.kind)));
    columns.count("threads", "threads that asked", |(_, cell)| Some(cell.threads.into()));
    columns.counter("ios", "requests in all rounds", |(_, cell)| Some(cell.ios));
    let done = |cell: &MergeCell| (cell.ios > 0).then_some(());
    columns.interval("iops", "", "requests per second", |(_, cell)| done(cell).map(|()| cell.iops));
    columns.interval("cpu_per_io", "_ns", "CPU time of a request", |(_, cell)| {
        done(cell).filter(|()| !merge.is_simulated() || cell.cpu_ns.mean > 0.0).map(|()| cell.cpu_ns)
    });
    columns.interval("switches_per_io", "", "context switches of a request", |(_, cell)| {
        done(cell).map(|()| cell.switches)
    });
    columns.latency("call_latency", "time that a caller waited", |(_, cell)| Some(cell.latency.clone()));
    columns.interval("iops_over_base", "", "requests per second over those of no merging", |(_, cell)| {
        Some(cell.against.as_ref()?.iops)
    });
    columns.interval("cpu_over_base", "", "CPU time over that of no merging", |(_, cell)| {
        Some(cell.against.as_ref()?.cpu)
    });
    columns.count("failures", "kinds of failures", |(_, cell)| Some(cell.failures.len() as u64));
    caveats(&mut columns, |_| Some(&merge.caveats));
    columns.note("direction", "read or write", |_| Some(merge.direction.name().to_owned()));
    columns.note("interrupted", "whether it was cut short", |_| Some(yes(merge.interrupted)));
    Table { columns: columns.made }
}

/// A row for each figure.
pub fn of_ab(ab: &AbReport) -> Table {
    let mut columns = Columns::of_rows(&ab.rows);
    columns.key("figure", "what is compared", |row| Some(row.figure.name.clone()));
    columns.key("a_name", "the first side", |_| Some(ab.arms[0].name.clone()));
    columns.key("b_name", "the second side", |_| Some(ab.arms[1].name.clone()));
    columns.key("clock", "whose clock: measured here or simulated", |_| Some(clock(ab.arms[0].target.kind)));
    columns.key("unit", "what the figure is counted in", |row| {
        serde_json::to_value(row.figure.unit).ok()?.as_str().map(str::to_owned)
    });
    columns.number("a", "median of the first side's runs, in the figure's unit", |row| Some(row.a));
    columns.number("b", "median of the second side's runs, in the figure's unit", |row| Some(row.b));
    columns.interval("change", "_percent", "from the first to the second", |row: &AbRow| {
        Some(row.change_percent)
    });
    columns.number("noise_percent", "one standard deviation of a run", |row| Some(row.noise_percent));
    columns.note("verdict", "what it means for the second", |row| Some(row.verdict.name().to_owned()));
    columns.note("interrupted", "whether it was cut short", |_| Some(yes(ab.interrupted)));
    Table { columns: columns.made }
}
