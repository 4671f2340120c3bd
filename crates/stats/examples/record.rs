//! What does one record into the histogram cost? `cargo run --release --example record [COUNT]`.
//!
//! Latencies come from a small generator, drawn before the clock starts, spread over four octaves as those of a device
//! are. Prints nanoseconds per record of each of ten passes, and the sum of all samples, which shows that the work was
//! done and is the same on every machine.

use std::hint::black_box;
use std::time::Instant;

use iostack_stats::Recorder;

/// Samples drawn once; a power of two that stays in the first-level cache.
const DRAWN: usize = 1024;
const PASSES: usize = 10;

fn main() {
    let typed = std::env::args().nth(1);
    let count: usize = match typed.as_deref().map_or(Ok(20_000_000), str::parse) {
        Ok(count) if count > 0 => count,
        _ => {
            eprintln!("`{}` is not a count of records above 0", typed.unwrap_or_default());
            std::process::exit(2);
        }
    };
    let samples = draw();
    let mut recorder = Box::new(Recorder::new());
    let mut passes = Vec::with_capacity(PASSES);
    for _ in 0..PASSES {
        let began = Instant::now();
        for index in 0..count {
            recorder.record(black_box(samples[index % DRAWN]));
        }
        passes.push(began.elapsed().as_nanos() as f64 / count as f64);
    }
    let bins = recorder.bins();
    assert_eq!(bins.count, (count * PASSES) as u64, "a record was lost");
    println!("{{\"ns_per_record\":{passes:?},\"checksum\":{}}}", bins.sum_ns);
}

/// 8 us to 128 us, most of them short.
fn draw() -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut sample = || {
        let octave = 8_000 << (next() % 16).trailing_zeros().min(3);
        octave + next() % octave
    };
    (0..DRAWN).map(|_| sample()).collect()
}
