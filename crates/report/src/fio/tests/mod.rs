//! Our output beside fio's own, and through fio's own reader. Without fio these tests say that they were skipped.

mod plot;

use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_model::{
    Bins, Direction, Engine, Job, LogEntry, LogRequest, LogSpan, Nanos, Priority, Verify, VerifyMode,
    bin_index, bin_middle,
};
use iostack_testkit::Folder;
use serde_json::Value;

use super::{TERSE_VERSION, json, log_names, logs, terse};
use crate::fixture;

/// A folder of one test, gone at its end.
fn folder(name: &str) -> Folder {
    Folder::below(&std::env::temp_dir().to_string_lossy(), &format!("iostack-report-{name}"))
}

fn installed(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("--help").output().is_ok();
    if !found {
        println!("SKIPPED {test}: {program} is not installed");
    }
    found
}

/// fio's own output of a small mixed job with flushes, in the format asked.
fn real_fio(room: &Path, format: &str) -> String {
    let output = Command::new("fio")
        .current_dir(room)
        .args(["--name=mixed", "--filename=data", "--size=1m", "--rw=randrw", "--bs=4k", "--ioengine=psync"])
        .args([
            "--fsync=16",
            "--randseed=1",
            "--percentile_list=1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        ])
        .arg(format!("--output-format={format}"))
        .output()
        .expect("fio is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("fio prints UTF-8");
    // fio may talk before the report.
    let start = text.find(if format == "terse" { "3;" } else { "{" }).expect("a report");
    text[start..].to_owned()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_u64() => "whole number",
        Value::Number(_) => "float",
        Value::String(_) => "text",
        Value::Object(_) => "object",
        Value::Array(_) => "list",
        Value::Bool(_) => "truth",
        Value::Null => "null",
    }
}

/// Finds what of `theirs` is missing or of another type in `ours`.
fn differences(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    if kind(theirs) != kind(ours) {
        found.push(format!("{path} is a {} in fio, a {} here", kind(theirs), kind(ours)));
    }
    if let (Value::Array(theirs), Value::Array(ours)) = (theirs, ours)
        && let (Some(theirs), Some(ours)) = (theirs.first(), ours.first())
    {
        differences(&format!("{path}[0]"), theirs, ours, found);
    }
    let (Value::Object(theirs), Value::Object(ours)) = (theirs, ours) else { return };
    // These keys are the job's own and the latencies themselves.
    if path.ends_with("/job options") || path.ends_with("/bins") {
        return;
    }
    for (key, value) in theirs {
        match ours.get(key) {
            None => found.push(format!("{path}/{key} is missing")),
            Some(other) => differences(&format!("{path}/{key}"), value, other, found),
        }
    }
}

#[test]
fn every_key_of_fio_is_here_with_its_type() {
    if !installed("fio", "every_key_of_fio_is_here_with_its_type") {
        return;
    }
    let room = folder("keys");
    let mut file = fixture::outcome_file();
    let mut mixed = file.outcomes.swap_remove(1);
    mixed.job.sync.fsync_every = 16;
    mixed.sync.clone_from(&mixed.write.latency);
    file.outcomes = vec![mixed];
    for (format, plus) in [("json", false), ("json+", true)] {
        let theirs = parse(&real_fio(&room, format));
        let ours = parse(&json(&file, plus));
        let mut found = Vec::new();
        differences("", &theirs, &ours, &mut found);
        assert!(found.is_empty(), "{format}: {found:#?}");
    }
}

#[test]
fn the_bins_of_fio_are_our_bins_and_give_the_same_percentiles() {
    if !installed("fio", "the_bins_of_fio_are_our_bins_and_give_the_same_percentiles") {
        return;
    }
    let room = folder("bins");
    let report = parse(&real_fio(&room, "json+"));
    for direction in ["read", "write"] {
        let latency = &report["jobs"][0][direction]["clat_ns"];
        let mut bins = Bins { min_ns: 0, max_ns: u64::MAX, ..Bins::default() };
        let counted = latency["bins"].as_object().expect("json+ has bins");
        for (key, count) in counted {
            let ns: u64 = key.parse().expect("a key in ns");
            assert_eq!(bin_middle(bin_index(ns)), ns, "fio's bucket is ours");
            bins.counts.push((bin_index(ns) as u32, count.as_u64().expect("a count")));
        }
        bins.counts.sort_unstable();
        bins.count = bins.counts.iter().map(|one| one.1).sum();
        assert_eq!(Some(bins.count), latency["N"].as_u64());
        for (percent, ns) in latency["percentile"].as_object().expect("percentiles") {
            let fraction = percent.parse::<f64>().expect("a percentile") / 100.0;
            assert_eq!(bins.quantile_ns(fraction), ns.as_u64(), "{direction} p{percent}");
        }
    }
}

#[test]
fn fio_jsonplus_clat2csv_reads_every_latency() {
    const READER: &str = "fio_jsonplus_clat2csv";
    if !installed(READER, "fio_jsonplus_clat2csv_reads_every_latency") {
        return;
    }
    let room = folder("clat2csv");
    let file = fixture::outcome_file();
    let (from, to) = (room.join("plus.json"), room.join("plus.csv"));
    std::fs::write(&from, json(&file, true)).expect("written");
    let run = Command::new(READER).args([&from, &to]).output().expect("installed");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for (index, outcome) in file.outcomes.iter().enumerate() {
        let csv = std::fs::read_to_string(room.join(format!("plus_job{index}.csv"))).expect("one file a job");
        for direction in [Direction::Read, Direction::Write] {
            let column = format!("{}_clat_ns_count", direction.name());
            let expected: Vec<(u64, u64)> = outcome
                .flow(direction)
                .latency
                .counts
                .iter()
                .map(|&(bin, count)| (bin_middle(bin as usize), count))
                .collect();
            assert_eq!(column_of(&csv, &column), expected, "{column} of job {index}");
        }
    }
}

/// `(nsec, value)` of the rows where the column is not empty.
fn column_of(csv: &str, name: &str) -> Vec<(u64, u64)> {
    let mut lines = csv.lines().map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    let heads = lines.next().expect("a head");
    let place = heads.iter().position(|head| *head == name).expect("the column is there");
    let filled = lines.filter(|row| row.get(place).is_some_and(|cell| !cell.is_empty()));
    filled.map(|row| (row[0].parse().expect("ns"), row[place].parse().expect("a count"))).collect()
}

#[test]
fn terse_has_the_fields_of_fio_in_their_places() {
    let file = fixture::outcome_file();
    let text = terse(&file, TERSE_VERSION);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    assert_eq!(lines.len(), 3);
    let mixed = &file.outcomes[1];
    let seconds = mixed.elapsed.as_secs_f64();
    // YABS counts from 1: bandwidth and IOPS of reads in 7 and 8, of writes in 48 and 49.
    for (field, flow) in [(7, &mixed.read), (48, &mixed.write)] {
        let bandwidth = (flow.bytes.0 as f64 / seconds) as u64 / 1024;
        assert_eq!(lines[1][field - 1], bandwidth.to_string());
        assert_eq!(lines[1][field], ((flow.latency.count as f64 / seconds) as u64).to_string());
    }
    if installed("fio", "terse_has_the_fields_of_fio_in_their_places") {
        let room = folder("terse");
        let real = real_fio(&room, "terse");
        let theirs: Vec<&str> = real.lines().next().expect("a line").trim().split(';').collect();
        let to_disk = theirs.iter().rposition(|field| field.ends_with("0.00%")).unwrap_or(0).min(120);
        for (place, (theirs, ours)) in theirs.iter().zip(&lines[1]).enumerate().take(to_disk) {
            let same =
                theirs.ends_with('%') == ours.ends_with('%') && theirs.contains('=') == ours.contains('=');
            assert!(place < 3 || same, "field {}: {theirs} in fio, {ours} here", place + 1);
        }
        assert!(theirs.len().abs_diff(lines[1].len()) <= 9, "only the disk's nine fields may differ");
    }
}

#[test]
fn what_readers_look_for_is_there_even_when_nobody_typed_it() {
    let mut file = fixture::outcome_file();
    file.outcomes[1].job.options =
        vec![("bs".to_owned(), "8k".to_owned()), ("bs".to_owned(), "4k".to_owned())];
    let report = parse(&json(&file, false));
    let options = &report["jobs"][1]["job options"];
    for (name, value) in
        [("rw", "randrw"), ("iodepth", "8"), ("numjobs", "1"), ("bs", "4k"), ("rwmixread", "70")]
    {
        assert_eq!(options[name], value, "{name}");
    }
    assert_eq!(report["jobs"][0]["read"]["total_ios"], file.outcomes[0].read.latency.count);
    assert!(json(&file, false).contains("\"99.900000\" : "));
}

#[test]
fn a_run_without_an_io_is_a_report_all_the_same() {
    let mut file = fixture::outcome_file();
    let outcome = &mut file.outcomes[0];
    outcome.elapsed = Nanos(0);
    outcome.read = iostack_model::Flow::default();
    outcome.series.clear();
    outcome.device = None;
    let report = parse(&json(&file, true));
    assert_eq!(report["jobs"][0]["read"]["iops"], 0.0);
    assert!(report["jobs"][0]["read"]["clat_ns"].get("percentile").is_none());
    assert_eq!(terse(&file, TERSE_VERSION).lines().count(), 3);
    file.outcomes.clear();
    assert_eq!(parse(&json(&file, true))["jobs"], Value::Array(Vec::new()));
}

#[test]
fn a_simulated_run_is_a_report_without_a_processor_and_without_disks() {
    let file = fixture::simulated_file();
    let read = parse(&json(&file, true));
    assert_eq!(read["disk_util"], serde_json::json!([]));
    for (job, outcome) in read["jobs"].as_array().expect("a list").iter().zip(&file.outcomes) {
        assert_eq!((job["usr_cpu"].as_f64(), job["ctx"].as_u64()), (Some(0.0), Some(0)));
        let ios = job["read"]["total_ios"].as_u64().zip(job["write"]["total_ios"].as_u64());
        assert_eq!(ios.map(|(read, write)| read + write), Some(outcome.ios()));
    }
    assert_eq!(terse(&file, TERSE_VERSION).lines().count(), 2);
    let measured = terse(&fixture::outcome_file(), TERSE_VERSION);
    let fields = |line: Option<&str>| line.expect("a line").split(';').count();
    let count = |number| fields(terse(&fixture::outcome_file(), number).lines().next());
    // As fio 3.33 prints them, on one disk.
    assert_eq!([2, 3, 4, 5].map(count), [161, 130, 171, 189]);
    assert_eq!(
        fields(terse(&file, TERSE_VERSION).lines().next()) + 9,
        fields(measured.lines().next()),
        "those of the disk"
    );
}

#[test]
fn each_io_is_one_line_of_each_log() {
    let mut outcome = fixture::outcome_file().outcomes.remove(1);
    outcome.job.logs = LogRequest {
        bandwidth: Some("out/p".into()),
        latency: Some("out/p".into()),
        iops: Some("q".into()),
        average: Nanos(0),
        offsets: true,
        ..LogRequest::default()
    };
    let entry = |ms: u64, direction, latency: u64, submit: u64| LogEntry {
        time: Nanos::millis(ms),
        thread: 0,
        direction,
        offset: 1_011_712,
        length: 4096,
        latency: Nanos(latency),
        submit: Nanos(submit),
        file: 0,
        io_priority: 0,
    };
    outcome.log = vec![entry(2, Direction::Write, 54_578, 270), entry(1, Direction::Read, 171_187, 552)];
    let (job, outcomes) = (outcome.job.clone(), [outcome]);
    let written = logs(&[Job { threads: 1, engine: Engine::Libaio, ..job }], &outcomes);
    let of = |name: &str| {
        let found = written.iter().find(|(path, _)| path == Path::new(name));
        found.unwrap_or_else(|| panic!("{name} in {written:?}")).1.as_str()
    };
    assert_eq!(written.len(), 5);
    // fio 3.33 itself wrote these lines for these two latencies.
    assert_eq!(of("out/p_bw.1.log"), "1, 24004, 0, 4096, 1011712, 0\n2, 75421, 1, 4096, 1011712, 0\n");
    assert_eq!(of("out/p_lat.1.log"), "1, 171187, 0, 4096, 1011712, 0\n2, 54578, 1, 4096, 1011712, 0\n");
    assert_eq!(of("out/p_clat.1.log"), "1, 170635, 0, 4096, 1011712, 0\n2, 54308, 1, 4096, 1011712, 0\n");
    assert_eq!(of("out/p_slat.1.log"), "1, 552, 0, 4096, 1011712, 0\n2, 270, 1, 4096, 1011712, 0\n");
    assert_eq!(of("q_iops.1.log"), "1, 1, 0, 4096, 1011712, 0\n2, 1, 1, 4096, 1011712, 0\n");
    // What fio 3.33 writes in the last column of jobs with such priorities.
    for (priority, io_class, io_level, last) in [
        (true, 2, 3, "0x4003"),
        (true, 0, 3, "0x4003"),
        (true, 0, 0, "0x0000"),
        (false, 1, 1, "1"),
        (false, 2, 1, "0"),
    ] {
        let mut job = Job { threads: 1, ..outcomes[0].job.clone() };
        job.host.priority = Priority { io_class, io_level, ..Priority::default() };
        job.logs.priority = priority;
        let written = logs(&[job], &outcomes);
        assert!(written[0].1.lines().all(|line| line.ends_with(&format!(" {last}"))), "{last}: {written:?}");
    }
}

#[test]
fn averaged_logs_hold_every_io_of_each_thread_whatever_the_span() {
    let mut outcome = fixture::outcome_file().outcomes.remove(1);
    let logs_of = |prefix: &str| LogRequest {
        iops: Some(prefix.into()),
        latency: Some(prefix.into()),
        average: Nanos::millis(250),
        ..LogRequest::default()
    };
    let job = Job { threads: 2, engine: Engine::Libaio, logs: logs_of("p"), ..Job::default() };
    let before = Job { threads: 3, report_group: 7, ..Job::default() };
    let beside = Job { logs: logs_of("q"), engine: Engine::Psync, threads: 1, ..job.clone() };
    let jobs = [before, job, beside];
    outcome.elapsed = Nanos::millis(600);
    for (ms, thread) in [(1, 0), (249, 0), (250, 0), (251, 1), (599, 2), (600, 1)] {
        let entry = LogEntry {
            time: Nanos::millis(ms),
            thread,
            direction: Direction::Write,
            offset: 0,
            length: 4096,
            latency: Nanos(1000 * (ms + 1)),
            submit: Nanos(500),
            file: 0,
            io_priority: 0,
        };
        LogSpan::add(&mut outcome.log_spans, &entry, Nanos::millis(250));
    }
    let outcomes = [fixture::outcome_file().outcomes.remove(0), outcome];
    let written = logs(&jobs, &outcomes);
    let names: Vec<_> = written.iter().map(|(path, _)| path.display().to_string()).collect();
    let kinds = ["iops", "slat", "clat", "lat"];
    let expected = [("p", 4), ("p", 5), ("q", 6)]
        .iter()
        .flat_map(|(prefix, number)| kinds.map(|kind| format!("{prefix}_{kind}.{number}.log")));
    assert_eq!(names, expected.collect::<Vec<_>>(), "numbered through the run, three threads before");
    let paths = |names: Vec<(&str, PathBuf)>| names.into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    assert_eq!(paths(log_names(&jobs)), written.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    let of = |name: &str| written[names.iter().position(|known| known == name).expect(name)].1.as_str();
    assert_eq!(of("p_lat.4.log"), "250, 126000, 1, 0, 0\n500, 251000, 1, 0, 0\n");
    assert_eq!(of("p_clat.4.log"), "250, 125500, 1, 0, 0\n500, 250500, 1, 0, 0\n");
    assert_eq!(of("p_slat.4.log"), "250, 500, 1, 0, 0\n500, 500, 1, 0, 0\n");
    assert_eq!(of("p_iops.4.log"), "250, 8, 1, 0, 0\n500, 4, 1, 0, 0\n");
    assert_eq!(of("p_iops.5.log"), "500, 4, 1, 0, 0\n600, 10, 1, 0, 0\n", "the last span is cut at the end");
    assert_eq!(of("q_slat.6.log"), "", "psync has no submission of its own");
    assert_eq!(of("q_lat.6.log"), "600, 600000, 1, 0, 0\n");
}

#[test]
fn logs_are_shared_when_that_is_asked_for() {
    let logs = LogRequest { bandwidth: Some("p".into()), shared: true, ..LogRequest::default() };
    let job = Job { threads: 2, logs, ..Job::default() };
    assert_eq!(log_names(&[job.clone(), job]), [("write_bw_log", PathBuf::from("p_bw.log"))]);
}

#[test]
fn reads_that_verify_are_reads_and_groups_count_stonewalls_as_in_fio() {
    let mut file = fixture::outcome_file();
    file.outcomes.truncate(1);
    file.outcomes.extend([file.outcomes[0].clone(), file.outcomes[0].clone(), file.outcomes[0].clone()]);
    file.outcomes[0].job.stonewall = true;
    file.outcomes[2].job.stonewall = true;
    file.outcomes[3].job.new_group = true;
    let last = file.outcomes.last_mut().expect("there are some");
    last.job.options_global = vec![("bs".into(), "4k".into()), ("thread".into(), String::new())];
    let wrote = &mut file.outcomes[1];
    wrote.job.verify = Some(Verify::of_mode(VerifyMode::WriteThenRead));
    std::mem::swap(&mut wrote.read, &mut wrote.write);
    (wrote.verified, wrote.read) = (wrote.write.latency.count, iostack_model::Flow::default());
    let (ios, bytes) = (wrote.verified, wrote.write.bytes.0);
    let printed: Value = serde_json::from_str(&json(&file, false)).expect("valid JSON");
    let groups: Vec<_> = (0..4).map(|index| printed["jobs"][index]["groupid"].as_u64()).collect();
    assert_eq!(groups, [Some(0), Some(0), Some(1), Some(2)]);
    assert_eq!(printed["jobs"][1]["read"]["total_ios"], ios);
    assert_eq!(printed["jobs"][1]["read"]["io_bytes"], bytes);
    assert_eq!(printed["global options"], serde_json::json!({"bs": "4k"}));
}
