//! What does one planned operation cost?
//!
//! Makes COUNT operations of one KIND over BLOCKS blocks of 4 KiB (2^28) in batches of 256, as the engine does, and prints
//! a checksum. Instructions per
//! operation are the difference of two runs, which takes start-up out:
//!
//! ```text
//! for n in 1000000 2000000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/plan_cost uniform $n
//! done
//! ```

use std::process::ExitCode;

use iostack_model::{Access, BlockSizes, Bytes, Distribution, Job, Mix, Order};
use iostack_workload::{Filled, Plan, Region, Rng, fill_buffer, verify};

const KINDS: &str = "uniform permutation zipf hot sequential mixed split buffer verify";

fn job(kind: &str) -> Option<Job> {
    let random = |order, distribution| Access::Random { order, distribution };
    let job = Job::default();
    Some(match kind {
        "uniform" => job,
        "permutation" => Job { access: random(Order::Permutation, Distribution::Uniform), ..job },
        "zipf" => Job { access: random(Order::Independent, Distribution::Zipf { theta: 1.1 }), ..job },
        "hot" => {
            let zone = |access_percent, size_percent| iostack_model::Zone { access_percent, size_percent };
            let zones = Distribution::Zoned(vec![zone(90.0, 10.0), zone(10.0, 90.0)]);
            Job { access: random(Order::Independent, zones), ..job }
        }
        "sequential" => Job { access: Access::Sequential, ..job },
        "mixed" => Job { mix: Mix::reads(70), ..job },
        "split" => {
            let sizes = vec![(Bytes(4096), 60), (Bytes(65_536), 40)];
            let block_sizes = BlockSizes { read: sizes.clone(), write: sizes.clone(), trim: sizes };
            Job { block_sizes, ..job }
        }
        _ => return None,
    })
}

fn operations(job: &Job, count: u64, blocks: u64) -> Result<u64, iostack_workload::WorkloadError> {
    let mut plan = Plan::new(job, Region::new(0, blocks << 12), 1, 0)?;
    let mut ops = Vec::with_capacity(256);
    let mut sum = 0u64;
    for _ in 0..count / 256 {
        ops.clear();
        if plan.fill(&mut ops, 256) == Filled::RegionDone {
            plan.restart();
        }
        // One of each batch: the checksum must not cost more than what it watches.
        sum = ops.last().map_or(sum, |op| sum.wrapping_add(op.offset));
    }
    Ok(sum)
}

/// Blocks of 4 KiB filled, or stamped and checked.
fn buffers(verified: bool, count: u64) -> u64 {
    let (mut buffer, mut rng, mut sum) = (vec![0; 4096], Rng::from_seed(1), 0);
    for block in 0..count {
        if verified {
            verify::stamp(&mut buffer, block * 4096, block, 1);
            sum += verify::check(&buffer, block * 4096).unwrap_or(u64::MAX / count);
        } else {
            fill_buffer(&mut buffer, &iostack_model::Data::Random, &mut rng);
            sum += u64::from(buffer[0]);
        }
    }
    sum
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, count) = match &arguments[..] {
        [kind, count, ..] => (kind.as_str(), count.parse().unwrap_or(0)),
        _ => ("", 0),
    };
    let blocks = arguments.get(2).map_or(Ok(1 << 28), |blocks| blocks.parse()).unwrap_or(0);
    let sum = match (kind, job(kind)) {
        ("buffer" | "verify", _) if count > 0 => Ok(buffers(kind == "verify", count)),
        (_, Some(job)) if count > 0 => operations(&job, count, blocks),
        _ => {
            eprintln!("usage: plan_cost KIND COUNT [BLOCKS], with KIND one of: {KINDS}");
            return ExitCode::from(2);
        }
    };
    match sum {
        Ok(sum) => {
            println!("{kind} {count} checksum {sum}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
