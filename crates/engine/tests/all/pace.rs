//! An open loop keeps its schedule, and what waited counts as latency.

use std::process::Command;
use std::time::Duration;

use crate::common::{MIB, counted, data, mounted, run};
use iostack_model::{Arrival, Caveat, Engine, Job, Mix, Nanos, Rate, Think};
use iostack_testkit::folder;

fn at(iops: f64) -> Rate {
    Rate { iops, arrival: Arrival::Regular }
}

#[test]
fn no_io_is_submitted_before_it_is_due() {
    let (_folder, path) = data(folder!("due"), 4 * MIB);
    for engine in [Engine::Psync, Engine::Libaio, Engine::IO_URING] {
        let job = Job { rate: Some(at(1000.0)), ..counted(engine, 8, 200, 4 * MIB) };
        let outcome = run(&job, &path).expect("a plain file");
        assert_eq!(outcome.ios(), 200, "{engine:?}");
        assert!(outcome.elapsed >= Nanos::millis(199), "{engine:?} {}", outcome.elapsed);
    }
}

#[test]
fn thinking_is_no_latency_and_no_io_is_lost() {
    let (_folder, path) = data(folder!("think"), 4 * MIB);
    for engine in [Engine::Psync, Engine::Libaio, Engine::IO_URING] {
        let think = Think { time: Nanos::millis(20), every: 10, spin: Nanos::millis(1) };
        let job = Job { think: Some(think), ..counted(engine, 1, 100, 4 * MIB) };
        let outcome = run(&job, &path).expect("a plain file");
        assert_eq!(outcome.ios(), 100);
        assert!(outcome.elapsed >= Nanos::millis(9 * 20), "{engine:?} {}", outcome.elapsed);
        let latencies = Nanos(outcome.read.latency.sum_ns);
        assert!(latencies + Nanos::millis(9 * 20) <= outcome.elapsed, "{latencies} {}", outcome.elapsed);
    }
}

#[test]
fn a_rate_beyond_reach_is_said() {
    let (_folder, path) = data(folder!("beyond"), 4 * MIB);
    let job = Job { rate: Some(at(1e9)), ..counted(Engine::Psync, 1, 1000, 4 * MIB) };
    let outcome = run(&job, &path).expect("a plain file");
    assert_eq!(outcome.ios(), 1000);
    assert!(outcome.caveats.iter().any(|caveat| matches!(caveat, Caveat::RateMissed { .. })));
}

/// A file system frozen for 300 ms: a closed loop would see one slow I/O; those that were due meanwhile all waited.
#[test]
fn a_stall_costs_every_io_that_was_due_meanwhile() {
    let folder = folder!("stall");
    let Some(mounted) = mounted("a_stall_costs", &folder, 32 * MIB) else { return };
    let path = mounted.join("data");
    std::fs::write(&path, vec![1; 4 << 20]).expect("it has room");
    let freeze = |flag: &str| {
        Command::new("fsfreeze")
            .arg(flag)
            .arg(mounted.as_os_str())
            .status()
            .is_ok_and(|status| status.success())
    };
    for engine in [Engine::Psync, Engine::Libaio] {
        let job =
            Job { mix: Mix::WRITE, rate: Some(at(1000.0)), loops: 2, ..counted(engine, 4, 2000, 4 * MIB) };
        let (outcome, frozen) = std::thread::scope(|scope| {
            let freezer = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                let frozen = freeze("-f");
                std::thread::sleep(Duration::from_millis(300));
                frozen && freeze("-u")
            });
            let outcome = run(&job, &path).expect("a plain file");
            (outcome, freezer.join().expect("it only runs a command"))
        });
        if !frozen {
            println!("SKIPPED a_stall_costs: fsfreeze is not to be had");
            return;
        }
        assert_eq!(outcome.ios(), 2000);
        let waited = outcome
            .write
            .latency
            .counts
            .iter()
            .filter(|&&(bin, _)| iostack_model::bin_middle(bin as usize) > 50_000_000);
        let waited: u64 = waited.map(|&(_, count)| count).sum();
        assert!(waited >= 200, "{engine:?}: {waited} waited longer than 50 ms");
        // Waiting for its turn is latency, but not depth.
        assert!(outcome.depth_achieved <= 4.01, "{engine:?} {}", outcome.depth_achieved);
    }
}
