//! A load to be counted: runs one engine on one file for some seconds, so that a single-stepper (`iostack cost`) can
//! count what an I/O costs in user space.
//!
//! ```text
//! cargo run --release -p iostack-engine --example instructions -- FILE ENGINE DEPTH SUBMIT SECONDS [THREADS] [DIRECT]
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use iostack_engine::{Control, run_job};
use iostack_model::{Batch, Engine, Job, Nanos, Outcome};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, engine, depth, submit, seconds, rest @ ..] = arguments.as_slice() else {
        eprintln!("FILE psync|pvsync2|libaio|io_uring|mmap DEPTH SUBMIT SECONDS [THREADS] [DIRECT]");
        return ExitCode::from(2);
    };
    let Some(engine) = engine_of(engine) else {
        eprintln!("`{engine}` is not an engine");
        return ExitCode::from(2);
    };
    let number = |text: &String| text.parse::<u32>().unwrap_or(1);
    let threads = rest.first().map_or(1, number);
    let job = Job {
        engine,
        queue_depth: number(depth),
        batch: Batch { submit: number(submit), complete_min: number(submit) },
        runtime: Some(Nanos::secs(u64::from(number(seconds)))),
        time_based: true,
        threads,
        direct: rest.get(1).map_or(1, number) == 1,
        ..Job::default()
    };
    let path = PathBuf::from(file);
    let result = iostack_host::resolve(file)
        .and_then(|target| Ok((iostack_host::storage(&path)?, target)))
        .map_err(|error| error.to_string())
        .and_then(|(storage, target)| {
            let files = vec![vec![path]; threads as usize];
            run_job(&job, &target, &storage, files, &Control::none()).map_err(|error| error.to_string())
        });
    match result {
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

fn engine_of(name: &str) -> Option<Engine> {
    Some(match name {
        "psync" => Engine::Psync,
        "pvsync2" => Engine::Pvsync2 { hipri: false },
        "libaio" => Engine::Libaio,
        "io_uring" => Engine::IO_URING,
        "mmap" => Engine::Mmap,
        _ => return None,
    })
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
    outcome.caveats.iter().for_each(|caveat| println!("- {caveat}"));
}
