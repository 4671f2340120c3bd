//! Does a file that chooses its way cost anything against plain calls?
//!
//! ```text
//! cargo run --release --package iostack-merge --example auto -- PATH [SECONDS [ROUNDS]]
//! cargo run --release --package iostack-merge --example auto -- simulated [SECONDS [ROUNDS]]
//! ```
//!
//! Reads random blocks of 4 KiB around the page cache with 1 to 32 threads, in turn by `Policy::Pread` and by `Policy::Auto`, and
//! prints the medians of the rounds and of their ratios. `simulated` is a device in memory that serves one command at a time,
//! 112 us and 93.6 us for each request in it. Only reads.

mod measure;
#[path = "measure/reads.rs"]
mod reads;

use iostack_batch::BatchCost;
use iostack_merge::{Buffer, File, Options, Policy, Simulated};
use measure::{BLOCK, Outcome, measure, threads};
use reads::{print, read_until};

fn open(target: &str, policy: Policy) -> std::io::Result<File> {
    let options = Options { direct: true, policy, ..Options::default() };
    if target == "simulated" {
        let law = BatchCost { fixed_ns: 112_000.0, each_ns: 93_600.0 };
        return Ok(options.simulated(&Simulated::new(1 << 24, law)));
    }
    options.open(target)
}

fn run(file: &File, callers: u64, seconds: f64) -> Outcome {
    let blocks = file.len().expect("the target has a length") / BLOCK as u64;
    measure(|| {
        threads(callers, seconds, |index, end| {
            let read = |buffer: &mut [u8], offset| file.read_exact_at(buffer, offset);
            read_until(end, blocks, index, &mut Buffer::new(BLOCK), read)
        })
    })
}

fn main() -> std::io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: f64| {
        given.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(default)
    };
    let target = given.first().expect("a file or device to read, or `simulated`");
    let (seconds, rounds) = (number(1, 1.0), number(2, 5.0) as usize);
    println!("{target}: {rounds} rounds of {seconds} s");
    println!("{:22} {:>17} {:>17}   {:>11}", "", "pread", "auto", "ratio");
    println!(
        "{:22} {:>9} {:>7} {:>9} {:>7}   {:>5} {:>5}",
        "", "IOPS", "cpu us", "IOPS", "cpu us", "IOPS", "cpu"
    );
    for callers in [1, 2, 8, 32] {
        let (plain, auto) = (open(target, Policy::Pread)?, open(target, Policy::Auto)?);
        let (mut plains, mut autos) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            plains.push(run(&plain, callers, seconds));
            autos.push(run(&auto, callers, seconds));
        }
        print(&format!("{callers} threads"), &plains, &autos);
        let advice = auto.advice();
        println!("    {} because {}", advice.policy.name(), advice.why);
    }
    Ok(())
}
