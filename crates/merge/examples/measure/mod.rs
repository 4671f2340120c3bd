//! What did a load get, and what did it cost?

use std::sync::Barrier;
use std::time::{Duration, Instant};

pub(crate) const BLOCK: usize = 4096;

/// Of one run.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) iops: f64,
    /// Processor time of this process for each request, us; kernel threads that work for it are not in it.
    pub(crate) cpu_us: f64,
}

/// Processor time of this process, s, in steps of 10 ms: fields 14 and 15 of `/proc/self/stat`, proc(5).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("proc is mounted");
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Runs a load, which returns how many requests it made.
pub(crate) fn measure(load: impl FnOnce() -> u64) -> Outcome {
    let (cpu, began) = (cpu_seconds(), Instant::now());
    let count = load() as f64;
    let outcome_seconds = began.elapsed().as_secs_f64();
    Outcome { iops: count / outcome_seconds, cpu_us: (cpu_seconds() - cpu) * 1e6 / count }
}

/// As many threads, each reading: their requests.
pub(crate) fn threads(count: u64, seconds: f64, one: impl Fn(u64, Instant) -> u64 + Sync) -> u64 {
    let start = Barrier::new(usize::try_from(count).expect("few threads"));
    std::thread::scope(|threads| {
        let list: Vec<_> = (0..count)
            .map(|index| {
                let (start, one) = (&start, &one);
                threads.spawn(move || {
                    start.wait();
                    one(index, Instant::now() + Duration::from_secs_f64(seconds))
                })
            })
            .collect();
        list.into_iter().map(|thread| thread.join().expect("no load panics")).sum()
    })
}

pub(crate) fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}
