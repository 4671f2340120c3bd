//! What would have come of recorded I/Os?

use iostack_model::{Direction, Job, Mix, Nanos, Outcome};
use iostack_sim::run::{Replay, RunOptions, SimError, replay};
use iostack_sim::sheet::Sheet;
use iostack_workload::{TraceError, TraceIo};

fn io(at_us: u64, direction: Direction, offset: u64) -> TraceIo {
    TraceIo { at: Nanos::micros(at_us), direction, offset, length: 4096, flush: false }
}

fn replayed(ios: &[TraceIo], speed: Option<f64>) -> Result<Outcome, SimError> {
    let sheet =
        Sheet::from_values("zero", &[("zero.latency", "10us"), ("zero.capacity", "1MiB")]).expect("a kind");
    let how = Replay { job: Job { name: "trace".into(), queue_depth: 2, ..Job::default() }, speed };
    let mut trace = ios.iter().map(|&io| Ok(io));
    replay(&sheet, &mut trace, &how, &RunOptions::seeded(1)).map(|ran| ran.outcomes[0].clone())
}

fn four() -> Vec<TraceIo> {
    vec![
        io(0, Direction::Read, 0),
        io(0, Direction::Write, 4096),
        io(100, Direction::Write, 8192),
        TraceIo { at: Nanos::micros(100), direction: Direction::Write, offset: 0, length: 0, flush: true },
        io(2_000_000, Direction::Read, 0),
    ]
}

#[test]
fn each_io_starts_at_its_own_time() {
    let outcome = replayed(&four(), Some(1.0)).expect("replays");
    assert_eq!((outcome.read.latency.count, outcome.write.latency.count, outcome.sync.count), (2, 2, 1));
    assert_eq!((outcome.elapsed, outcome.job.mix), (Nanos(2_000_010_000), Mix::reads(50)));
    assert_eq!(outcome.series.len(), 17);
    let twice = replayed(&four(), Some(2.0)).expect("replays");
    assert_eq!(twice.elapsed, Nanos(1_000_010_000));
    assert_eq!(twice.read.latency.max_ns, 10_000);
}

#[test]
fn without_times_the_depth_decides() {
    let ios: Vec<TraceIo> = (0..100).map(|index| io(index * 1_000_000, Direction::Read, 0)).collect();
    let outcome = replayed(&ios, None).expect("replays");
    assert_eq!(outcome.elapsed, Nanos::micros(500));
    assert!((outcome.depth_achieved - 2.0).abs() < 1e-9);
}

#[test]
fn what_the_device_does_not_hold_is_refused_by_number() {
    let ios = [io(0, Direction::Read, 0), io(1, Direction::Read, 1 << 20)];
    let text = replayed(&ios, Some(1.0)).expect_err("behind the end").to_string();
    assert!(text.contains("I/O 2 of the trace") && text.contains("larger device"), "{text}");
    let text = replayed(&four(), Some(0.0)).expect_err("no speed").to_string();
    assert!(text.contains("above 0"), "{text}");
}

#[test]
fn an_error_in_the_trace_ends_the_replay() {
    let sheet = Sheet::from_values("zero", &[]).expect("a kind");
    let wrong = TraceError {
        path: "t.log".into(),
        line: 7,
        what: "`x` is no offset".into(),
        remedy: "mend it".into(),
    };
    let mut trace = [Ok(io(0, Direction::Read, 0)), Err(wrong)].into_iter();
    let how = Replay { job: Job::default(), speed: Some(1.0) };
    let text = replay(&sheet, &mut trace, &how, &RunOptions::seeded(1)).expect_err("a bad line").to_string();
    assert_eq!(text, "t.log:7: `x` is no offset; mend it");
}
