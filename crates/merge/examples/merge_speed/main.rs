//! What does the library itself cost, on a device that costs nothing?
//!
//! ```text
//!   cargo run --release -p iostack-merge --example merge_speed [NAME | tiny]
//!   cargo run --release -p iostack-merge --example merge_speed count NAME COUNT
//! ```
//!
//! Reads of 64 bytes from a simulated device in memory whose commands take no time: what is left is the call, the policy, the
//! lane, and copying 64 bytes. Prints a line per figure: name, unit, each sample, and a checksum of the work, which is the same on
//! every machine. `tiny` rehearses; `count` only does the work of one thread, for a program that counts instructions: two counts,
//! and the difference is what one read costs.

mod work;

use std::time::Instant;

use iostack_merge::{File, Policy};
use work::{FIGURES, file, one_by_one};

/// Two threads on one file: what meeting each other costs.
const SHARED: &[(&str, Policy)] = &[
    ("pread_by_2", Policy::Pread),
    ("auto_by_2", Policy::Auto),
    ("stm_by_2", Policy::Stm),
    ("leader_follower_by_2", Policy::LeaderFollower),
    ("hybrid_by_2", Policy::Hybrid),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name, count] = arguments.as_slice()
        && verb == "count"
    {
        let sum = work::counted(name, count.parse().expect("COUNT is a number"));
        println!("{name} checksum {sum:016x}");
        return;
    }
    let (reads, samples) =
        if arguments.iter().any(|argument| argument == "tiny") { (400, 1) } else { (400_000, 7) };
    let wanted = arguments.first().filter(|name| *name != "tiny");
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    for (name, policy, work) in FIGURES.iter().filter(|(name, ..)| is_wanted(name)) {
        let file = file(*policy);
        print(name, samples, reads, || work(&file, reads));
    }
    for (name, policy) in SHARED.iter().filter(|(name, _)| is_wanted(name)) {
        let file = file(*policy);
        print(name, samples, reads, || by_two(&file, reads));
    }
}

/// Nanoseconds of a read.
fn print(name: &str, samples: u32, reads: u64, work: impl Fn() -> u64) {
    let mut sum = 0;
    print!("merge.{name} ns");
    for _ in 0..samples {
        let began = Instant::now();
        sum = work();
        print!(" {:.1}", began.elapsed().as_secs_f64() * 1e9 / reads as f64);
    }
    println!(" checksum {sum:016x}");
}

fn by_two(file: &File, reads: u64) -> u64 {
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|_| scope.spawn(|| one_by_one(file, reads / 2)));
        halves.map(|half| half.join().expect("it only reads")).iter().sum()
    })
}
