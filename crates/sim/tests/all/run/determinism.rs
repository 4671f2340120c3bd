//! Does the seed alone decide?

use iostack_model::{Arrival, Engine, Job, Mix, Nanos, Rate};
use iostack_sim::engine::World;
use iostack_sim::run::{About, Ran, RunOptions, run_world};

use crate::run::parts::{Service, Station};

fn ran(seed: u64, idle: bool) -> Ran {
    let mut world = World::new();
    if idle {
        Station::add_named(&mut world, "idle", 3, Service::Fixed(1), (9, false), None);
    }
    let die = Station::add_named(&mut world, "die", 8, Service::Exponential(60_000.0), (seed, true), None);
    Station::add_named(&mut world, "link", 1, Service::Mixed(900, 4_000), (seed, false), Some(die));
    let closed = Job {
        engine: Engine::IO_URING,
        queue_depth: 16,
        mix: Mix::reads(70),
        runtime: Some(Nanos::millis(500)),
        time_based: true,
        slice: Nanos::millis(50),
        seed,
        ..Job::default()
    };
    let rate = Some(Rate { iops: 40_000.0, arrival: Arrival::Poisson });
    let open = Job { rate, stonewall: true, report_group: 1, ..closed.clone() };
    let options = RunOptions { spans_max: 1000, ..RunOptions::seeded(seed) };
    run_world(world, &About::default(), &[closed, open], &options).expect("sound jobs")
}

/// Every number of it.
fn bytes(ran: &Ran) -> String {
    format!("{ran:?}")
}

/// Checksum by FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let alone = bytes(&ran(7, false));
    let together: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4).map(|_| scope.spawn(|| bytes(&ran(7, false)))).collect();
        handles.into_iter().map(|handle| handle.join().expect("it does not panic")).collect()
    });
    assert!(together.iter().all(|bytes| *bytes == alone));
    assert_ne!(bytes(&ran(8, false)), alone);
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_machine() {
    let told: Vec<String> = ran(7, false)
        .outcomes
        .iter()
        .map(|outcome| {
            let latency = outcome.latency();
            format!("{} {} {} {:?};", outcome.elapsed.0, latency.count, latency.sum_ns, latency.counts)
        })
        .collect();
    let told = told.concat();
    // Changes with each change of what is drawn when; then look whether that was meant.
    assert_eq!(checksum(&told), 0x9ef8_d838_58b8_2b1d, "{:#x}", checksum(&told));
}

#[test]
fn an_idle_part_changes_nothing() {
    let (without, with) = (ran(7, false), ran(7, true));
    for (a, b) in without.outcomes.iter().zip(&with.outcomes) {
        assert_eq!((&a.read, &a.write, &a.series, a.elapsed), (&b.read, &b.write, &b.series, b.elapsed));
    }
}
