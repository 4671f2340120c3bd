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
    all.number_key("block_bytes", "bytes of an I/O", |point| Some(point.block.0));
    all.number_key("queue_depth", "I/Os in flight of a thread", |point| Some(u64::from(point.queue_depth)));
    all.number_key("threads", "threads of the load", |point| Some(u64::from(point.threads)));
    all.note("held_out", "whether nothing was fitted to it", |point| Some(yes(point.held_out)));
    all.number("iops", "measured I/Os per second", |point| Some(point.iops));
    all.number("iops_sheet", "the same of the sheet in the simulator", |point| Some(point.sheet_iops));
    all.number("iops_network", "the same of the closed network", |point| point.network_iops);
    all.number("iops_roofline", "the same of the roofline", |point| point.roofline_iops);
    let ns = |time: Option<iostack_model::Nanos>| time.map(|time| time.0 as f64);
    all.number("p99_ns", "measured 99th percentile", |point| ns(point.latency_p99));
    all.number("p99_ns_sheet", "the same of the sheet", |point| ns(point.sheet_p99));
    Table { columns: all.made }
}
