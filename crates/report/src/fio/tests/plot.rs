//! fio-plot draws from our files: bars over depth, the surface over depth and threads, the histogram, and logs.

use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_model::{Job, LogRequest, LogSpan, Nanos};

use super::super::{json, logs};
use super::folder;
use crate::fixture;

/// fio-plot where `cargo xtask setup` puts it, or on the path.
fn fio_plot() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/fio-plot");
    let found = [own, PathBuf::from("fio-plot")];
    found.into_iter().find(|path| Command::new(path).arg("--help").output().is_ok())
}

/// One random read job, its report and its logs, named as fio-plot looks for them.
fn write_files(room: &Path, depth: u32, threads: u32) {
    let prefix = room.join(format!("randread-iodepth-{depth}-numjobs-{threads}"));
    let logs_asked = LogRequest {
        bandwidth: Some(prefix.clone()),
        latency: Some(prefix.clone()),
        iops: Some(prefix.clone()),
        average: Nanos::millis(500),
        ..LogRequest::default()
    };
    let mut file = fixture::outcome_file();
    file.outcomes.truncate(1);
    let outcome = &mut file.outcomes[0];
    let options = Vec::new();
    outcome.job = Job { threads, queue_depth: depth, logs: logs_asked, options, ..outcome.job.clone() };
    let part = |all: [u64; 3]| all.map(|all| all / u64::from(threads));
    for slice in &outcome.series {
        outcome.log_spans.extend((0..threads).map(|thread| LogSpan {
            start: slice.start,
            length: slice.length,
            thread,
            ios: part(slice.ios),
            bytes: part(slice.bytes),
            latency_sum_ns: part(slice.latency_sum_ns),
            submit_sum_ns: [0; 3],
        }));
    }
    for (path, text) in logs(std::slice::from_ref(&outcome.job), std::slice::from_ref(outcome)) {
        std::fs::write(path, text).expect("written");
    }
    std::fs::write(prefix.with_extension("json"), json(&file, false)).expect("written");
}

#[test]
fn fio_plot_draws_from_our_reports_and_logs() {
    let Some(program) = fio_plot() else {
        println!("SKIPPED fio_plot_draws_from_our_reports_and_logs: fio-plot is not installed");
        return;
    };
    let room = folder("fio-plot");
    for depth in [1, 4, 16, 64] {
        for threads in [1, 2, 4] {
            write_files(&room, depth, threads);
        }
    }
    let drawings: [(&str, &[&str]); 4] = [
        ("depth", &["-l", "-d", "1", "4", "16", "64", "-n", "1"]),
        ("surface", &["-L", "-t", "iops", "-d", "1", "4", "16", "64", "-n", "1", "2", "4"]),
        ("histogram", &["-H", "-d", "16", "-n", "1"]),
        ("logs", &["-g", "-t", "iops", "lat", "bw", "-d", "1", "16", "-n", "1"]),
    ];
    for (name, arguments) in drawings {
        let picture = room.join(format!("{name}.png"));
        let run = Command::new(&program)
            .current_dir(&*room)
            .args(["-i", ".", "-T", "Fixture", "-r", "randread", "-o"])
            .arg(&picture)
            .args(arguments)
            .output()
            .expect("it was there a moment ago");
        let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{name}: {said}");
        let bytes = std::fs::read(&picture).unwrap_or_else(|error| panic!("{name}: {error}: {said}"));
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000,
            "{name}: {} bytes: {said}",
            bytes.len()
        );
    }
}
