//! fio's `--minimal`: one line of fields for each job. YABS reads fields 7, 8, 48 and 49 of version 3.
//!
//! Version 2 names no version of fio and no disks; 2, 4 and 5 have trims; 5 has samples and the spread of the IOPS.
//!
//! The order is that of "Terse output" in fio's manual; `show_thread_status_terse_all` in fio's `stat.c` prints it.

use iostack_model::{Bins, Direction, Outcome, OutcomeFile, PercentilesOf};

use super::report::{
    context_switches, cpu_percent, disks, first_error, flow, groups, millis, per_second, uncounted,
};
use super::unified::unified;
use super::{shares, spread, version};

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
        fields.extend(side(outcome, direction));
        fields.extend((number == 5).then(|| spreads(outcome, direction)).into_iter().flatten());
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

/// The 41 fields of one direction; times in us.
fn side(outcome: &Outcome, direction: Direction) -> Vec<String> {
    let (flow, elapsed) = flow(outcome, direction);
    let ran = flow.latency.count > 0;
    let bandwidth = per_second(flow.bytes.0, elapsed) as u64 / 1024;
    let mut fields = vec![
        ((flow.bytes.0 + if direction == Direction::Read { uncounted(outcome).1 } else { 0 }) / 1024)
            .to_string(),
        bandwidth.to_string(),
        (per_second(flow.latency.count, elapsed) as u64).to_string(),
        if ran { millis(elapsed).max(1) } else { 0 }.to_string(),
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
    let spread = spread::bandwidth(outcome, direction);
    let share = if bandwidth > 0 { (spread.mean * 100.0 / bandwidth as f64).min(100.0) } else { 0.0 };
    fields.extend([
        spread.min.to_string(),
        spread.max.to_string(),
        format!("{share:.6}%"),
        format!("{:.6}", spread.mean),
        format!("{:.6}", spread.deviation),
    ]);
    fields
}

/// Fields of each direction that only version 5 has.
fn spreads(outcome: &Outcome, direction: Direction) -> [String; 6] {
    let (bandwidth, iops) = (spread::bandwidth(outcome, direction), spread::iops(outcome, direction));
    [
        bandwidth.samples.to_string(),
        iops.min.to_string(),
        iops.max.to_string(),
        format!("{:.6}", iops.mean),
        format!("{:.6}", iops.deviation),
        iops.samples.to_string(),
    ]
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
