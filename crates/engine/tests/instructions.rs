//! What an I/O costs the generator in user space, in instructions: these repeat where times do not, so they may be a gate.
//!
//! The load is this test program itself, started again to run one ignored test; `iostack_stepcount` executes its thread
//! one instruction at a time. The engine is optimised here as in a release (root `Cargo.toml`); the plan keeps its overflow
//! checks and nothing is inlined at link time, so that a release costs less. Where tracing is not permitted, the tests
//! skip aloud.
#![cfg(target_arch = "x86_64")]

#[expect(dead_code, reason = "each test file uses its own part")]
#[path = "all/common.rs"]
mod common;

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::{data, run};
use iostack_model::{Job, Nanos};
use iostack_stepcount::{Question, StepError, Subject, UserCost, cost};
use iostack_testkit::folder;

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
        instructions: if hold_clock { 60_000 } else { 3_000 },
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

/// The columns of the table in `bench/cost.md`. User instructions that an I/O may cost are in `DEFAULT_MOST`:
/// 2 % above the most of two counts (91.8, 152.8, 151.9 and 111.6). The last wavers by how many come at once.
const ENGINES: [&str; 4] = [
    "engine=psync",
    "engine=io_uring",
    "engine=io_uring queue_depth=32",
    "engine=io_uring queue_depth=32 batch=16 batch_complete=16",
];
/// fio's default order, which visits each block once.
const DEFAULT_ORDER: &str = "distribution=permutation";
const DEFAULT_MOST: [f64; 4] = [94.0, 156.0, 155.0, 114.0];
/// Other draws, which may cost a third more: 132 with psync, and in batches 160.
const OTHERS: [&str; 5] = [
    "distribution=uniform",
    "distribution=permutation mix=70/30",
    "distribution=zipf:1.1",
    "distribution=pareto:0.2",
    "block_size=4k/60:8k/40",
];
const OTHERS_MORE: f64 = 1.42;

/// Complaint about a row of the table that costs more than it may; `None` where nobody counts.
fn dear(path: &Path, drawn: &str, more: f64) -> Option<Vec<String>> {
    let mut dear = Vec::new();
    for (engine, most) in ENGINES.iter().zip(DEFAULT_MOST.map(|most| most * more)) {
        let options = format!("{engine} {drawn}");
        let cost = count("an_io_costs", path, &options, true)?;
        assert!(cost.instructions_per_io > 20.0, "too few to be true: {options}");
        if cost.instructions_per_io > most {
            dear.push(format!("{options}: {:.1}, and {most} are allowed", cost.instructions_per_io));
        }
    }
    Some(dear)
}

#[test]
fn an_io_in_fios_default_order_costs_at_most_94_to_156_instructions() {
    let (_folder, path) = data(folder!("instructions"), FILE_BYTES);
    let Some(dear) = dear(&path, DEFAULT_ORDER, 1.0) else { return };
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}

#[test]
#[ignore = "slow: some minutes"]
fn whatever_is_drawn_an_io_costs_at_most_42_percent_more() {
    let (_folder, path) = data(folder!("instructions-others"), FILE_BYTES);
    let mut all = Vec::new();
    for drawn in OTHERS {
        let Some(dear) = dear(&path, drawn, OTHERS_MORE) else { return };
        all.extend(dear);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The time is the real one, and the rate so low that a stepped thread keeps up: it sleeps before each I/O.
#[test]
fn an_open_loop_makes_two_calls_an_io_while_it_waits() {
    let (_folder, path) = data(folder!("open-loop-calls"), FILE_BYTES);
    for (engine, most) in [("psync", 2.1), ("io_uring queue_depth=8", 2.1), ("libaio queue_depth=8", 3.1)] {
        let options = format!("engine={engine} rate=25");
        let Some(cost) = count("an_open_loop_makes_two_calls", &path, &options, false) else { return };
        assert!(
            cost.calls_per_io <= most,
            "{options}: {:.2} calls, and {most} are allowed",
            cost.calls_per_io
        );
    }
}
