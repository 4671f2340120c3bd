//! Are coroutines cheaper than threads on this device?
//!
//! ```text
//! cargo run --release --package iostack-merge --example scope -- PATH [CALLERS [EXECUTORS [SECONDS [ROUNDS]]]]
//! ```
//!
//! Reads random blocks of 4 KiB around the page cache, in turn with `pread` on a thread for each caller and with coroutines on few
//! executors, and prints the medians of the rounds and of their ratios. Only reads.

mod measure;
#[path = "measure/reads.rs"]
mod reads;
mod sys;

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use iostack_merge::{Buffer, Options};
use measure::{BLOCK, measure, threads};
use reads::{print, read_until};
use sys::scope;

fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: f64| {
        given.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(default)
    };
    let path = given.first().expect("a file or device to read");
    let (callers, executors) = (number(1, 32.0) as u64, number(2, 2.0) as usize);
    let (seconds, rounds) = (number(3, 1.0), number(4, 5.0) as usize);

    let mut open = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::custom_flags(open.read(true), libc::O_DIRECT);
    let plain = open.open(path)?;
    let file = Options { direct: true, ..Options::default() }.open(path)?;
    let blocks = file.len()? / BLOCK as u64;

    let (mut preads, mut scopes) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        preads.push(measure(|| {
            threads(callers, seconds, |index, end| {
                let read = |buffer: &mut [u8], offset| plain.read_exact_at(buffer, offset);
                read_until(end, blocks, index, &mut Buffer::new(BLOCK), read)
            })
        }));
        scopes.push(measure(|| {
            let end = Instant::now() + Duration::from_secs_f64(seconds);
            scope(executors, |s| {
                let start = |index| {
                    let file = &file;
                    s.spawn(move || {
                        let read = |buffer: &mut [u8], offset| file.read_exact_at(buffer, offset);
                        read_until(end, blocks, index, &mut Buffer::new(BLOCK), read)
                    })
                };
                let handles: Vec<_> = (0..callers).map(start).collect();
                handles.into_iter().map(|handle| handle.join().expect("no load panics")).sum()
            })
        }));
    }
    println!(
        "{path}: {callers} callers, {executors} executors by {}, {rounds} rounds of {seconds} s",
        file.backend()
    );
    println!("{:22} {:>17} {:>17}   {:>11}", "", "pread threads", "coroutines", "ratio");
    println!(
        "{:22} {:>9} {:>7} {:>9} {:>7}   {:>5} {:>5}",
        "", "IOPS", "cpu us", "IOPS", "cpu us", "IOPS", "cpu"
    );
    print("", &preads, &scopes);
    println!("a coroutine that does nothing: {:.2} us", spawn_us());
    Ok(())
}

/// What starting, running and ending a coroutine takes.
fn spawn_us() -> f64 {
    let count = 200_000_u32;
    let began = Instant::now();
    scope(1, |s| (0..count).for_each(|_| drop(s.spawn(|| ()))));
    began.elapsed().as_secs_f64() * 1e6 / f64::from(count)
}
