//! What must hold of any platform and any job. The runner asserts on each run: no I/O is lost, stages add up to latencies,
//! Little's law, no resource is busy for more time than there is, and every ns of a core was spent on a layer.

use iostack_model::{BlockSizes, Bytes, Engine, Job, Mix, Nanos, Stage, Sync, Verify, VerifyMode};
use iostack_sim::run::{RunOptions, SimError, run};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::chance::choices;
use crate::host::machine::{busy, host, outcome, reads, sheet};
use crate::load::changed_sheet;
use crate::run::laws;

#[test]
fn twice_the_clock_halves_the_hosts_time() {
    let at_once = ("platform.drive.zero.latency", "0");
    for engine in [Engine::Psync, Engine::Libaio, Engine::Pvsync2 { hipri: true }] {
        let of = |ghz| outcome(&sheet(&[at_once, ("platform.ghz", ghz)]), &reads(engine, 4, 4, 2_000));
        let (slow, fast) = (of("1"), of("2"));
        assert_eq!(slow.elapsed.0, 2 * fast.elapsed.0, "{engine:?}");
        assert_eq!(slow.read.latency.sum_ns, 2 * fast.read.latency.sum_ns, "{engine:?}");
        assert_eq!(host(&slow).layers, host(&fast).layers, "{engine:?}");
    }
}

#[test]
fn an_idle_adapter_changes_nothing() {
    let of =
        |adapters| outcome(&sheet(&[("platform.adapters", adapters)]), &reads(Engine::Psync, 16, 1, 500));
    let (one, two) = (of("1"), of("3"));
    assert_eq!((one.read, one.elapsed), (two.read, two.elapsed));
}

#[test]
fn more_cores_never_lower_throughput() {
    // Interrupts stop threads, so that a little may be lost by chance. Open: with one interrupt for all, whose core is full,
    // threads that come to lie on that core stand still, and eight cores do less than four.
    for (engine, depth) in [(Engine::Psync, 1), (Engine::IO_URING, 16), (Engine::Pvsync2 { hipri: true }, 1)]
    {
        let mut most = 0.0;
        for cores in ["1", "2", "3", "4", "6", "8", "16", "32"] {
            let changes = [("platform.cores", cores), ("platform.adapter.adapter.queues", "per-core")];
            let rate = outcome(&sheet(&changes), &reads(engine, 24, depth, 2_000)).rate();
            println!("{engine:?}, a queue for each core, on {cores}: {rate:.0}");
            assert!(rate >= most * 0.98, "{engine:?}: {rate} on {cores} cores after {most}");
            most = rate.max(most);
        }
    }
}

#[test]
fn interrupts_bring_every_completion_once() {
    let coalesced =
        [("platform.adapter.adapter.coalesce", "4"), ("platform.adapter.adapter.coalesce_time", "20us")];
    for changes in [&[][..], &coalesced[..]] {
        let seen = outcome(&sheet(changes), &reads(Engine::Libaio, 4, 32, 8_000));
        let told = host(&seen);
        let brought = told.interrupts as f64 * told.completions_per_interrupt;
        assert!((brought - seen.ios() as f64).abs() < 0.5, "{brought} of {}", seen.ios());
    }
}

#[test]
fn threads_stay_on_their_processors() {
    let job = Job { cpus: Some(vec![1, 3]), cpus_split: true, ..reads(Engine::Psync, 8, 1, 1_000) };
    let seen = outcome(&sheet(&[("platform.interrupts", "one")]), &job);
    let inside = seen.inside.as_ref().expect("simulated");
    let cores = inside.resources.iter().find(|each| each.name == "core").expect("cores");
    // Two for threads, one for interrupts, none for the fourth.
    assert!(cores.busy <= 0.75 + 1e-9, "{cores:?}");
}

#[test]
fn a_processor_that_is_not_there_is_refused() {
    let job = Job { cpus: Some(vec![1, 4]), ..reads(Engine::Psync, 2, 1, 10) };
    let refused = run(&sheet(&[]), &[job], &RunOptions::seeded(1));
    assert!(matches!(refused, Err(SimError::NoSuchCore { cpu: 4, cores: 4, .. })), "{refused:?}");
}

#[test]
fn a_request_and_a_flush_reach_every_drive_they_touch() {
    let changes =
        [("platform.drives", "4"), ("platform.spread", "offsets"), ("platform.drive.zero.capacity", "64KiB")];
    let job = Job {
        mix: Mix { read: 40, write: 40, trim: 20 },
        block_sizes: BlockSizes::all(Bytes::kib(256)),
        sync: Sync { fsync_every: 3, ..Sync::default() },
        ..reads(Engine::IO_URING, 1, 1, 300)
    };
    let seen = outcome(&sheet(&changes), &job);
    let told = host(&seen);
    let commands = told.interrupts as f64 * told.completions_per_interrupt;
    assert_eq!(seen.ios(), 300);
    let flushes = commands / 4.0 - 300.0;
    assert!(flushes > 20.0 && flushes.fract() == 0.0, "{commands} commands of four drives");
}

#[test]
fn verified_jobs_need_one_space() {
    let mut job = reads(Engine::IO_URING, 4, 4, 200);
    (job.mix, job.size) = (Mix::WRITE, Some(iostack_model::Amount::Bytes(Bytes::mib(1))));
    job.loops = 1;
    job.verify = Some(Verify::of_mode(VerifyMode::WriteThenRead));
    let drives =
        [("platform.drives", "3"), ("platform.drive", "x25e"), ("platform.drive.flash.capacity", "1GiB")];
    let refused = run(&changed_sheet("x5570", &drives), &[job.clone()], &RunOptions::seeded(1));
    assert!(matches!(refused, Err(SimError::Sheet(_))), "{refused:?}");
    let row = [&drives[..], &[("platform.spread", "offsets")]].concat();
    let seen = outcome(&changed_sheet("x5570", &row), &job);
    assert!(seen.verified > 0 && seen.failures.is_empty(), "{:?}", seen.failures);
}

/// A job by chance, with an engine by chance and no size.
fn job(rng: &mut Rng) -> Job {
    let bit = |rng: &mut Rng| rng.below(2) == 0;
    let [fixed_buffers, registered_files, poll, submit_poll] = [(); 4].map(|()| bit(rng));
    let uring = Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll };
    let engines = [Engine::Psync, Engine::Pvsync2 { hipri: bit(rng) }, Engine::Libaio, uring];
    Job {
        engine: engines[rng.below(4) as usize],
        threads: 1 + rng.below(20) as u32,
        io_count: Some(1 + rng.below(300)),
        block_sizes: BlockSizes::all(Bytes(4096 << rng.below(4))),
        runtime: bit(rng).then(|| Nanos::micros(300 + rng.below(20_000))),
        time_based: false,
        loops: u32::MAX,
        size: None,
        verify: None,
        ..laws::job(rng)
    }
}

#[test]
fn jobs_by_chance_on_platforms_by_chance_lose_nothing_and_repeat() {
    for seed in 0..250 {
        let mut rng = Rng::from_seed(seed);
        let sheet = Sheet::load("x5570", &choices("platform", &mut rng)).expect("built in");
        let mut jobs: Vec<Job> = (0..=rng.below(3)).map(|_| job(&mut rng)).collect();
        for (index, job) in (0..).zip(&mut jobs) {
            job.report_group = index;
            job.stonewall = index > 0 && rng.below(2) == 0;
        }
        let once = || run(&sheet, &jobs, &RunOptions::seeded(seed));
        let ran = match once() {
            Ok(ran) => ran,
            Err(SimError::Unstable { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        for seen in &ran.outcomes {
            let most = u64::from(seen.job.threads) * seen.job.io_count.expect("limited");
            assert!(seen.ios() <= most, "seed {seed}: {} of {most}", seen.ios());
            assert!(busy(seen, "core") <= 1.0 + 1e-9 || seen.ios() == 0, "seed {seed}");
            let inside = seen.inside.as_ref().expect("simulated");
            let submits =
                |stage: &Stage| inside.flows.iter().any(|flow| flow.stages.iter().any(|(s, _)| s == stage));
            assert!(seen.ios() == 0 || submits(&Stage::Submit), "seed {seed}");
            if seen.job.runtime.is_none() && seen.job.ramp.0 == 0 {
                assert_eq!(seen.ios(), most, "seed {seed}");
            }
        }
        if seed % 5 == 0 {
            assert_eq!(ran.outcomes, once().expect("it ran before").outcomes, "seed {seed}");
        }
    }
}
