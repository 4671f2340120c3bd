//! fio itself, in both directions: what it writes is read here, and what is read here it replays the same.

use std::process::Command;

use iostack_testkit::folder;
use iostack_workload::trace::{TraceOptions, survey};
use iostack_workload::{TraceFormat, TraceIo};

use super::trace;

/// A folder of its own, removed at the end.
struct Folder(iostack_testkit::Folder);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(folder!(&format!("trace-{name}")))
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The JSON that fio says; `None` where it is not installed.
    fn fio(&self, arguments: &[&str]) -> Option<serde_json::Value> {
        let mut command = Command::new("fio");
        command.args(["--output-format=json", "--output=said.json"]).args(arguments).current_dir(&*self.0);
        let Ok(output) = command.output() else { return None };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_str(&self.text("said.json")).expect("fio says JSON"))
    }
}

/// A unit that is wrong is wrong by a thousand; a machine that is busy is not.
fn is_same_unit(ours_ms: f64, theirs_ms: f64) -> bool {
    ours_ms / theirs_ms < 30.0 && theirs_ms / ours_ms < 30.0
}

#[test]
fn a_log_that_fio_writes_has_the_ios_that_fio_counts() {
    let folder = Folder::new("written");
    let said = folder.fio(&[
        "--name=a",
        "--filename=one:two",
        "--size=2m",
        "--rw=randrw",
        "--bsrange=512-64k",
        "--io_limit=1m",
        "--rate_iops=500,500",
        "--fdatasync=7",
        "--write_iolog=log",
    ]);
    let Some(said) = said else {
        println!("SKIPPED a_log_that_fio_writes_has_the_ios_that_fio_counts: fio is not installed");
        return;
    };
    let text = folder.text("log");
    assert_eq!(TraceFormat::detect(&text), Some(TraceFormat::FioIolog));
    let reader = Box::new(std::io::Cursor::new(text.clone()));
    let found = survey(reader, TraceFormat::FioIolog, "log").expect("fio wrote it");
    let names: Vec<&str> = found.disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let job = &said["jobs"][0];
    for (index, direction) in ["read", "write"].into_iter().enumerate() {
        let ios: u64 = found.disks.iter().map(|disk| disk.ios[index]).sum();
        let bytes: u64 = found.disks.iter().map(|disk| disk.bytes[index]).sum();
        assert_eq!(Some(ios), job[direction]["total_ios"].as_u64(), "{direction}");
        assert_eq!(Some(bytes), job[direction]["io_bytes"].as_u64(), "{direction}");
    }
    assert!(found.disks.iter().all(|disk| disk.end <= 2 << 20), "{found:?}");
    let runtime_ms = job["job_runtime"].as_f64().expect("in milliseconds");
    assert!(is_same_unit(found.span.0 as f64 / 1e6, runtime_ms), "{} against {runtime_ms} ms", found.span);
    let flushes: u64 = found.disks.iter().map(|disk| disk.flushes).sum();
    // One after seven writes; fio counts none where nothing waits for them.
    assert!(flushes > 0, "{found:?}");
}

/// Direction, length, offset of each I/O that fio did, and when the last ended, ms.
fn replayed(folder: &Folder, log: &str) -> Option<(Vec<[u64; 3]>, f64)> {
    std::fs::write(folder.0.join("log"), log).expect("written");
    std::fs::File::create(folder.0.join("disk")).and_then(|file| file.set_len(16 << 20)).expect("made");
    let logs = ["--write_lat_log=lat", "--log_offset=1"];
    folder.fio(&[&["--name=a", "--read_iolog=log", "--ioengine=null", "--size=16m"], &logs[..]].concat())?;
    let mut done = Vec::new();
    let mut last = 0.0;
    for line in folder.text("lat_lat.1.log").lines() {
        let fields: Vec<u64> =
            line.split(',').take(5).map(|field| field.trim().parse().expect("a number")).collect();
        done.push([fields[2], fields[3], fields[4]]);
        last = fields[0] as f64;
    }
    Some((done, last))
}

#[test]
fn fio_replays_a_log_as_it_is_read_here() {
    // Without trims: fio 3.33 drops them, and the time before them.
    let logs = [
        "fio version 3 iolog\n0 disk add\n0 disk open\n1000 disk write 1048576 8192\n90000 disk read 512 1024\n\
         200000 disk sync 0 0\n600000 disk read 1048576 4096\n600001 disk close\n",
        "fio version 2 iolog\ndisk add\ndisk open\ndisk write 1048576 8192\ndisk wait 300 0\ndisk read 512 1024\n\
         disk wait 600 0\ndisk read 1048576 4096\ndisk close\n",
    ];
    for log in logs {
        let folder = Folder::new("replayed");
        let Some((theirs, last_ms)) = replayed(&folder, log) else {
            println!("SKIPPED fio_replays_a_log_as_it_is_read_here: fio is not installed");
            return;
        };
        let ours: Result<Vec<TraceIo>, _> =
            trace(log, TraceFormat::FioIolog, &TraceOptions::default()).collect();
        let ours = ours.expect("well written");
        let span_ms = ours.last().expect("not empty").at.0 as f64 / 1e6;
        let data = ours.iter().filter(|io| !io.flush);
        let ours: Vec<_> = data.map(|io| [io.direction as u64, u64::from(io.length), io.offset]).collect();
        assert_eq!(ours, theirs, "{log}");
        assert!(is_same_unit(span_ms, last_ms), "{span_ms} against {last_ms} ms\n{log}");
    }
}
