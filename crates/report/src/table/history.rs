//! Which columns does a history have? A row a run.

use iostack_model::TargetKind;
use iostack_model::answers::{History, HistoryRun, HistorySeries};

use super::Table;
use super::columns::Columns;
use super::outcomes::clock;

/// Every run of every series, with the level that it belongs to.
pub fn of_history(history: &History) -> Table {
    let rows: Vec<(&HistorySeries, usize, &HistoryRun)> = history
        .series
        .iter()
        .flat_map(|series| series.runs.iter().enumerate().map(move |(at, run)| (series, at, run)))
        .collect();
    let mut columns = Columns::of_rows(&rows);
    columns.key("machine", "what the machine is called", |(series, ..)| Some(series.name.machine.clone()));
    columns.key("target", "what answered", |(series, ..)| Some(series.name.target.clone()));
    columns.key("job", "the job", |(series, ..)| Some(series.name.job.clone()));
    columns.key("clock", "whose clock: measured here, simulated or emulated", |(series, ..)| {
        let kind = match series.name.target.split(':').next() {
            Some("sim") => TargetKind::Sim,
            Some("lab") => TargetKind::Lab,
            _ => TargetKind::File,
        };
        Some(clock(kind))
    });
    columns.number_key("run", "number of the run in its series, from 1", |(_, at, _)| Some(*at as u64 + 1));
    columns.count("started_unix_ms", "its start, or when it was added", |(.., run)| Some(run.unix_ms));
    columns.note("iostack", "version that ran it", |(.., run)| Some(run.iostack.clone()));
    columns.interval("iops", "", "I/Os per second", |(.., run)| run.iops);
    columns.interval("latency_p50", "_ns", "median latency", |(.., run)| run.p50_ns);
    columns.interval("latency_p99", "_ns", "99th percentile of latency", |(.., run)| run.p99_ns);
    columns.count("caveats", "reasons to doubt it", |(.., run)| Some(run.doubts.into()));
    columns.count("level", "number of its level: it counts up at each step, from 1", |(series, at, _)| {
        Some(series.steps.iter().filter(|step| step.run as usize <= *at).count() as u64 + 1)
    });
    columns.note("answer", "its file in the store", |(.., run)| Some(run.answer.clone()));
    Table { columns: columns.made }
}
