//! Which columns does an outcome have, whichever command ran it?

use iostack_model::{Caveat, CpuUse, Direction, Interval, Outcome, TargetKind};

use super::Column;
use super::columns::Columns;
use crate::lists::distinct;

/// Everything of the outcomes that is one number each; nothing in a row that has no outcome.
pub(super) fn of_outcomes(rows: &[Option<&Outcome>]) -> Vec<Column> {
    let mut columns = Columns::of_rows(rows);
    columns.key("job", "name of the job", |row| Some((*row)?.job.name.clone()));
    columns.key("target", "what answered", |row| Some((*row)?.target.path.display().to_string()));
    columns.key("clock", "whose clock: measured here, simulated, or emulated in the lab", |row| {
        Some(clock((*row)?.target.kind))
    });
    totals(&mut columns);
    latencies(rows, &mut columns);
    costs(&mut columns);
    flash(rows, &mut columns);
    inside(rows, &mut columns);
    caveats(&mut columns, |row| Some(&(*row)?.caveats));
    columns.made
}

/// Simulated and measured figures share a column only beside this word.
pub(super) fn clock(kind: TargetKind) -> String {
    match kind {
        TargetKind::Sim => "simulated",
        TargetKind::Lab => "emulated",
        TargetKind::Directory | TargetKind::File | TargetKind::Block => "measured",
    }
    .to_owned()
}

pub(super) fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// Adds the number of reasons to doubt a row, and which.
pub(super) fn caveats<Row>(columns: &mut Columns<'_, Row>, of: impl Fn(&Row) -> Option<&Vec<Caveat>>) {
    let kinds = |row: &Row| {
        let mut kinds: Vec<String> = of(row)?.iter().map(kind).collect();
        kinds.sort();
        kinds.dedup();
        Some(kinds)
    };
    columns.count("caveat_kinds", "kinds of reasons to doubt the row", |row| Some(kinds(row)?.len() as u64));
    columns.note("caveats", "which", |row| {
        kinds(row).map(|kinds| kinds.join(" ")).filter(|all| !all.is_empty())
    });
}

/// Name of a caveat in JSON.
fn kind(caveat: &Caveat) -> String {
    let json = serde_json::to_value(caveat).unwrap_or_default();
    json["kind"].as_str().unwrap_or_default().to_owned()
}

type Of<'a, Figure> = fn(&'a Outcome) -> Figure;

fn totals(columns: &mut Columns<'_, Option<&Outcome>>) {
    columns.counter("ios", "I/Os that were done", |row| row.map(Outcome::ios));
    columns.counter("moved_bytes", "bytes that were moved", |row| row.map(|outcome| outcome.bytes().0));
    columns.counter("failed_ios", "I/Os that failed or did not verify", |row| {
        Some((*row)?.failures.iter().map(|failure| failure.count).sum())
    });
    columns.number("elapsed_s", "measured time", |row| Some((*row)?.elapsed.as_secs_f64()));
    columns.number("iops", "I/Os per second", |row| timed(*row).map(Outcome::rate));
    for (end, of) in [("low", (|iops| iops.low) as fn(Interval) -> f64), ("high", |iops| iops.high)] {
        let about = format!("{end} end of the 95 % interval of the I/Os per second");
        columns.number(format!("iops_{end}"), about, |row| {
            timed(*row).map(|outcome| outcome.iops).filter(|iops| iops.samples >= 3).map(of)
        });
    }
    let figures: [(&str, &str, Of<'_, f64>); 3] = [
        ("bytes_per_s", "bandwidth", Outcome::bandwidth),
        ("read_iops", "reads per second", |outcome| per_second(outcome, Direction::Read)),
        ("write_iops", "writes per second", |outcome| per_second(outcome, Direction::Write)),
    ];
    for (name, about, figure) in figures {
        columns.number(name, about, |row| timed(*row).map(figure));
    }
    columns
        .number("depth_achieved", "I/Os in flight, the mean over time", |row| Some((*row)?.depth_achieved));
}

/// An outcome in which time passed: else it has no rate.
fn timed(row: Option<&Outcome>) -> Option<&Outcome> {
    row.filter(|outcome| outcome.elapsed.0 > 0)
}

fn per_second(outcome: &Outcome, direction: Direction) -> f64 {
    outcome.flow(direction).latency.count as f64 / outcome.elapsed.as_secs_f64()
}

/// All directions together, then each that has I/O in any row.
fn latencies(rows: &[Option<&Outcome>], columns: &mut Columns<'_, Option<&Outcome>>) {
    columns.latency("latency", "time of an I/O", |row| row.map(Outcome::latency));
    let all = || rows.iter().flatten();
    for direction in Direction::ALL {
        if all().any(|outcome| outcome.flow(direction).latency.count > 0) {
            let name = direction.name();
            columns.latency(&format!("{name}_latency"), &format!("time of a {name}"), |row| {
                Some((*row)?.flow(direction).latency.clone())
            });
        }
    }
    if all().any(|outcome| outcome.sync.count > 0) {
        columns.latency("sync_latency", "time of an fsync or fdatasync", |row| Some((*row)?.sync.clone()));
    }
}

/// An outcome with I/O of a target that has a processor's time: a simulation has no such costs.
fn measured(row: Option<&Outcome>) -> Option<&Outcome> {
    row.filter(|outcome| outcome.inside.is_none() && outcome.ios() > 0)
}

/// Costs in the processor.
fn costs(columns: &mut Columns<'_, Option<&Outcome>>) {
    columns.number("cpu_per_io_ns", "CPU time of an I/O, kernel workers included", |row| {
        measured(*row)?.cpu_ns_per_io()
    });
    columns.number("clocks_per_io", "clocks of the time-stamp counter of an I/O", |row| {
        Some(measured(*row)?.cpu.clocks_per_io).filter(|&clocks| clocks > 0.0)
    });
    let per_io = |row: Option<&Outcome>, amount: fn(&CpuUse) -> u64| {
        measured(row).map(|outcome| amount(&outcome.cpu) as f64 / outcome.ios() as f64)
    };
    columns.number("syscalls_per_io", "system calls of an I/O", |row| per_io(*row, |cpu| cpu.syscalls));
    columns.number("switches_per_io", "context switches of an I/O", |row| {
        per_io(*row, |cpu| cpu.switches_voluntary + cpu.switches_involuntary)
    });
}

fn flash(rows: &[Option<&Outcome>], columns: &mut Columns<'_, Option<&Outcome>>) {
    let of = |row: Option<&Outcome>| row.and_then(|outcome| outcome.inside.as_ref()?.flash.clone());
    if !rows.iter().any(|row| of(*row).is_some()) {
        return;
    }
    columns.number("write_amplification", "bytes written to flash per byte of the host", |row| {
        of(*row).map(|flash| flash.write_amplification).filter(|&amplification| amplification > 0.0)
    });
    columns.number("collector_amplification", "the same, as the collector sees it", |row| {
        of(*row).filter(|flash| flash.pages_host > 0).map(|flash| flash.collector_factor())
    });
    columns.count("bytes_host", "bytes that the host wrote", |row| of(*row).map(|flash| flash.bytes_host.0));
    columns.count("pages_host", "pages that the host wrote", |row| of(*row).map(|flash| flash.pages_host));
    columns.count("pages_moved", "pages that the collector moved", |row| {
        of(*row).map(|flash| flash.pages_moved)
    });
    columns.count("erases", "blocks that were erased", |row| of(*row).map(|flash| flash.erases));
    columns.count("blocks_free", "free blocks at the end", |row| of(*row).map(|flash| flash.blocks_free));
}

/// Busy shares of the resources of a simulated target, the mean time of each stage, and what limits it.
fn inside(rows: &[Option<&Outcome>], columns: &mut Columns<'_, Option<&Outcome>>) {
    let seen = || rows.iter().flatten().filter_map(|outcome| outcome.inside.as_ref());
    let resources = distinct(seen().flat_map(|inside| &inside.resources).map(|each| each.name.as_str()));
    let flows = seen().flat_map(|inside| &inside.flows);
    let stages = flows.flat_map(|flow| flow.stages.iter().map(|(stage, _)| (flow.direction, stage.name())));
    let stages = distinct(stages);
    for name in resources {
        columns.number(format!("busy_{}", word(name)), format!("busy share of {name}"), |row| {
            let resources = &(*row)?.inside.as_ref()?.resources;
            resources.iter().find(|resource| resource.name == name).map(|resource| resource.busy)
        });
    }
    for (direction, stage) in stages {
        let name = format!("{}_stage_{}_mean_ns", direction.name(), word(stage));
        columns.number(name, format!("time of a {} in {stage}: mean", direction.name()), |row| {
            let flow = (*row)?.inside.as_ref()?.flows.iter().find(|flow| flow.direction == direction)?;
            flow.stages.iter().find(|(one, _)| one.name() == stage).map(|(_, bins)| bins.mean_ns())
        });
    }
    if rows.iter().flatten().any(|outcome| outcome.inside.is_some()) {
        columns.note("limit", "the busiest part", |row| {
            Some((*row)?.inside.as_ref()?.limit.as_ref()?.name.clone())
        });
        columns.note("state", "of the device before the run", |row| {
            Some((*row)?.inside.as_ref()?.state.clone())
        });
        columns.number_key("seed", "repeats the simulation", |row| Some((*row)?.inside.as_ref()?.seed));
    }
}

fn word(name: &str) -> String {
    name.replace(' ', "_")
}
