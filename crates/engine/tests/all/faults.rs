//! What goes wrong while a job runs: each an outcome or an error that says what happened, and never a panic.

use std::fs::{self, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{MIB, come, counted, data, engines, mounted, random, run, run_with};
use iostack_engine::{Control, EngineError, Work, lay_out};
use iostack_host::Held;
use iostack_model::*;
use iostack_testkit::{Loop, folder, or_skip};

/// What the load gives, into which something happens after so many milliseconds.
fn meanwhile<T>(after_ms: u64, happens: impl FnOnce() + Send, load: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(after_ms));
            happens();
        });
        load()
    })
}

#[test]
fn a_file_that_shrinks_is_a_failure_with_its_offset_and_the_job_ends() {
    let folder = folder!("shrinks");
    for engine in engines() {
        let path = random(&folder, "data", 4 * MIB);
        let job = Job { access: Access::Sequential, ..Job::default() };
        let job = Job { engine, queue_depth: 8, runtime: Some(Nanos::secs(30)), time_based: true, ..job };
        let shrunk = AtomicBool::new(false);
        let cut = || {
            let file = OpenOptions::new().write(true).open(&path).expect("ours");
            file.set_len(2 * MIB).expect("shrinks");
            shrunk.store(true, Ordering::Relaxed);
        };
        let result = meanwhile(200, cut, || run(&job, &path));
        let Some(outcome) = come("a_file_that_shrinks", result) else { continue };
        assert!(shrunk.load(Ordering::Relaxed));
        let failure = &outcome.failures[0];
        assert!(failure.offset_first >= 2 * MIB, "{engine:?} {failure:?}");
        assert!((1000..=1000 + 2 * 8).contains(&failure.count), "1000, and what was in flight: {failure:?}");
        assert!(outcome.read.latency.count > 0);
        assert!(outcome.caveats.iter().any(|caveat| matches!(caveat, Caveat::Failed { .. })));
    }
}

#[test]
fn an_io_error_of_the_device_is_named() {
    let folder = folder!("eio");
    let image = random(&folder, "image", 4 * MIB);
    let Some(device) = or_skip("an_io_error", Loop::over(&image)) else { return };
    OpenOptions::new().write(true).open(&image).expect("ours").set_len(2 * MIB).expect("shrinks");
    for engine in engines().into_iter().filter(|&engine| engine != Engine::Mmap) {
        let job = Job { engine, queue_depth: 4, access: Access::Sequential, ..Job::default() };
        let Some(outcome) = come("an_io_error", run(&job, &device)) else { continue };
        let failure = &outcome.failures[0];
        assert_eq!((failure.errno, failure.count), (libc::EIO, 512), "{engine:?} {failure:?}");
        assert!(failure.offset_first >= 2 * MIB);
        assert_eq!(outcome.read.latency.count, 512);
    }
}

#[test]
fn a_full_disk_is_said_before_anything_is_written() {
    let folder = folder!("full");
    let Some(mounted) = mounted("a_full_disk", &folder, 16 * MIB) else { return };
    let path = mounted.join("data");
    let held = Arc::new(Held::make(&path).expect("the file system is writable"));
    let error =
        lay_out(&held, Bytes::mib(64), &Data::Random, 1, &Control::none()).expect_err("it cannot fit");
    let text = error.to_string();
    assert!(matches!(error, EngineError::NoSpace { .. }), "{text}");
    assert!(text.contains("data") && text.contains("64 MiB") && text.contains("free"), "{text}");
    assert_eq!(fs::metadata(&path).map_or(0, |file| file.len()), 0, "nothing half-made is left");
}

#[test]
fn writes_that_find_the_disk_full_are_failures() {
    let folder = folder!("full-run");
    let Some(mounted) = mounted("writes_that_find", &folder, 16 * MIB) else { return };
    let path = mounted.join("data");
    fs::write(&path, b"").expect("ours");
    let job = Job {
        mix: Mix::WRITE,
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes::kib(64)),
        ..counted(Engine::Psync, 1, 1024, 64 * MIB)
    };
    let outcome = run(&job, &path).expect("failures are part of the outcome");
    assert_eq!(outcome.failures[0].errno, libc::ENOSPC, "{:?}", outcome.failures);
    assert!(outcome.write.latency.count > 0);
    // One write may only half fit: a failure of another kind.
    let failed: u64 = outcome.failures.iter().map(|failure| failure.count).sum();
    assert_eq!(outcome.write.latency.count + failed, 1024);
}

#[test]
fn the_stop_flag_ends_every_engine_with_the_outcome_so_far() {
    let (_folder, path) = data(folder!("stop"), 4 * MIB);
    for engine in engines() {
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, ..Control::none() };
        let job = Job { runtime: Some(Nanos::secs(600)), time_based: true, ..Job::default() };
        let job = Job { engine, queue_depth: 8, threads: 2, ..job };
        let end = || stop.store(true, Ordering::Relaxed);
        let result = meanwhile(300, end, || run_with(&job, &path, &control));
        let Some(outcome) = come("the_stop_flag", result) else { continue };
        assert!(outcome.interrupted && outcome.ios() > 0, "{engine:?}");
        assert!(outcome.caveats.iter().any(|caveat| matches!(caveat, Caveat::Interrupted { .. })));
    }
}

#[test]
fn a_stop_during_a_start_delay_and_a_slow_schedule_is_heeded() {
    let (_folder, path) = data(folder!("stop-waits"), 4 * MIB);
    let slow = Rate { iops: 0.001, arrival: Arrival::Regular };
    let delayed = Job { start_delay: Nanos::secs(600), ..Job::default() };
    let paced = |engine| Job { engine, queue_depth: 4, rate: Some(slow), ..Job::default() };
    for job in [delayed, paced(Engine::Psync), paced(Engine::Libaio)] {
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, ..Control::none() };
        let end = || stop.store(true, Ordering::Relaxed);
        let result = meanwhile(200, end, || run_with(&job, &path, &control));
        let outcome = result.expect("an interrupted run has an outcome");
        assert!(outcome.interrupted, "{job:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let (folder, path) = data(folder!("refused"), 4 * MIB);
    let cases: Vec<(Job, &str)> = vec![
        (Job { threads: 0, ..Job::default() }, "at least one"),
        (Job { cpus: Some(vec![100_000]), ..Job::default() }, "CPUs"),
        (Job { engine: Engine::Libaio, queue_depth: 100_000_000, ..Job::default() }, "lower the depth"),
        (Job { size: Some(Amount::Bytes(Bytes::gib(9))), ..Job::default() }, "lower"),
        (Job { rate: Some(Rate { iops: 0.0, arrival: Arrival::Regular }), ..Job::default() }, "ask for more"),
    ];
    for (job, remedy) in cases {
        let error = run(&job, &path).expect_err(remedy).to_string();
        assert!(error.contains(remedy), "{error}");
    }
    let gone = folder.join("gone");
    let target = TargetName { kind: TargetKind::File, path: gone.clone() };
    let (none, files) = (Storage::default(), vec![vec![gone]]);
    let result = iostack_engine::run_job(&Job::default(), &target, &none, files, &Control::none());
    let error = result.expect_err("there is no such file").to_string();
    assert!(error.contains("cannot find") && error.contains("gone"), "{error}");
}

#[test]
fn what_is_held_is_written_whatever_has_its_name_by_now() {
    let folder = folder!("renamed");
    let precious = folder.join("precious");
    fs::write(&precious, vec![42; 65536]).expect("ours");
    for engine in engines() {
        let path = folder.join(format!("{engine:?}").replace(|c: char| !c.is_alphanumeric(), ""));
        let held = Arc::new(Held::make(&path).expect("the build folder is writable"));
        fs::remove_file(&path).expect("just made");
        std::os::unix::fs::symlink(&precious, &path).expect("the name is free");
        lay_out(&held, Bytes::mib(1), &Data::Random, 1, &Control::none()).expect("there is room");
        let job = Job { mix: Mix::WRITE, ..counted(engine, 4, 16, MIB) };
        let work = Work::on(job, &held, held.storage().expect("it is held"));
        let result = iostack_engine::run(&[work], &Control::none()).map(|mut outcomes| outcomes.remove(0));
        let Some(outcome) = come("what_is_held_is_written", result) else { continue };
        assert_eq!(outcome.write.latency.count, 16, "{engine:?}");
        assert_eq!(fs::read(&precious).expect("still there"), vec![42; 65536], "{engine:?}");
    }
}
