//! What holds on every device, whatever the job? The runner asserts its laws on each run; here jobs by chance look for one
//! that breaks them, and the outcome must agree with itself.

use std::ops::Range;

use iostack_model::{
    Access, Amount, Arrival, Batch, BlockSizes, Bytes, Direction, Engine, Heat, Job, Mix, Nanos, Outcome,
    Rate, Stage, Sync, Think, Verify, VerifyMode, WritePointers,
};
use iostack_sim::engine::{STAGES, World};
use iostack_sim::run::{About, RunOptions, SimError, run, run_world};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::run::parts::{Service, Station};

/// A job of a few thousand I/Os with options by chance.
/// A job by chance.
pub(crate) fn job(rng: &mut Rng) -> Job {
    let one_in = |n: u64, rng: &mut Rng| rng.below(n) == 0;
    let mixes = [Mix::READ, Mix::WRITE, Mix::reads(70), Mix { read: 40, write: 50, trim: 10 }];
    let depth = [1, 2, 7, 32, 64][rng.below(5) as usize];
    let batch = if one_in(4, rng) { 1 + rng.below(u64::from(depth)) as u32 } else { 1 };
    let mut job = Job {
        mix: mixes[rng.below(4) as usize],
        access: [Access::UNIFORM, Access::Sequential][rng.below(2) as usize].clone(),
        block_sizes: BlockSizes::all(Bytes(512 << rng.below(8))),
        size: Some(Amount::Bytes(Bytes::mib(4))),
        engine: Engine::IO_URING,
        queue_depth: depth,
        batch: Batch { submit: batch, complete_min: batch },
        threads: 1 + rng.below(4) as u32,
        io_count: Some(1 + rng.below(1500)),
        time_based: true,
        runtime: Some(Nanos::millis(1 + rng.below(300))),
        ramp: Nanos::micros(rng.below(3) * 700),
        start_delay: Nanos::micros(rng.below(2) * 900),
        slice: Nanos::millis(1 + rng.below(20)),
        seed: rng.next_u64(),
        ..Job::default()
    };
    match rng.below(6) {
        0 => job.rate = Some(Rate { iops: 500.0 + rng.below(2_000) as f64, arrival: Arrival::Poisson }),
        1 => job.think = Some(Think { time: Nanos::micros(50), every: 3, spin: Nanos(0) }),
        2 => job.sync = Sync { fsync_every: 5, end_fsync: true, ..Sync::default() },
        3 if job.mix.write > 0 && job.mix.trim == 0 => {
            job.verify = Some(Verify::of_mode(VerifyMode::WriteThenRead));
        }
        _ => {}
    }
    job.host.write_hint = [None, Some(2), Some(5)][rng.below(3) as usize];
    job
}

fn check(outcome: &Outcome, what: &str) {
    let inside = outcome.inside.as_ref().expect("simulated");
    assert!(outcome.failures.is_empty(), "{what}: {:?}", outcome.failures);
    let by_series: u64 = outcome.series.iter().flat_map(|element| element.ios).sum();
    assert_eq!(by_series, outcome.ios(), "{what}");
    let heat = &outcome.heat;
    let (mut whole, all) = (Heat::of_slices(Nanos(1)), heat.joined(heat.columns.len()));
    whole.add(Nanos(0), &outcome.latency());
    assert_eq!(all.columns, whole.columns, "{what}");
    for (column, cells) in (0..).zip(&heat.columns) {
        let covers = Nanos(heat.length.0 * column)..Nanos(heat.length.0 * (column + 1));
        let elements = outcome.series.iter().filter(|element| covers.contains(&element.start));
        let ios: u64 = elements.flat_map(|element| element.ios).sum();
        assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), ios, "{what}: column {column}");
    }
    for flow in &inside.flows {
        let whole = &outcome.flow(flow.direction).latency;
        assert_eq!(&flow.whole, whole, "{what}");
        let counts = flow.stages.iter().map(|(_, bins)| bins.counts.iter().map(|&(_, n)| n).sum::<u64>());
        assert!(counts.clone().all(|count| count == whole.count), "{what}");
        assert_eq!(flow.stages.iter().map(|(_, bins)| bins.sum_ns).sum::<u64>(), whole.sum_ns, "{what}");
        assert_eq!(flow.slowest.iter().map(|(_, time)| time.0).sum::<u64>(), whole.max_ns, "{what}");
        let named = |&(stage, time): &(Stage, Nanos)| {
            time.0 > 0 && flow.stages.iter().any(|(other, bins)| *other == stage && bins.max_ns >= time.0)
        };
        assert!(flow.slowest.iter().all(named), "{what}: {:?}", flow.slowest);
    }
    for resource in &inside.resources {
        assert!((0.0..=1.0 + 1e-9).contains(&resource.busy), "{what}: {resource:?}");
        assert!(resource.busy <= resource.busiest + 1e-9, "{what}: {resource:?}");
    }
    assert!(inside.gauges.iter().all(|gauge| gauge.values.len() == outcome.series.len()), "{what}");
    let sums: u64 = Direction::ALL.iter().map(|&d| outcome.flow(d).latency.sum_ns).sum();
    if outcome.job.rate.is_none() && outcome.elapsed.0 > 0 {
        let depth = sums as f64 / outcome.elapsed.0 as f64;
        assert!((outcome.depth_achieved - depth).abs() < 1e-9 * depth.max(1.0), "{what}");
    }
    let asked = f64::from(outcome.job.depth() * outcome.job.threads);
    // With a ramp what is in flight at the end stands for what was in flight at the start: nearly the same.
    let more = if outcome.job.ramp.0 > 0 && outcome.job.runtime.is_some() { 1.1 } else { 1.0 };
    assert!(outcome.depth_achieved <= asked * more + 1e-9, "{what}: {}", outcome.depth_achieved);
}

#[test]
fn jobs_by_chance_on_stations_by_chance_obey_the_laws() {
    for seed in 0..150 {
        let mut rng = Rng::from_seed(seed);
        let mut world = World::new();
        let services =
            [Service::Fixed(20_000), Service::Exponential(30_000.0), Service::Mixed(5_000, 200_000)];
        let mut below = None;
        for _ in 0..=rng.below(3) {
            let service = services[rng.below(3) as usize];
            let (servers, apart) = (1 + rng.below(8) as usize, rng.below(2) == 0);
            below = Some(Station::add_named(&mut world, "server", servers, service, (seed, apart), below));
        }
        let mut jobs: Vec<Job> = (0..=rng.below(3)).map(|_| job(&mut rng)).collect();
        for (index, job) in (0..).zip(&mut jobs) {
            // Stations keep no stamps.
            job.verify = None;
            job.report_group = rng.below(2) as u32 * index;
            job.stonewall = index > 0 && rng.below(2) == 0;
        }
        match run_world(world, &About::default(), &jobs, &RunOptions::seeded(seed)) {
            Ok(ran) => ran.outcomes.iter().for_each(|outcome| {
                let mixed =
                    jobs.iter().filter(|job| job.report_group == outcome.job.report_group).count() > 1;
                if !mixed {
                    check(outcome, &format!("seed {seed}"));
                }
            }),
            Err(SimError::Unstable { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

#[test]
fn jobs_by_chance_on_every_device_obey_the_laws() {
    for name in iostack_sim::sheet::catalogue::names() {
        let mut sheet = Sheet::load(name, &[]).expect("built in");
        if sheet.kind.is_part() {
            continue;
        }
        if sheet.kind.name == "flash" {
            // What it holds at the start is the translation layer's affair.
            let fresh = [("flash.state".to_owned(), "fresh".to_owned())];
            sheet = Sheet::load(name, &fresh).expect("built in");
        }
        println!("{name}");
        for seed in 0..6 {
            let job = job(&mut Rng::from_seed(seed));
            let what = format!("{name}, seed {seed}");
            match run(&sheet, &[job], &RunOptions::seeded(seed)) {
                Ok(ran) => check(&ran.outcomes[0], &what),
                // No time passes on `zero`, and zones do not take writes anywhere.
                Err(SimError::Unstable { .. } | SimError::Timeless | SimError::Zones { .. }) => {}
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
}

/// A small flash drive with firmware by chance, whose blocks are few from the start.
fn flash(rng: &mut Rng) -> Sheet {
    let mut one_of = |words: &[&'static str]| words[rng.below(words.len() as u64) as usize];
    let slc = [("slc.size", "1MiB"), ("slc.read", "20us"), ("slc.program", "100us"), ("slc.erase", "1ms")];
    let mut values = vec![
        ("flash.capacity", "16MiB"),
        ("flash.over_provisioning", one_of(&["50%", "70%"])),
        ("flash.channels", "2"),
        ("flash.planes", one_of(&["1", "2"])),
        ("flash.page", one_of(&["4KiB", "16KiB"])),
        ("flash.pages_per_block", one_of(&["8", "16"])),
        ("flash.read", "40us"),
        ("flash.program", "400us"),
        ("flash.erase", "2ms"),
        ("flash.suspend", one_of(&["none", "both"])),
        ("flash.allocation", one_of(&["dynamic", "static"])),
        ("flash.state", one_of(&["filled", "steady"])),
        ("channel.rate", "400MB/s"),
        ("gc.pacing", one_of(&["level", "block"])),
        ("gc.hot_cold", one_of(&["no", "yes"])),
        ("gc.wear_spread", one_of(&["4", "100"])),
        ("controller.memory", one_of(&["20MB/s", "2GB/s"])),
        ("map.cache", one_of(&["none", "4KiB", "16KiB", "1MiB"])),
        ("map.host_buffer", one_of(&["4KiB", "16KiB"])),
        ("map.host_read", one_of(&["0", "2us"])),
        ("slc.full", one_of(&["direct", "fold"])),
        ("buffer.size", one_of(&["64KiB", "1MiB"])),
        ("buffer.acknowledge", one_of(&["early", "programmed"])),
        ("flash.bits", one_of(&["1", "3"])),
        ("flash.read_last", one_of(&["none", "90us"])),
        ("flash.retry", one_of(&["0%", "5%"])),
        ("flash.retention", one_of(&["0", "300"])),
        ("flash.retry_retention", "1%"),
        ("flash.suspend_most", one_of(&["none", "2"])),
        ("patrol.period", one_of(&["none", "2ms"])),
        ("heat.limit", one_of(&["none", "40"])),
        ("heat.rate", "30MB/s"),
        ("heat.resistance", "10"),
        ("heat.constant", "5ms"),
        ("heat.program", "1"),
    ];
    match one_of(&["slc", "handles", "neither"]) {
        "slc" => values.extend_from_slice(&slc),
        "handles" if values.contains(&("gc.hot_cold", "no")) => values.push(("placement.handles", "2")),
        _ => {}
    }
    values.push(("slc.least", one_of(&["none", "256KiB"])));
    Sheet::from_values("flash", &values).expect("a kind")
}

/// The same with zones of 768 KiB, of which four are written at once, and the job as such a drive takes it.
fn zoned(rng: &mut Rng) -> (Sheet, Job) {
    let mut one_of = |words: &[&'static str]| words[rng.below(words.len() as u64) as usize];
    let values = [
        ("flash.capacity", "16MiB"),
        ("flash.over_provisioning", "10%"),
        ("flash.channels", "2"),
        ("flash.planes", one_of(&["1", "2"])),
        ("flash.multi_plane", one_of(&["none", "writes", "independent"])),
        ("flash.page", one_of(&["4KiB", "16KiB"])),
        ("flash.pages_per_block", one_of(&["8", "16"])),
        ("flash.read", "40us"),
        ("flash.program", "400us"),
        ("flash.erase", "2ms"),
        ("flash.read_priority", one_of(&["no", "yes"])),
        ("flash.suspend", one_of(&["none", "both"])),
        ("flash.state", one_of(&["fresh", "filled"])),
        ("flash.queue_depth", one_of(&["2", "1024"])),
        ("channel.rate", "400MB/s"),
        ("controller.cores", one_of(&["1", "3"])),
        ("controller.read", "2us"),
        ("controller.write", "3us"),
        ("controller.write_page", "2us"),
        ("buffer.size", one_of(&["160KiB", "1MiB"])),
        ("zones.size", "1MiB"),
        ("zones.capacity", "768KiB"),
        ("zones.active", "4"),
        ("zones.dies", one_of(&["1", "2"])),
        ("zones.append", one_of(&["no", "yes"])),
        ("zones.reset", one_of(&["none", "0:50us 100:9ms"])),
    ];
    let sheet = Sheet::from_values("flash", &values).expect("a kind");
    let pointers = WritePointers {
        zone: Bytes::mib(1),
        capacity: Bytes(768 << 10),
        open_most: 1,
        reads_beyond: rng.below(2) == 0,
    };
    let asked = job(rng);
    let mix = if asked.mix.trim > 0 { Mix::reads(50) } else { asked.mix };
    let offset_increment = Bytes::mib(4);
    let write_pointers = (mix.write > 0).then_some(pointers);
    (sheet, Job { mix, offset_increment, write_pointers, ..asked })
}

#[test]
fn no_flash_drive_by_chance_has_a_maximum_without_a_cause() {
    every_maximum_has_a_cause(0..300);
}

#[test]
#[ignore = "slow: 1,500 drives"]
fn none_of_many_flash_drives_by_chance_has_a_maximum_without_a_cause() {
    every_maximum_has_a_cause(300..1_800);
}

fn every_maximum_has_a_cause(seeds: Range<u64>) {
    let mut held = [0; STAGES];
    for seed in seeds {
        let mut rng = Rng::from_seed(seed);
        let what = format!("seed {seed}");
        let (sheet, asked) = if seed % 3 == 2 { zoned(&mut rng) } else { (flash(&mut rng), job(&mut rng)) };
        match run(&sheet, &[asked], &RunOptions::seeded(seed)) {
            Ok(ran) => {
                check(&ran.outcomes[0], &what);
                let flows = ran.outcomes[0].inside.iter().flat_map(|inside| &inside.flows);
                flows.flat_map(|flow| &flow.slowest).for_each(|(stage, _)| held[*stage as usize] += 1);
            }
            Err(SimError::Unstable { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    // Chance has met each of them.
    for stage in [Stage::Buffer, Stage::Collect, Stage::Fold, Stage::DieWait, Stage::Die, Stage::Channel] {
        assert!(held[stage as usize] > 0, "no maximum was held by {}", stage.name());
    }
}
