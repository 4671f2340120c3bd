//! Does a group of reads pay on this device?
//!
//! Reads 4 KiB blocks at random places of a file or block device, in turns by plain calls and by groups of `read_many`, and prints
//! both, their ratio, and what a read costs of processor time in the calling threads. Nothing is written.
//!
//!     head -c 1G /dev/urandom > data; sync
//!     cargo run --release --package iostack-merge --example read_many -- data [GROUP [THREADS [ROUNDS]]]
//!
//! A machine that does other things meanwhile makes the figures worth less; look at how far the rounds lie apart.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostack_merge::{File, Options, Policy};

const BLOCK: usize = 4096;

/// Direct I/O wants memory at a multiple of the device's block.
#[derive(Clone)]
#[repr(align(4096))]
struct Block([u8; BLOCK]);

/// What one turn gave.
#[derive(Clone, Copy)]
struct Turn {
    iops: f64,
    cpu_us: f64,
    checksum: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("name a file or block device of some size: read_many PATH [GROUP [THREADS [ROUNDS]]]")?;
    let mut number = |otherwise: usize| arguments.next().map_or(Ok(otherwise), |text| text.parse::<usize>());
    let (group, threads, rounds) = (number(4)?.max(1), number(2)?.max(1), number(7)?.max(1));

    let options = Options { direct: true, ..Options::default() };
    let plain = Options { policy: Policy::Pread, ..options.clone() }.open(&path)?;
    let grouped = Options { policy: Policy::Ring, ..options }.open(&path)?;
    let blocks = grouped.len()? / BLOCK as u64;
    if blocks == 0 {
        return Err(format!("`{path}` is smaller than a block of {BLOCK} bytes").into());
    }
    println!("{path}: {blocks} blocks, {threads} threads, groups of {group} by {}", grouped.backend());
    println!(
        "{:>5} {:>13} {:>13} {:>13} {:>13}",
        "round", "pread IOPS", "CPU us/read", "group IOPS", "CPU us/read"
    );
    let (mut calls, mut groups) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let seed = round as u64;
        calls.push(turn(&plain, 1, threads, blocks, seed)?);
        groups.push(turn(&grouped, group, threads, blocks, seed)?);
        let (call, group) = (calls[round], groups[round]);
        println!(
            "{round:>5} {:>13.0} {:>13.2} {:>13.0} {:>13.2}",
            call.iops, call.cpu_us, group.iops, group.cpu_us
        );
    }
    let (call, many) = (median(&calls, |turn| turn.iops), median(&groups, |turn| turn.iops));
    let (call_us, many_us) = (median(&calls, |turn| turn.cpu_us), median(&groups, |turn| turn.cpu_us));
    println!("medians: {:.2} times the IOPS, {:.2} times the CPU per read", many / call, many_us / call_us);
    let checksum = calls.iter().chain(&groups).fold(0, |sum, turn| sum ^ turn.checksum);
    println!("checksum of what was read: {checksum:016x}");
    Ok(())
}

fn median(turns: &[Turn], of: impl Fn(&Turn) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Half a second of all threads.
fn turn(file: &File, group: usize, threads: usize, blocks: u64, seed: u64) -> Result<Turn, Box<dyn Error>> {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let each = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|index| {
                let (stop, seed) = (&stop, seed * threads as u64 + index as u64 + 1);
                scope.spawn(move || read_until(stop, file, group, blocks, seed))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect::<Vec<_>>()
    });
    let seconds = start.elapsed().as_secs_f64();
    let (mut reads, mut cpu_ns, mut checksum) = (0, 0, 0);
    for result in each {
        let (count, ns, sum) = result?;
        reads += count;
        cpu_ns += ns;
        checksum ^= sum;
    }
    Ok(Turn { iops: reads as f64 / seconds, cpu_us: cpu_ns as f64 / 1e3 / reads as f64, checksum })
}

/// Reads, processor time and checksum of one thread.
fn read_until(
    stop: &AtomicBool,
    file: &File,
    group: usize,
    blocks: u64,
    seed: u64,
) -> std::io::Result<(u64, u64, u64)> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut offset = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % blocks * BLOCK as u64
    };
    let mut memory = vec![Block([0; BLOCK]); group];
    let (mut reads, mut checksum) = (0, 0);
    let before = cpu_ns()?;
    while !stop.load(Ordering::Relaxed) {
        if group == 1 {
            file.read_exact_at(&mut memory[0].0, offset())?;
        } else {
            let mut list: Vec<(u64, &mut [u8])> =
                memory.iter_mut().map(|block| (offset(), &mut block.0[..])).collect();
            file.read_many(&mut list)?;
        }
        reads += group as u64;
        checksum = memory.iter().fold(checksum, |sum, block| sum ^ u64::from(block.0[0]) << (reads % 56));
    }
    Ok((reads, cpu_ns()? - before, checksum))
}

/// Time that the calling thread has run, by the kernel's scheduler.
fn cpu_ns() -> std::io::Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0))
}
