//! A load to be counted: runs one job on one file, so that a single-stepper (`iostack cost`) can count what an I/O costs in
//! user space, with nothing of the program around it.
//!
//! ```text
//! cargo run --release -p iostack-engine --example instructions -- FILE engine=io_uring queue_depth=32 runtime=10s
//! ```
//!
//! Options are those of `iostack run` or of fio.

use std::path::PathBuf;
use std::process::ExitCode;

use iostack_engine::{Control, run_job};
use iostack_model::{Job, Nanos, Outcome};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, options @ ..] = arguments.as_slice() else {
        eprintln!("FILE [OPTION=VALUE]..");
        return ExitCode::from(2);
    };
    match job(options).and_then(|job| run(&job, file)) {
        Ok(outcome) => {
            print(&outcome);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn job(options: &[String]) -> Result<Job, String> {
    let mut job = Job { time_based: true, ..Job::default() };
    for option in options {
        let (name, value) = option.split_once('=').ok_or_else(|| format!("`{option}` is no OPTION=VALUE"))?;
        iostack_workload::set_option(&mut job, name, value).map_err(|error| error.to_string())?;
    }
    Ok(job)
}

fn run(job: &Job, file: &str) -> Result<Outcome, String> {
    let target = iostack_host::resolve(file).map_err(|error| error.to_string())?;
    let storage = iostack_host::storage(&target.path).map_err(|error| error.to_string())?;
    let files = vec![vec![PathBuf::from(file)]; job.threads as usize];
    run_job(job, &target, &storage, files, &Control::none()).map_err(|error| error.to_string())
}

fn print(outcome: &Outcome) {
    let latency = outcome.latency();
    println!("{} I/Os, {:.0} IOPS, depth {:.2}", outcome.ios(), outcome.rate(), outcome.depth_achieved);
    println!(
        "p50 {} p99 {} startup {} syscalls {} cpu {} clocks/io {:.0}",
        Nanos(latency.quantile_ns(0.5).unwrap_or(0)),
        Nanos(latency.quantile_ns(0.99).unwrap_or(0)),
        outcome.startup,
        outcome.cpu.syscalls,
        outcome.cpu.total(),
        outcome.cpu.clocks_per_io,
    );
    outcome.caveats.iter().for_each(|caveat| println!("- {}", iostack_doubt::says(caveat)));
}
