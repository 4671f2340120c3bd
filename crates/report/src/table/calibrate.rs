//! Which columns does a calibration have?

use iostack_model::answers::{CalibratedPoint, Calibration};

use super::Table;
use super::columns::Columns;
use super::outcomes::yes;

/// The points, measured and predicted.
pub fn of_calibration(report: &Calibration) -> Table {
    let mut all = Columns::of_rows(&report.points);
    all.key("source", "the file of the measurement", |point: &CalibratedPoint| Some(point.file.clone()));
    all.key("pattern", "fio's word of the pattern", |point| Some(point.pattern.clone()));
    // Answers of before say neither.
    let is_said = |point: &CalibratedPoint| !point.engine.is_empty();
    all.number_key("read_percent", "reads among a hundred I/Os", |point| {
        is_said(point).then_some(u64::from(point.read_percent))
    });
    all.number_key("block_bytes", "bytes of an I/O", |point| Some(point.block.0));
    all.number_key("queue_depth", "I/Os in flight of a thread", |point| Some(u64::from(point.queue_depth)));
    all.number_key("threads", "threads of the load", |point| Some(u64::from(point.threads)));
    all.key("engine", "fio's name of the interface", |point| is_said(point).then(|| point.engine.clone()));
    all.note("held_out", "whether nothing was fitted to it", |point| Some(yes(point.held_out)));
    all.number("iops", "measured I/Os per second", |point| Some(point.iops));
    all.number("iops_sheet", "the same of the sheet in the simulator", |point| Some(point.sheet_iops));
    all.number("iops_network", "the same of the closed network", |point| point.network_iops);
    all.number("iops_roofline", "the same of the roofline", |point| point.roofline_iops);
    let ns = |time: Option<iostack_model::Nanos>| time.map(|time| time.0 as f64);
    all.number("min_ns", "shortest measured latency", |point| ns(point.latency_min));
    all.number("p50_ns", "measured median", |point| ns(point.latency_p50));
    all.number("p99_ns", "measured 99th percentile", |point| ns(point.latency_p99));
    all.number("max_ns", "longest measured latency", |point| ns(point.latency_max));
    all.number("cpu_per_io_ns", "measured CPU time of an I/O", |point| ns(point.cpu_per_io));
    all.number("p99_ns_sheet", "the same of the sheet", |point| ns(point.sheet_p99));
    Table { columns: all.made }
}
