//! What does counting one I/O cost?
//!
//! `cargo bench -p iostack-stats` measures; as a test (`cargo test`) the same code runs on a tiny input. Prints the median
//! and the smallest of the repetitions in ns, with a checksum of the work. For instructions, which repeat exactly:
//! `valgrind --tool=callgrind BINARY --bench record` and divide by the records.

use std::hint::black_box;
use std::time::Instant;

use iostack_stats::Recorder;

/// Latencies around 80 us over four octaves, in an order that branch prediction cannot learn.
const LATENCIES: usize = 1 << 14;

struct Size {
    records: usize,
    intervals: usize,
    repetitions: usize,
}

/// Does its work and returns how many times, and a checksum.
type RecordBench = fn(&[u64], &Size) -> (usize, u64);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // cargo passes --bench to a benchmark and nothing to a test.
    let measuring = arguments.iter().any(|argument| argument == "--bench");
    let only = arguments.iter().find(|argument| !argument.starts_with("--"));
    let size = if measuring {
        Size { records: 200_000, intervals: 2_000, repetitions: 501 }
    } else {
        Size { records: 1_000, intervals: 3, repetitions: 2 }
    };
    let latencies = latencies();
    let benches: [(&str, RecordBench); 4] =
        [("nothing", nothing), ("record", record), ("overlapped", overlapped), ("interval", interval)];
    for (name, run) in benches {
        if only.is_none_or(|only| only == name) {
            report(name, size.repetitions, || run(&latencies, &size));
        }
    }
}

/// Runs it some times and prints the cost of one of the things it did.
fn report(name: &str, repetitions: usize, run: impl Fn() -> (usize, u64)) {
    let mut costs = Vec::new();
    let mut checksum = 0;
    for _ in 0..repetitions {
        let start = Instant::now();
        let (count, sum) = run();
        costs.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
        checksum = sum;
    }
    costs.sort_by(f64::total_cmp);
    let (least, median) = (costs[0], costs[costs.len() / 2]);
    println!("{name:10} {median:8.2} ns median {least:8.2} ns least   checksum {checksum:016x}");
}

/// The loop alone, to be taken off the others.
fn nothing(latencies: &[u64], size: &Size) -> (usize, u64) {
    let mut sum = 0u64;
    for at in 0..size.records {
        sum = sum.wrapping_add(black_box(latencies[at % LATENCIES]));
    }
    (size.records, sum)
}

/// One record after the other, as fast as they come: each waits for the sum of squares of the one before.
fn record(latencies: &[u64], size: &Size) -> (usize, u64) {
    let mut recorder = Box::new(Recorder::new());
    for at in 0..size.records {
        recorder.record(black_box(latencies[at % LATENCIES]));
    }
    assert_eq!(recorder.count(), size.records as u64);
    (size.records, recorder.sum_ns())
}

/// Four recorders in turn, so that none waits for itself: what a record adds to a loop that does other work as well.
fn overlapped(latencies: &[u64], size: &Size) -> (usize, u64) {
    let mut recorders = vec![Recorder::new(); 4];
    for at in 0..size.records {
        recorders[at % 4].record(black_box(latencies[at % LATENCIES]));
    }
    let mut total = Box::new(Recorder::new());
    for recorder in &recorders {
        total.absorb(recorder);
    }
    assert_eq!(total.count(), size.records as u64);
    (size.records, total.sum_ns())
}

/// Does what the end of an interval costs: p50, p99, absorb, clear.
fn interval(latencies: &[u64], size: &Size) -> (usize, u64) {
    let mut total = Box::new(Recorder::new());
    let mut slice = Box::new(Recorder::new());
    let mut sum = 0;
    for _ in 0..size.intervals {
        // The extremes decide how many buckets are in use; two records cost nothing beside the rest.
        slice.record(black_box(latencies[0].min(20_000)));
        slice.record(320_000);
        sum += black_box(slice.quantile_ns(0.5)).unwrap_or(0) + slice.quantile_ns(0.99).unwrap_or(0);
        total.absorb(&slice);
        slice.clear();
    }
    assert_eq!(total.count(), 2 * size.intervals as u64);
    (size.intervals, sum)
}

fn latencies() -> Vec<u64> {
    let mut state = 1u64;
    let draw = |_| {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let octave = state % 4;
        (20_000 << octave) + (state >> 32) % (20_000 << octave)
    };
    (0..LATENCIES).map(draw).collect()
}
