//! Other programs: fio, whose own means are known.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use iostack_attribute::stages::Subject;
use iostack_model::{CallKind, Stages, Way};
use iostack_testkit::folder;

use super::common::{MATCHED, attach, ios, show};
use crate::common::random;

const MIB: u64 = 1 << 20;

/// fio in one process, its report in JSON; it starts at a line of input, when the trace is attached.
fn fio(path: &Path, engine: &str, depth: u32, more: &str) -> Option<Child> {
    let words = format!(
        "read -r _ && exec fio --name=traced --filename={} --ioengine={engine} --iodepth={depth} --rw=randread --bs=4k \
         --direct=1 --size=16m --runtime=2 --time_based --thread {more} --output-format=json",
        path.display()
    );
    Command::new("fio").arg("--version").stdout(Stdio::null()).status().ok()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &words]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    shell.spawn().ok()
}

/// The number behind `"key" : ` in the part of fio's report that follows `after`.
fn number(report: &str, after: &str, key: &str) -> f64 {
    let part = &report[report.find(after).expect("fio writes this part")..];
    let rest = &part[part.find(&format!("\"{key}\" : ")).expect("fio writes this key") + key.len() + 5..];
    rest[..rest.find([',', '\n']).expect("a line ends")].trim().parse().expect("a number")
}

/// Traces one run of fio from its start to its end.
fn traced(test: &str, path: &Path, engine: &str, depth: u32, more: &str) -> Option<(f64, f64, Stages)> {
    let Some(mut child) = fio(path, engine, depth, more) else {
        println!("SKIPPED {test}: fio is not installed");
        return None;
    };
    let storage = iostack_host::storage(path).expect("the path exists");
    let trace = attach(test, &Subject::Process { pid: child.id() }, &storage)?;
    child.stdin.take().expect("a pipe").write_all(b"\n").expect("the shell waits");
    let output = child.wait_with_output().expect("fio ends");
    std::thread::sleep(Duration::from_millis(20));
    let stages = trace.finish();
    let report = String::from_utf8(output.stdout).expect("JSON is text");
    let (count, mean) = (number(&report, "\"read\"", "total_ios"), number(&report, "\"lat_ns\"", "mean"));
    show(&format!("{test} {engine} depth {depth}: fio {count} I/Os of {mean:.0} ns"), &stages, None);
    Some((count, mean, stages))
}

#[test]
fn a_foreign_programs_ios_are_those_it_counts_itself() {
    let test = "a_foreign_programs_ios_are_those_it_counts_itself";
    let folder = folder!("stages-fio");
    let path = random(&folder, "data", 16 * MIB);
    for (engine, depth) in [("psync", 1), ("libaio", 1), ("libaio", 16), ("io_uring", 1), ("io_uring", 16)] {
        let Some((count, mean, stages)) = traced(test, &path, engine, depth, "") else { return };
        assert_eq!(stages.lost, 0);
        let device = stages.way(Way::Device).expect("direct reads");
        // fio reads a few files of its own, and does not count what is in flight at its end.
        let matched = ios(&stages, Way::Device) as f64;
        let seen = matched + ios(&stages, Way::Unmatched) as f64;
        assert!((seen / count - 1.0).abs() < 0.01, "{engine}: {seen} I/Os seen, fio counts {count}");
        assert!(matched >= MATCHED * seen, "{engine}: {matched} of {seen} to the end");
        let own = device.whole.mean_ns();
        // An I/O of io_uring ends for us when its completion is posted; fio picks many up later, one after the other, and
        // when is the machine's business: it has the CPUs for both, or not.
        let least = if engine == "io_uring" && depth > 1 { 0.0 } else { 0.75 };
        let ratio = own / mean;
        assert!((least..1.25).contains(&ratio), "{engine}: {own:.0} ns, fio says {mean:.0} ns");
        assert!(stages.notes.iter().any(|note| note.contains("has ended")), "{:?}", stages.notes);
    }
}

#[test]
fn requests_of_io_uring_are_matched_whoever_carries_them_out() {
    let test = "requests_of_io_uring_are_matched_whoever_carries_them_out";
    let folder = folder!("stages-fio-workers");
    let path = random(&folder, "data", 16 * MIB);
    for more in ["--force_async=1", "--force_async=1 --direct=0 --invalidate=1", "--sqthread_poll=1"] {
        let Some((count, _, stages)) = traced(test, &path, "io_uring", 4, more) else { return };
        assert_eq!(stages.lost, 0);
        let reads = stages.kinds.iter().find(|row| row.kind == CallKind::Read).expect("it reads");
        let seen = reads.whole.count as f64;
        // It reads files of its own, and does not count what is in flight at its end.
        assert!(
            (count * 0.99..count * 1.01 + 200.0).contains(&seen),
            "{more}: {seen} I/Os seen, fio counts {count}"
        );
        let unmatched = ios(&stages, Way::Unmatched) as f64;
        assert!(unmatched <= (1.0 - MATCHED) * seen, "{more}: {unmatched} of {seen} not seen to the end");
        println!("  {more}: {:.3} % matched", (1.0 - unmatched / seen) * 100.0);
    }
}

#[test]
fn a_process_that_is_not_there_is_refused() {
    let storage = iostack_model::Storage::default();
    let ladder = iostack_model::Ladder::default();
    let subject = Subject::Process { pid: u32::MAX / 2 };
    let refused = iostack_attribute::stages::StageTrace::attach(&subject, &storage, &ladder);
    let error = refused.err().expect("no process has this number");
    assert!(error.to_string().contains("there is no process"), "{error}");
}
