//! fio's log files: `time (ms), value, direction, block size, [offset,] priority`.
//!
//! Latency is in ns. Bandwidth is in KiB/s over a span; of a single I/O fio writes kB/s over its `clat`, and so
//! do we. Source: `add_log_sample` and `add_bw_sample` in fio's `stat.c`, and "Log File Formats" in its
//! manual.

use std::path::{Path, PathBuf};

use iostack_model::{Direction, IntervalFlow, LogEntry, LogRequest, Outcome};

/// The value of one line.
type OfEntry = fn(&LogEntry) -> u64;
type OfSlice = fn(&IntervalFlow, Direction) -> Option<u64>;

/// One kind of log: its part of the file name, the prefix that asks for it, and its values. A span has no submit
/// latency of its own, so that kind is only written for single I/Os.
struct Kind {
    name: &'static str,
    prefix: fn(&LogRequest) -> Option<&PathBuf>,
    of_entry: OfEntry,
    of_slice: Option<OfSlice>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "bw",
        prefix: |request| request.bandwidth.as_ref(),
        of_entry: |entry| u64::from(entry.length) * 1_000_000 / completion(entry).max(1),
        of_slice: Some(|slice, each| {
            Some((slice.bytes[each as usize] as f64 / 1024.0 / slice.length.as_secs_f64()) as u64)
        }),
    },
    Kind {
        name: "iops",
        prefix: |request| request.iops.as_ref(),
        of_entry: |_| 1,
        of_slice: Some(|slice, each| {
            Some((slice.ios[each as usize] as f64 / slice.length.as_secs_f64()).round() as u64)
        }),
    },
    Kind {
        name: "slat",
        prefix: |request| request.latency.as_ref(),
        of_entry: |entry| entry.submit.0,
        of_slice: None,
    },
    Kind {
        name: "clat",
        prefix: |request| request.latency.as_ref(),
        of_entry: completion,
        of_slice: Some(mean_latency),
    },
    Kind {
        name: "lat",
        prefix: |request| request.latency.as_ref(),
        of_entry: |entry| entry.latency.0,
        of_slice: Some(mean_latency),
    },
];

/// Latency after the submission: fio's `clat`, ns.
fn completion(entry: &LogEntry) -> u64 {
    entry.latency.0.saturating_sub(entry.submit.0)
}

/// Nothing when no I/O ended in the span.
fn mean_latency(slice: &IntervalFlow, direction: Direction) -> Option<u64> {
    slice.latency_sum_ns[direction as usize].checked_div(slice.ios[direction as usize])
}

/// Path and content of each log file that the job asks for. `index` is the outcome's place in the run, from 1 as fio
/// numbers its files: `PREFIX_bw.1.log`.
pub fn logs(outcome: &Outcome, index: usize) -> Vec<(PathBuf, String)> {
    let request = &outcome.job.logs;
    let spans = if request.average.0 > 0 { spans(outcome) } else { Vec::new() };
    let wanted = KINDS.iter().filter_map(|kind| Some((kind, (kind.prefix)(request)?)));
    let written = wanted.filter_map(|(kind, prefix)| {
        let text = if request.average.0 > 0 {
            span_lines(outcome, &spans, kind.of_slice?)
        } else {
            entry_lines(outcome, kind.of_entry)
        };
        Some((file_name(prefix, kind.name, index), text))
    });
    written.collect()
}

fn file_name(prefix: &Path, kind: &str, index: usize) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!("_{kind}.{index}.log"));
    PathBuf::from(name)
}

fn entry_lines(outcome: &Outcome, value: OfEntry) -> String {
    let mut entries: Vec<&LogEntry> = outcome.log.iter().collect();
    entries.sort_by_key(|entry| entry.time);
    let line = |entry: &&LogEntry| {
        let offset = if outcome.job.logs.offsets { format!("{}, ", entry.offset) } else { String::new() };
        let (ms, direction) = (entry.time.0 / 1_000_000, entry.direction as u8);
        format!("{ms}, {}, {direction}, {}, {offset}0\n", value(entry), entry.length)
    };
    entries.iter().map(line).collect()
}

/// The series in spans of `average`: whole slices, since nothing finer is kept.
fn spans(outcome: &Outcome) -> Vec<IntervalFlow> {
    let average = outcome.job.logs.average.0;
    let mut spans: Vec<IntervalFlow> = Vec::new();
    for slice in &outcome.series {
        match spans.last_mut() {
            Some(span) if span.start.0 / average == slice.start.0 / average => join(span, slice),
            _ => spans.push(*slice),
        }
    }
    spans
}

fn join(span: &mut IntervalFlow, slice: &IntervalFlow) {
    span.length += slice.length;
    for each in 0..3 {
        span.ios[each] += slice.ios[each];
        span.bytes[each] += slice.bytes[each];
        span.latency_sum_ns[each] += slice.latency_sum_ns[each];
    }
}

/// One line for each direction that the job moves, at the end of the span, with block size 0 as fio writes it.
fn span_lines(outcome: &Outcome, spans: &[IntervalFlow], value: OfSlice) -> String {
    let moving: Vec<Direction> =
        Direction::ALL.into_iter().filter(|&each| outcome.flow(each).latency.count > 0).collect();
    let offset = if outcome.job.logs.offsets { "0, " } else { "" };
    let mut text = String::new();
    for span in spans.iter().filter(|span| span.length.0 > 0) {
        let ms = (span.start + span.length).0 / 1_000_000;
        for &each in &moving {
            if let Some(value) = value(span, each) {
                text.push_str(&format!("{ms}, {value}, {}, 0, {offset}0\n", each as u8));
            }
        }
    }
    text
}
