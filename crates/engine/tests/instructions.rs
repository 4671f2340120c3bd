//! What an I/O costs the generator in user space, in instructions: these repeat where times do not, so they may be a gate.
//!
//! The load is this test program itself, started again to run one ignored test; `iostack_host::step` executes its thread one
//! instruction at a time. The engine is optimised here as in a release (root `Cargo.toml`), which alone makes the figures those of
//! the product. Where tracing is not permitted, the tests skip aloud.
#![cfg(target_arch = "x86_64")]

#[expect(dead_code, reason = "each test file uses its own part")]
mod common;

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::{Directory, run};
use iostack_host::step::{Question, StepError, Subject, UserCost, cost};
use iostack_model::{Job, Nanos};

/// Names the file and the options of the job that `the_load` runs.
const LOAD: &str = "IOSTACK_TEST_LOAD";
const FILE_BYTES: u64 = 64 << 20;

#[test]
#[ignore = "helper: the load of the other tests"]
fn the_load() {
    let Ok(words) = std::env::var(LOAD) else { return };
    let (path, options) = words.split_once(' ').expect("a file and options");
    let mut job = Job { time_based: true, runtime: Some(Nanos::secs(600)), ..Job::default() };
    for option in options.split(' ') {
        let (name, value) = option.split_once('=').expect("an option and its value");
        iostack_workload::set_option(&mut job, name, value).expect("an option that exists");
    }
    run(&job, Path::new(path)).expect("it is ended before this returns");
}

/// Counts a job on a file that is laid out; `None`, said aloud, where tracing is not permitted.
fn count(test: &str, path: &Path, options: &str, hold_clock: bool) -> Option<UserCost> {
    let own = std::env::current_exe().expect("Linux tells");
    let own = own.to_str().expect("cargo names it in ASCII");
    let load = format!("{LOAD}={} {options}", path.display());
    let words = ["env", &load, own, "--ignored", "--exact", "the_load"];
    let answer = cost(&Question {
        subject: Subject::Command { words: words.iter().map(OsString::from).collect(), output: None },
        warm_up: Nanos::millis(500),
        instructions: if hold_clock { 120_000 } else { 20_000 },
        reads: false,
        patience: Nanos::secs(120),
        hold_clock,
        stop: &AtomicBool::new(false),
        talk: &|_| (),
    });
    if let Err(refused @ StepError::Refused { .. }) = &answer {
        println!("SKIPPED {test}: {refused}");
        return None;
    }
    let answer = answer.unwrap_or_else(|error| panic!("{options}: {error}"));
    println!("{options}: {:.1} instructions, {:.2} calls", answer.instructions_per_io, answer.calls_per_io);
    Some(answer)
}

/// User instructions that an I/O may cost, by engine (psync; `io_uring` at depth 1, at 32, and at 32 with 16 in a call) and by what
/// is drawn.
const ENGINES: [&str; 4] = [
    "engine=psync",
    "engine=io_uring",
    "engine=io_uring queue_depth=32",
    "engine=io_uring queue_depth=32 batch=16 batch_complete=16",
];
const MOST: [(&str, [f64; 4]); 6] = [
    ("distribution=uniform", [100.0, 200.0, 210.0, 100.0]),
    ("distribution=permutation", [100.0, 200.0, 210.0, 100.0]),
    ("distribution=permutation mix=70/30", [130.0, 260.0, 273.0, 130.0]),
    ("distribution=zipf:1.1", [130.0, 260.0, 273.0, 130.0]),
    ("distribution=pareto:0.2", [130.0, 260.0, 273.0, 130.0]),
    ("block_size=4k/60:8k/40", [130.0, 260.0, 273.0, 130.0]),
];

#[test]
fn an_io_costs_no_more_instructions_than_the_table_says() {
    let directory = Directory::new("instructions");
    let path = directory.file("data", FILE_BYTES);
    let mut dear = Vec::new();
    for (drawn, most) in MOST {
        for (engine, most) in ENGINES.iter().zip(most) {
            let options = format!("{engine} {drawn}");
            let Some(cost) = count("an_io_costs", &path, &options, true) else { return };
            assert!(cost.instructions_per_io > 20.0, "too few to be true: {options}");
            if cost.instructions_per_io > most {
                dear.push(format!("{options}: {:.1}, and {most} are allowed", cost.instructions_per_io));
            }
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}

#[test]
fn an_open_loop_makes_two_calls_an_io_while_it_waits() {
    let directory = Directory::new("open-loop-calls");
    let path = directory.file("data", FILE_BYTES);
    for (engine, most) in [("psync", 2.1), ("io_uring queue_depth=8", 2.1), ("libaio queue_depth=8", 3.1)] {
        let options = format!("engine={engine} rate=200");
        let Some(cost) = count("an_open_loop_makes_two_calls", &path, &options, false) else { return };
        assert!(
            cost.calls_per_io <= most,
            "{options}: {:.2} calls, and {most} are allowed",
            cost.calls_per_io
        );
    }
}
