//! fio's log files: `time (ms), value, direction, block size, [offset,] priority`.
//!
//! A file for each thread of all jobs, numbered from 1 through the whole run, or one for all with `per_job_logs=0`.
//! Latency is in ns; the log of submissions is empty where an engine submits and waits in one call. Bandwidth is in KiB/s over a span; of a single I/O fio writes kB/s over its `clat`, and so
//! do we. Source: `add_log_sample` and `add_bw_sample` in fio's `stat.c`, and "Log File Formats" in its
//! manual.

use std::path::{Path, PathBuf};

use iostack_model::{Direction, Job, LogEntry, LogRequest, LogSpan, Nanos, Outcome, TargetKind};

use super::histogram;
use crate::lists::{Joined, distinct, grouped};

/// The value of one line.
type OfEntry = fn(&LogEntry) -> u64;
type OfSpan = fn(&LogSpan, Nanos, usize) -> u64;

/// One kind of log: its part of the file name, the prefix that asks for it, and its values.
struct LogKind {
    name: &'static str,
    options: Options,
    prefix: fn(&LogRequest) -> Option<&PathBuf>,
    of_entry: OfEntry,
    of_span: OfSpan,
}

/// fio's name of the option that asks for a log, and ours.
type Options = [&'static str; 2];

const TRACE: Options = ["write_iolog", "log_trace"];

/// The log that has no line for each I/O.
const HISTOGRAM: &str = "clat_hist";

const LOG_KINDS: [LogKind; 6] = [
    LogKind {
        name: "bw",
        options: ["write_bw_log", "log_bandwidth"],
        prefix: |request| request.bandwidth.as_ref(),
        of_entry: |entry| u64::from(entry.length) * 1_000_000 / completion(entry).max(1),
        of_span: |span, length, each| (span.bytes[each] as f64 / 1024.0 / length.as_secs_f64()) as u64,
    },
    LogKind {
        name: "iops",
        options: ["write_iops_log", "log_iops"],
        prefix: |request| request.iops.as_ref(),
        of_entry: |_| 1,
        of_span: |span, length, each| (span.ios[each] as f64 / length.as_secs_f64()).round() as u64,
    },
    LogKind::of_latency(
        "slat",
        |entry| entry.submit.0,
        |span, _, each| span.submit_sum_ns[each] / span.ios[each],
    ),
    LogKind::of_latency("clat", completion, |span, _, each| {
        span.latency_sum_ns[each].saturating_sub(span.submit_sum_ns[each]) / span.ios[each]
    }),
    LogKind::of_latency(
        "lat",
        |entry| entry.latency.0,
        |span, _, each| span.latency_sum_ns[each] / span.ios[each],
    ),
    LogKind {
        options: ["write_hist_log", "log_histogram"],
        prefix: |request| request.histogram.as_ref(),
        ..LogKind::of_latency(HISTOGRAM, completion, |_, _, _| 0)
    },
];

impl LogKind {
    const fn of_latency(name: &'static str, of_entry: OfEntry, of_span: OfSpan) -> LogKind {
        let options = ["write_lat_log", "log_latency"];
        LogKind { name, options, prefix: |request| request.latency.as_ref(), of_entry, of_span }
    }
}

/// A file, and the threads whose I/Os it holds.
struct LogFile<'a> {
    path: PathBuf,
    kind: &'static LogKind,
    parts: Vec<LogThread<'a>>,
}

/// One thread: its job, the outcome in which it was counted, and its number there.
#[derive(Clone, Copy)]
struct LogThread<'a> {
    job: &'a Job,
    outcome: usize,
    thread: u32,
    /// Number among the threads of its job.
    in_job: u32,
}

/// Path of each log file that the jobs of a run ask for, behind the option that does.
pub fn log_names(jobs: &[Job]) -> Vec<(&'static str, PathBuf)> {
    let traces = jobs.iter().filter_map(|job| Some((typed(job, TRACE), job.logs.trace.clone()?)));
    let logs = files(jobs).into_iter().map(|file| (typed(file.parts[0].job, file.kind.options), file.path));
    distinct(logs.chain(traces))
}

/// The option as this job has it.
fn typed(job: &Job, [fio, ours]: Options) -> &'static str {
    if job.options.iter().any(|(name, _)| name == ours) { ours } else { fio }
}

/// Path and content of each log file of a run. Outcomes that are missing, since the run was ended, have none.
pub fn logs(jobs: &[Job], outcomes: &[Outcome]) -> Vec<(PathBuf, String)> {
    let written = files(jobs).into_iter().filter(|file| file.parts[0].outcome < outcomes.len());
    let content = |file: &LogFile<'_>| {
        let parts = file.parts.iter().filter_map(|part| Some((part, outcomes.get(part.outcome)?)));
        parts.map(|(part, outcome)| lines(file.kind, *part, outcome)).collect()
    };
    let logs: Vec<_> = written.map(|file| (file.path.clone(), content(&file))).collect();
    logs.into_iter().chain(traces(jobs, outcomes)).collect()
}

/// The traces that jobs ask for, each in fio's version 3: times in us since the job began, by submission. Jobs that name
/// the same file share it.
fn traces(jobs: &[Job], outcomes: &[Outcome]) -> Vec<(PathBuf, String)> {
    let parts = parts(jobs);
    let of_part = |part: &LogThread<'_>| {
        let (path, outcome) = (part.job.logs.trace.as_ref()?, outcomes.get(part.outcome)?);
        Some((path.clone(), trace_lines(*part, outcome)))
    };
    let whole = |(path, lines): (PathBuf, Vec<Vec<(Nanos, String)>>)| {
        let mut lines = lines.concat();
        lines.sort_by_key(|&(time, _)| time);
        (path, format!("fio version 3 iolog\n{}", lines.iter().map(|(_, line)| line).joined("")))
    };
    grouped(parts.iter().filter_map(of_part)).into_iter().map(whole).collect()
}

/// Moment and line of each I/O of one thread, with the files opened before and closed behind.
fn trace_lines(part: LogThread<'_>, outcome: &Outcome) -> Vec<(Nanos, String)> {
    let names = file_names(part, outcome);
    let about = |time: Nanos, deed: &'static str| {
        names.iter().map(move |name| (time, format!("{} {name} {deed}\n", time.0 / 1000))).collect::<Vec<_>>()
    };
    let entries = outcome.log.iter().filter(|entry| entry.thread == part.thread);
    let line = |entry: &LogEntry| {
        let start = Nanos(entry.time.0.saturating_sub(entry.latency.0));
        let (name, us) = (&names[usize::from(entry.file) % names.len()], start.0 / 1000);
        let what = if entry.is_flush() { "sync" } else { entry.direction.name() };
        (start, format!("{us} {name} {what} {} {}\n", entry.offset, entry.length))
    };
    let mut lines = [about(Nanos(0), "add"), about(Nanos(0), "open")].concat();
    lines.extend(entries.map(line));
    lines.extend(about(outcome.elapsed, "close"));
    lines
}

/// Names of the files that a thread uses.
fn file_names(part: LogThread<'_>, outcome: &Outcome) -> Vec<String> {
    let (job, target) = (part.job, &outcome.target);
    let shown = |path: &Path| path.display().to_string();
    if target.kind == TargetKind::Directory {
        let own = job.file_names(part.in_job);
        return own.iter().map(|name| shown(&target.path.join(name))).collect();
    }
    let files = if job.files.len() > 1 { &job.files[..] } else { std::slice::from_ref(&target.path) };
    files.iter().map(|file| shown(file)).collect()
}

fn files<'a>(jobs: &'a [Job]) -> Vec<LogFile<'a>> {
    let all = (1..).zip(parts(jobs)).flat_map(|(number, part)| {
        let request = &part.job.logs;
        LOG_KINDS.iter().filter_map(move |kind| {
            let number = if request.shared { None } else { Some(number) };
            Some((file_name((kind.prefix)(request)?, kind.name, number), (kind, part)))
        })
    });
    let file = |(path, all): (PathBuf, Vec<(&'static LogKind, LogThread<'a>)>)| LogFile {
        path,
        kind: all[0].0,
        parts: all.into_iter().map(|(_, part)| part).collect(),
    };
    grouped(all).into_iter().map(file).collect()
}

/// Every thread of a run, in order: jobs of a stage that are reported together share an outcome.
fn parts(jobs: &[Job]) -> Vec<LogThread<'_>> {
    let mut parts: Vec<LogThread<'_>> = Vec::new();
    // Of each outcome: its stage, its report group and the threads so far.
    let mut outcomes: Vec<(u32, u32, u32)> = Vec::new();
    let mut stage = 0;
    for job in jobs {
        stage += u32::from(job.stonewall);
        let known = outcomes.iter().position(|known| (known.0, known.1) == (stage, job.report_group));
        let outcome = known.unwrap_or_else(|| {
            outcomes.push((stage, job.report_group, 0));
            outcomes.len() - 1
        });
        let threads = &mut outcomes[outcome].2;
        let own = (*threads..).zip(0..job.threads);
        parts.extend(own.map(|(thread, in_job)| LogThread { job, outcome, thread, in_job }));
        *threads += job.threads;
    }
    parts
}

fn lines(kind: &LogKind, part: LogThread<'_>, outcome: &Outcome) -> String {
    let request = &part.job.logs;
    if kind.name == "slat" && part.job.engine.is_synchronous() {
        String::new()
    } else if kind.name == HISTOGRAM {
        let entries = entries(outcome, part);
        histogram::lines(&entries, request, since(outcome, part), kind.of_entry)
    } else if request.average.0 > 0 {
        span_lines(outcome, part, kind.of_span)
    } else {
        entry_lines(outcome, part, kind.of_entry)
    }
}

/// Latency after the submission: fio's `clat`, ns.
fn completion(entry: &LogEntry) -> u64 {
    entry.latency.0.saturating_sub(entry.submit.0)
}

fn file_name(prefix: &Path, kind: &str, number: Option<u32>) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    let number = number.map_or_else(String::new, |number| format!(".{number}"));
    name.push(format!("_{kind}{number}.log"));
    PathBuf::from(name)
}

/// The moment, in ms, that times in the log are added to.
fn since(outcome: &Outcome, part: LogThread<'_>) -> u64 {
    if part.job.logs.unix_epoch { outcome.started_unix_ms } else { 0 }
}

/// I/Os of a thread, in the order of their ends.
fn entries<'a>(outcome: &'a Outcome, part: LogThread<'_>) -> Vec<&'a LogEntry> {
    let own = |entry: &&LogEntry| entry.thread == part.thread && !entry.is_flush();
    let mut entries: Vec<&LogEntry> = outcome.log.iter().filter(own).collect();
    entries.sort_by_key(|entry| entry.time);
    entries
}

/// The last column: the priority, or only whether it is of the real-time class.
fn priority(job: &Job, entry: &LogEntry) -> String {
    let priority = if entry.io_priority > 0 { entry.io_priority } else { job.host.priority.io() };
    if job.logs.priority { format!("0x{priority:04x}") } else { u8::from(priority >> 13 == 1).to_string() }
}

fn entry_lines(outcome: &Outcome, part: LogThread<'_>, value: OfEntry) -> String {
    let entries = entries(outcome, part);
    let since = since(outcome, part);
    let line = |entry: &&LogEntry| {
        let offset = if part.job.logs.offsets { format!("{}, ", entry.offset) } else { String::new() };
        let (ms, direction) = (since + entry.time.0 / 1_000_000, entry.direction as u8);
        let priority = priority(part.job, entry);
        format!("{ms}, {}, {direction}, {}, {offset}{priority}\n", value(entry), entry.length)
    };
    entries.iter().map(line).collect()
}

/// One line for each direction that moved in a span, at the end of the span, with block size 0 as fio writes it.
fn span_lines(outcome: &Outcome, part: LogThread<'_>, value: OfSpan) -> String {
    let offset = if part.job.logs.offsets { "0, " } else { "" };
    // Of a mean fio knows no class.
    let priority = if part.job.logs.priority { "0x0000" } else { "0" };
    let since = since(outcome, part);
    let mut text = String::new();
    for span in outcome.log_spans.iter().filter(|span| span.thread == part.thread) {
        // The last one is as long as the run: what ended at the very end still has a length.
        let end = (span.start + span.length).min(outcome.elapsed).max(span.start + Nanos(1));
        for each in Direction::ALL.into_iter().map(|each| each as usize).filter(|&each| span.ios[each] > 0) {
            let (ms, value) = (since + end.0 / 1_000_000, value(span, end - span.start, each));
            text.push_str(&format!("{ms}, {value}, {each}, 0, {offset}{priority}\n"));
        }
    }
    text
}
