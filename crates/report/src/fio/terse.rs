//! fio's `--minimal`: one line of fields for each job. YABS reads fields 7, 8, 48 and 49 of version 3.
//!
//! Version 2 names no version of fio and no disks; 2, 4 and 5 have trims; 5 has samples and the spread of the IOPS.
//!
//! The order is that of "Terse output" in fio's manual; `show_thread_status_terse_all` in fio's `stat.c` prints it.

use iostack_model::{Bins, Direction, Outcome, OutcomeFile, PercentilesOf};

use super::report::{context_switches, cpu_percent, disks, first_error, groups};
use super::side::{Side, per_second};
use super::unified::unified;
use super::{shares, version};

/// Percentiles that fio always prints, padded with `0%=0`.
const PERCENTILES: usize = 20;

/// The version that fio prints when nobody asks for another.
pub const TERSE_VERSION: u8 = 3;

/// One line for each outcome, of version 2 to 5.
pub fn terse(file: &OutcomeFile, number: u8) -> String {
    let file = &*unified(file);
    let line = |(group, outcome): (u64, &Outcome)| fields(file, number, group, outcome).join(";") + "\n";
    groups(file).zip(&file.outcomes).map(line).collect()
}

fn fields(file: &OutcomeFile, number: u8, group: u64, outcome: &Outcome) -> Vec<String> {
    let mut fields = vec![number.to_string()];
    fields.extend((number > 2).then(|| version(&file.iostack)));
    fields.push(outcome.job.name.replace([';', '\n', '\r'], "_"));
    fields.extend([group.to_string(), first_error(outcome).to_string()]);
    let trims = number != TERSE_VERSION;
    for direction in Direction::ALL.into_iter().filter(|&each| each != Direction::Trim || trims) {
        fields.extend(side(outcome, direction, number == 5));
    }
    fields.extend([
        format!("{:.6}%", cpu_percent(outcome, outcome.cpu.user)),
        format!("{:.6}%", cpu_percent(outcome, outcome.cpu.system)),
        context_switches(outcome).to_string(),
        outcome.cpu.faults_major.to_string(),
        outcome.cpu.faults_minor.to_string(),
    ]);
    fields.extend(shares::depths(outcome).iter().map(|(_, percent)| format!("{percent:.1}%")));
    let [_, micros, millis] = shares::latencies(&outcome.latency());
    fields.extend(micros.iter().chain(&millis).map(|(_, percent)| format!("{percent:.2}%")));
    for disk in disks(std::slice::from_ref(outcome)).into_iter().filter(|_| number > 2) {
        fields.push(disk.count.name.clone());
        let [read, write, _] = disk.count.ios;
        let [read_merges, write_merges, _] = disk.count.merges;
        let [read_ms, write_ms, queued_ms] = disk.ticks();
        let counts = [read, write, read_merges, write_merges, read_ms, write_ms, queued_ms];
        fields.extend(counts.map(|count| count.to_string()));
        fields.push(format!("{:.2}%", disk.busy_percent()));
    }
    fields
}

/// The 41 fields of one direction, and six with the `spreads` of version 5; times in us.
fn side(outcome: &Outcome, direction: Direction, spreads: bool) -> Vec<String> {
    let side = Side::of_outcome(outcome, direction);
    let Side { flow, bandwidth, iops, .. } = &side;
    let rate = side.rate() as u64 / 1024;
    let mut fields = vec![
        ((flow.bytes.0 + side.back.1) / 1024).to_string(),
        rate.to_string(),
        (per_second(side.ios(), side.elapsed) as u64).to_string(),
        side.runtime_ms().to_string(),
    ];
    fields.extend(latency(&flow.submit));
    fields.extend(latency(flow.clat()));
    let none = Bins::default();
    let of = match outcome.job.percentiles_of {
        PercentilesOf { whole: true, .. } => &flow.latency,
        PercentilesOf { completion: true, .. } => flow.clat(),
        PercentilesOf { .. } => &none,
    };
    fields.extend(percentiles(of, &outcome.job.percentiles));
    fields.extend(latency(&flow.latency));
    let share = if rate > 0 { (bandwidth.mean * 100.0 / rate as f64).min(100.0) } else { 0.0 };
    fields.extend([bandwidth.min.to_string(), bandwidth.max.to_string(), format!("{share:.6}%")]);
    fields.extend([bandwidth.mean, bandwidth.deviation].map(|figure| format!("{figure:.6}")));
    if spreads {
        fields.extend([bandwidth.samples, iops.min, iops.max].map(|figure| figure.to_string()));
        fields.extend([iops.mean, iops.deviation].map(|figure| format!("{figure:.6}")));
        fields.push(iops.samples.to_string());
    }
    fields
}

/// Least, most, mean and deviation in us.
fn latency(bins: &Bins) -> [String; 4] {
    [
        (bins.min_ns / 1000).to_string(),
        (bins.max_ns / 1000).to_string(),
        format!("{:.6}", bins.mean_ns() / 1000.0),
        format!("{:.6}", bins.stddev_ns() / 1000.0),
    ]
}

fn percentiles(bins: &Bins, wanted: &[f64]) -> Vec<String> {
    let known = wanted.iter().take(PERCENTILES).map(|&percent| {
        let ns = bins.quantile_ns(percent / 100.0).unwrap_or_default();
        if bins.count == 0 { "0%=0".to_owned() } else { format!("{percent:.6}%={}", ns / 1000) }
    });
    let mut fields: Vec<String> = known.collect();
    fields.resize(PERCENTILES, "0%=0".to_owned());
    fields
}
