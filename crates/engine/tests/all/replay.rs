//! A trace is done as it was recorded: the same I/Os, in order, at their times.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use crate::common::{MIB, data, work};
use iostack_engine::{Control, Work};
use iostack_model::*;
use iostack_testkit::folder;
use iostack_workload::TraceFormat;
use iostack_workload::trace::{Recording, kept, open};

const BOTH: Mix = Mix { read: 50, write: 49, trim: 1 };

/// 40 I/Os and 4 flushes, 5 ms apart.
fn text() -> String {
    let line = |at: u64| {
        let (us, what) = (at * 5_000, ["read", "write", "read", "trim"][(at % 4) as usize]);
        let flush = if at % 10 == 9 { format!("{us} d sync 0 0\n") } else { String::new() };
        format!("{us} d {what} {} {}\n{flush}", at * 8192, 4096 * (1 + at % 2))
    };
    "fio version 3 iolog\n".to_owned() + &(0..40).map(line).collect::<String>()
}

fn replay(recorded: Recorded, job: Job, path: &Path) -> Work {
    let trace = open(Box::new(Cursor::new(text().into_bytes())), TraceFormat::FioIolog, "t");
    let recording = Recording::read(kept(trace, &recorded)).expect("it is sound");
    let logs = LogRequest { trace: Some("t".into()), ..LogRequest::default() };
    let (mix, block_sizes) = (BOTH, BlockSizes::all(recording.largest()));
    let job = Job { mix, block_sizes, access: Access::Sequential, logs, recorded: Some(recorded), ..job };
    Work { recording: Some(Arc::new(recording)), ..work(job, path) }
}

fn run(work: &Work) -> Outcome {
    let works = std::slice::from_ref(work);
    iostack_engine::run(works, &Control::none()).expect("it runs").remove(0)
}

fn fast() -> Recorded {
    Recorded { speed: None, ..Recorded::default() }
}

#[test]
fn each_io_of_the_trace_is_done_at_its_place_and_each_flush_in_its_turn() {
    let (_folder, path) = data(folder!("replay"), MIB);
    for (engine, queue_depth) in [(Engine::Psync, 1), (Engine::Libaio, 1), (Engine::Libaio, 8)] {
        let outcome = run(&replay(fast(), Job { engine, queue_depth, ..Job::default() }, &path));
        let seen = [&outcome.read, &outcome.write, &outcome.trim].map(|flow| flow.latency.count);
        assert_eq!((seen, outcome.sync.count, outcome.failures.len()), ([20, 10, 10], 4, 0), "{engine:?}");
        // A flush waits for what is in flight and holds up what comes behind it: the tens are kept apart.
        let mut tens: Vec<Vec<u64>> = vec![Vec::new()];
        let mut log = outcome.log.clone();
        log.sort_by_key(|entry| entry.time);
        for entry in log {
            if entry.is_flush() {
                tens.push(Vec::new());
            } else {
                tens.last_mut().expect("one at least").push(entry.offset / 8192);
            }
        }
        let wanted: Vec<Vec<u64>> = [0..10, 10..20, 20..30, 30..40, 0..0].map(Iterator::collect).to_vec();
        for ten in &mut tens {
            ten.sort_unstable();
        }
        assert_eq!(tens, wanted, "{engine:?} at {queue_depth}");
    }
}

#[test]
fn the_times_are_kept_and_a_factor_divides_them() {
    let (_folder, path) = data(folder!("replay-times"), MIB);
    let usual = (1.0, Nanos::millis(195));
    let ring = iostack_engine::io_uring_usable().then_some((Engine::IO_URING, usual));
    if ring.is_none() {
        println!("SKIPPED the_times_are_kept_and_a_factor_divides_them: no io_uring; libaio was tried");
    }
    let libaio = [usual, (5.0, Nanos::millis(39))].map(|asked| (Engine::Libaio, asked));
    for (engine, (speed, least)) in ring.into_iter().chain(libaio) {
        let recorded = Recorded { speed: Some(speed), ..Recorded::default() };
        let outcome = run(&replay(recorded, Job { engine, queue_depth: 8, ..Job::default() }, &path));
        // What has ended is seen before the next I/O is due, 5 ms later.
        let half = outcome.latency().quantile_ns(0.5).expect("40 I/Os");
        assert!(speed > 1.0 || half < 2_500_000, "{engine:?}: half of them take {half} ns");
        assert_eq!((outcome.ios(), outcome.sync.count), (40, 4));
        assert!(outcome.elapsed >= least, "{} at speed {speed}", outcome.elapsed);
        // Nothing begins before its time.
        for entry in outcome.log.iter().filter(|entry| !entry.is_flush()) {
            let due = (entry.offset / 8192 * 5_000_000) as f64 / speed;
            let begun = entry.time.0 - entry.latency.0;
            assert!(begun as f64 >= due - 2_000.0, "{} begun at {begun}, due {due}", entry.offset);
        }
    }
}

#[test]
fn passes_threads_limits_and_what_is_left_out_count() {
    let (_folder, path) = data(folder!("replay-counts"), MIB);
    let skip = [false, true, true, true];
    let ramped = Job { ramp: Nanos::millis(60), ..Job::default() };
    for (recorded, job, ios, flushes) in [
        (fast(), Job { loops: 3, ..Job::default() }, 120, 12),
        (fast(), Job { threads: 2, ..Job::default() }, 80, 8),
        (fast(), Job { io_count: Some(7), ..Job::default() }, 7, 0),
        (fast(), Job { io_count: Some(15), ..Job::default() }, 15, 1),
        (Recorded { speed: Some(1.0), ..fast() }, ramped, 40, 4),
        (Recorded { skip, ..fast() }, Job::default(), 20, 0),
        (Recorded { speed: Some(1e6), ..fast() }, Job { loops: 3, ..Job::default() }, 120, 12),
    ] {
        let outcome = run(&replay(recorded, job, &path));
        assert_eq!((outcome.ios(), outcome.sync.count), (ios, flushes), "{:?}", outcome.job);
    }
}
