//! Is each doubt raised by the evidence for it, and only by that?

use iostack_model::{
    Arrival, Bins, BlockDevice, CpuUse, Data, DeviceCount, Engine, Failure, FileSystem, Flow, Interval,
    IntervalFlow, Job, Memory, Mix, Nanos, Queue, Rate, Storage, TargetKind, TargetName, Virtualisation,
};

use super::*;

/// A virtual machine of 8 GiB.
pub(crate) fn guest() -> Machine {
    let memory = Memory { total: Bytes::gib(8), ..Memory::default() };
    let virtualisation = Virtualisation { hypervisor: Some("kvm".into()), ..Virtualisation::default() };
    Machine { memory, virtualisation, ..Machine::default() }
}

/// A quiet second of 10 000 reads on a device that counts the same.
pub(crate) fn quiet() -> (Outcome, Evidence) {
    let ios = 10_000u64;
    let counts = vec![(iostack_model::bin_index(100_000) as u32, ios)];
    let latency = Bins {
        counts,
        count: ios,
        sum_ns: ios * 100_000,
        sum_squares_ns2: 1e14,
        min_ns: 100_000,
        max_ns: 100_000,
    };
    let queue = Queue { counts_io: true, requests: 256, hardware_queues: 1, ..Queue::default() };
    let device = BlockDevice { name: "d0".to_owned(), queue, ..BlockDevice::default() };
    let target = TargetName { kind: TargetKind::Block, path: "/dev/d0".into() };
    let storage = Storage { file_system: None, devices: vec![device] };
    let outcome = Outcome {
        elapsed: Nanos::secs(1),
        read: Flow { bytes: Bytes(ios * 4096), latency, ..Flow::default() },
        iops: Interval::exact(ios as f64),
        cpu: CpuUse { busiest_thread: 0.2, ..CpuUse::default() },
        depth_achieved: 1.0,
        device: Some(DeviceCount {
            name: "d0".to_owned(),
            bytes: [ios * 4096, 0, 0],
            ..DeviceCount::default()
        }),
        ..Outcome::empty(Job::default(), target, storage)
    };
    (outcome, Evidence { alone: true, ..Evidence::default() })
}

/// The doubts beside that of too few samples for p99.99, which 10 000 I/Os always raise.
pub(crate) fn doubts(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    doubts_of_outcome(outcome, evidence)
        .into_iter()
        .filter(|caveat| !matches!(caveat, Caveat::FewSamples { .. }))
        .collect()
}

/// The one doubt that the quiet outcome raises, so changed: of this kind.
pub(crate) fn expect(kind: &str, change: impl FnOnce(&mut Outcome, &mut Evidence)) -> Caveat {
    let (mut outcome, mut evidence) = quiet();
    change(&mut outcome, &mut evidence);
    let mut doubts = doubts(&outcome, &evidence);
    assert!(doubts.len() == 1 && find(&doubts[0]).0.kind == kind, "{kind}: {doubts:?}");
    doubts.remove(0)
}

/// True when the quiet run, so changed, has a doubt of this kind; of any where it is empty.
pub(crate) fn has(kind: &str, change: impl FnOnce(&mut Outcome, &mut Evidence)) -> bool {
    let (mut outcome, mut evidence) = quiet();
    change(&mut outcome, &mut evidence);
    doubts(&outcome, &evidence).iter().any(|caveat| kind.is_empty() || find(caveat).0.kind == kind)
}

/// Bytes that the device counted.
pub(crate) fn device_bytes(outcome: &mut Outcome) -> &mut [u64; 3] {
    &mut outcome.device.as_mut().expect("quiet has one").bytes
}

#[test]
fn a_quiet_run_raises_no_doubt() {
    let (outcome, evidence) = quiet();
    assert_eq!(doubts(&outcome, &evidence), []);
}

#[test]
fn each_doubt_about_data_has_its_evidence() {
    expect("unwritten_extents", |_, evidence| evidence.unwritten = Some((Bytes(1), Bytes(2))));
    expect("cached_reads", |outcome, _| {
        outcome.job.direct = false;
        device_bytes(outcome)[0] /= 2;
    });
    expect("device_count_differs", |outcome, _| device_bytes(outcome)[0] /= 2);
    let foreign = expect("foreign_io", |outcome, _| device_bytes(outcome)[1] = 100 << 20);
    assert!(matches!(foreign, Caveat::ForeignIo { share, .. } if share > 0.7), "{foreign:?}");
    expect("no_device_count", |outcome, _| outcome.storage.devices[0].queue.counts_io = false);
    let null = expect("no_data", |outcome, _| outcome.job.engine = Engine::Null);
    assert_eq!(null, Caveat::NoData { engine: "null".to_owned() });
    expect("cache_below", |outcome, _| outcome.storage.devices[0].rotational = true);
    expect("small_region", |_, evidence| {
        (evidence.region, evidence.machine) = (Bytes::mib(100), Some(guest()));
    });
    let message = "I/O error".to_owned();
    let failed = expect("failed", |outcome, _| {
        let (direction, message) = (iostack_model::Direction::Read, message.clone());
        let failure = Failure { direction, errno: 5, count: 3, offset_first: 0, message, ignored: false };
        outcome.failures.push(failure);
    });
    assert_eq!(failed, Caveat::Failed { count: 3, message });
}

#[test]
fn compressible_writes_are_doubted_where_storage_compresses() {
    let writes = |outcome: &mut Outcome, data| {
        outcome.write = std::mem::take(&mut outcome.read);
        outcome.job.mix = Mix::WRITE;
        outcome.job.data = data;
        device_bytes(outcome).swap(0, 1);
        let file_system = FileSystem { kind: "btrfs".to_owned(), compresses: true, ..FileSystem::default() };
        outcome.storage.file_system = Some(file_system);
    };
    let zeroes = expect("compressible_data", |outcome, _| writes(outcome, Data::Zeroes));
    assert_eq!(zeroes, Caveat::CompressibleData { storage: "btrfs".to_owned() });
    let (mut outcome, evidence) = quiet();
    writes(&mut outcome, Data::Random);
    assert_eq!(doubts(&outcome, &evidence), []);
}

#[test]
fn each_doubt_about_load_has_its_evidence() {
    let depth = expect("depth_below_asked", |outcome, _| outcome.job.queue_depth = 32);
    assert!(says(&depth).contains(" asked: psync"), "{depth:?}");
    let queue = expect("depth_below_asked", |outcome, _| {
        (outcome.job.engine, outcome.job.queue_depth, outcome.depth_achieved) = (Engine::Libaio, 512, 512.0);
    });
    assert!(says(&queue).contains("the queue of d0 holds"), "{queue:?}");
    expect("generator_bound", |outcome, _| outcome.cpu.busiest_thread = 0.97);
    let punted = expect("punted", |outcome, evidence| {
        outcome.job.engine = Engine::IO_URING;
        (outcome.cpu.user, outcome.cpu.workers) = (Nanos::millis(100), Nanos::millis(300));
        evidence.workers = 4;
    });
    assert_eq!(punted, Caveat::Punted { workers: 4, cpu_share: 0.75 });
    expect("rate_missed", |outcome, _| {
        outcome.job.rate = Some(Rate { iops: 20_000.0, arrival: Arrival::Regular });
    });
    expect("steal", |outcome, _| outcome.cpu.steal = 0.2);
    expect("foreign_cpu", |outcome, _| outcome.cpu.foreign = 0.4);
    expect("clock_not_invariant", |_, evidence| evidence.clock_other = Some("hpet".to_owned()));
    expect("io_limit", |_, evidence| evidence.io_limit = Some("8:0 rbps=1".to_owned()));
    expect("interrupted", |outcome, _| outcome.interrupted = true);
}

#[test]
fn what_was_in_flight_at_the_border_is_no_difference() {
    let (mut outcome, mut evidence) = quiet();
    device_bytes(&mut outcome)[0] += 1 << 20;
    evidence.border_ios = 256;
    assert_eq!(doubts(&outcome, &evidence), []);
}

/// The quiet second with one read of this length, which has its place in the series.
fn stalled(longest: Nanos, elapsed: Nanos) -> (Outcome, Evidence) {
    let (mut outcome, evidence) = quiet();
    let bin = (iostack_model::bin_index(longest.0) as u32, 1);
    outcome.read.latency.counts.push(bin);
    outcome.read.latency.count += 1;
    outcome.read.latency.max_ns = longest.0;
    outcome.elapsed = elapsed;
    let element = |second, max| IntervalFlow { start: Nanos::secs(second), max, ..IntervalFlow::default() };
    outcome.series = vec![element(0, Nanos(100_000)), element(1, longest)];
    (outcome, evidence)
}

#[test]
fn an_io_of_a_second_in_a_closed_loop_is_a_stall_at_its_place() {
    let (outcome, evidence) = stalled(Nanos::secs(1), Nanos::secs(30));
    let [Caveat::Stall { at, longest, .. }] = doubts(&outcome, &evidence)[..] else { panic!("one doubt") };
    assert_eq!((at, longest), (Nanos::secs(1), Nanos::secs(1)));
    let (mut open, evidence) = stalled(Nanos::secs(1), Nanos::secs(30));
    open.job.rate = Some(Rate { iops: 100.0, arrival: Arrival::Regular });
    assert_eq!(doubts(&open, &evidence), [], "an open loop counts what waits");
}

#[test]
fn a_stall_takes_100_ms_a_hundredth_of_the_run_and_ten_times_what_others_take() {
    let stalls = |longest, elapsed, usual: u64| {
        let (mut outcome, evidence) = stalled(longest, elapsed);
        outcome.read.latency.counts[0].0 = iostack_model::bin_index(usual) as u32;
        doubts(&outcome, &evidence).iter().any(|caveat| matches!(caveat, Caveat::Stall { .. }))
    };
    assert!(stalls(Nanos::millis(100), Nanos::secs(10), 100_000));
    assert!(!stalls(Nanos(99_999_999), Nanos::secs(1), 100_000));
    assert!(!stalls(Nanos::millis(100), Nanos(10_000_000_001), 100_000));
    assert!(stalls(Nanos::millis(100), Nanos::secs(10), 9_900_000));
    assert!(!stalls(Nanos::millis(100), Nanos::secs(10), 10_200_000), "others take ten of it");
}

#[test]
fn depth_that_is_missing_is_blamed_on_what_took_it() {
    let reason = |busy: f64, waiting: Nanos| {
        let (mut outcome, evidence) = quiet();
        outcome.job.engine = Engine::Libaio;
        outcome.job.queue_depth = 32;
        // A quarter of the depth is missing.
        outcome.depth_achieved = 24.0;
        outcome.cpu.busiest_thread = busy;
        outcome.cpu.waiting = waiting;
        outcome.cpu.wanted = busy + waiting.as_secs_f64();
        match &doubts(&outcome, &evidence)[0] {
            Caveat::DepthBelowAsked { reason, .. } => reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(reason(0.9, Nanos(0)).contains("no CPU time left"));
    assert!(
        reason(0.5, Nanos::millis(125)).contains("12 % of the time without having a CPU"),
        "{}",
        reason(0.5, Nanos::millis(125))
    );
    assert!(reason(0.25, Nanos::millis(124)).contains("while the generator's thread works, 25 %"));
    assert!(reason(0.24, Nanos(0)).contains("other than I/O"));
}

#[test]
fn a_page_cache_is_doubted_below_nine_tenths_in_both_directions() {
    // 10,000 I/Os of 4 KiB are 40,960,000 bytes; nine tenths of them 36,864,000.
    for (direction, kind) in ["cached_reads", "buffered_writes"].into_iter().enumerate() {
        let kept = |bytes: u64| {
            has(kind, |outcome, _| {
                outcome.job.direct = false;
                *device_bytes(outcome) = [0; 3];
                device_bytes(outcome)[direction] = bytes;
                if direction == 1 {
                    std::mem::swap(&mut outcome.read, &mut outcome.write);
                }
            })
        };
        assert_eq!((kept(36_863_999), kept(36_864_000)), (true, false));
    }
}

#[test]
fn each_doubt_begins_at_its_threshold() {
    type Bend = fn(&mut Outcome, f64);
    let allowed = f64::from(40_960_000 / 50 + (64 << 10));
    let thresholds: [(&str, f64, f64, Bend); 7] = [
        // Others' share of all: 2,155,790 of 43,115,790 is just above 5 %.
        ("foreign_io", 2_155_700.0, 2_155_800.0, |outcome, bytes| device_bytes(outcome)[1] = bytes as u64),
        // 2 % and 64 KiB.
        ("device_count_differs", allowed, allowed + 1.0, |outcome, missing| {
            device_bytes(outcome)[0] -= missing as u64;
        }),
        ("depth_below_asked", 8.0, 7.99, |outcome, achieved| {
            (outcome.job.engine, outcome.job.queue_depth) = (Engine::Libaio, 10);
            outcome.depth_achieved = achieved;
        }),
        ("generator_bound", 0.899, 0.9, |outcome, busy| outcome.cpu.busiest_thread = busy),
        ("steal", 0.01, 0.011, |outcome, share| outcome.cpu.steal = share),
        ("foreign_cpu", 0.1, 0.101, |outcome, share| outcome.cpu.foreign = share),
        // Of 10,000 I/Os chance takes 3 %, and 2 % are nothing.
        ("rate_missed", 10_000.0 / 0.951, 10_000.0 / 0.949, |outcome, iops| {
            outcome.job.rate = Some(Rate { iops, arrival: Arrival::Regular });
        }),
    ];
    for (kind, quiet, doubted, change) in thresholds {
        let told = [quiet, doubted].map(|value| has(kind, |outcome, _| change(outcome, value)));
        assert_eq!(told, [false, true], "{kind}");
    }
}

#[test]
fn what_is_judged_over_many_runs_begins_at_its_threshold() {
    let uneven = |wide: usize| {
        let mut outcomes = vec![quiet().0; 8];
        let wide = outcomes[..wide].iter_mut();
        wide.for_each(|outcome| outcome.caveats = vec![Caveat::Unstable { relative: 0.2 }]);
        unstable::of_many(outcomes.iter())
    };
    let punted = |workers, took| punted::of_workers(workers, Nanos(took), Nanos(100));
    for (beside, found) in [
        (foreign_cpu::of_many(0.05), foreign_cpu::of_many(0.051)),
        (drift::of_rates(&[100.0, 130.0]), drift::of_rates(&[100.0, 131.0, 120.0])),
        (punted(1, 5), punted(1, 6)),
        (cost_overlapped::of_callers(10.0, (4, 15.0)), cost_overlapped::of_callers(10.0, (4, 15.1))),
        (uneven(2), uneven(3)),
    ] {
        assert!(beside.is_none() && found.is_some(), "{beside:?} {found:?}");
    }
    let none =
        [drift::of_rates(&[1.0]), drift::of_rates(&[]), punted(0, 6), unstable::of_many([].into_iter())];
    assert_eq!(none, [const { None }; 4]);
    assert_eq!(cost_overlapped::of_callers(0.0, (4, 1.0)), None, "no rate to hold it against");
}

#[test]
fn a_simulation_is_not_doubted_for_what_this_machine_does() {
    let (mut outcome, mut evidence) = quiet();
    evidence.simulated = true;
    outcome.storage = Storage::default();
    (outcome.cpu.busiest_thread, outcome.cpu.steal, outcome.job.engine) = (1.0, 0.5, Engine::Libaio);
    assert_eq!(doubts(&outcome, &evidence), []);
    outcome.job.queue_depth = 32;
    assert_eq!(doubts(&outcome, &evidence), [], "the depth is the load's, which says so itself");
    outcome.job.sync.fsync_every = 1;
    assert!(matches!(doubts(&outcome, &evidence)[..], [Caveat::DepthBelowAsked { .. }]));
}

#[test]
fn a_region_is_small_below_the_memory_of_a_virtual_machine_and_only_on_a_disk() {
    let on = |driver: &str| {
        let device = BlockDevice { driver: driver.to_owned(), ..BlockDevice::default() };
        Storage { file_system: None, devices: vec![device] }
    };
    let (machine, disk) = (guest(), on("virtio_blk"));
    let below = Bytes(Bytes::gib(8).0 - 1);
    let expected = Caveat::SmallRegion { region: below, memory: Bytes::gib(8) };
    assert_eq!(small_region::of_region(below, &machine, &disk), Some(expected));
    assert_eq!(small_region::of_region(Bytes::gib(8), &machine, &disk), None);
    assert_eq!(small_region::of_region(Bytes(0), &machine, &disk), None);
    for elsewhere in [on("zram"), on("loop"), Storage::default()] {
        assert_eq!(small_region::of_region(below, &machine, &elsewhere), None);
    }
    let metal = Machine { virtualisation: Virtualisation::default(), ..machine };
    assert_eq!(small_region::of_region(below, &metal, &disk), None);
}

/// One of each variant.
fn all() -> Vec<Caveat> {
    let bytes = Bytes(1);
    let at = Nanos(1);
    vec![
        Caveat::UnwrittenExtents { unwritten: bytes, region: bytes },
        Caveat::CachedReads { asked: bytes, device: bytes },
        Caveat::BufferedWrites { asked: bytes, device: bytes },
        Caveat::CompressibleData { storage: String::new() },
        Caveat::DepthBelowAsked { asked: 2.0, achieved: 1.0, reason: String::new() },
        Caveat::LoadNotFull { in_flight: 2.0, little: 1.0, residual: 0.5, full: 0.0 },
        Caveat::GeneratorBound { busy: 1.0 },
        Caveat::Punted { workers: 1, cpu_share: 0.5 },
        Caveat::DeviceCountDiffers { device: String::new(), ours: 1, theirs: 2, what: String::new() },
        Caveat::ForeignIo { device: String::new(), bytes, share: 0.5 },
        Caveat::Steal { share: 0.5 },
        Caveat::ForeignCpu { share: 0.5 },
        Caveat::RateStep { at, before: 1.0, after: 2.0 },
        Caveat::Cliff { at, before: 2.0, after: 1.0 },
        Caveat::Slope { per_minute: 0.1 },
        Caveat::Unstable { relative: 0.5 },
        Caveat::Drift { low: 1.0, high: 2.0, runs: 3 },
        Caveat::FewSamples { percentile: 99.0, samples: 1, needed: 2 },
        Caveat::ClockNotInvariant { source: String::new() },
        Caveat::CacheBelow { claim: String::new(), latency: at },
        Caveat::SmallRegion { region: bytes, memory: bytes },
        Caveat::Failed { count: 1, message: String::new() },
        Caveat::Interrupted { after: at, asked: None },
        Caveat::Stall { at, longest: at, waiting: at },
        Caveat::RateMissed { asked: 2.0, achieved: 1.0 },
        Caveat::IoLimit { line: String::new() },
        Caveat::NoDeviceCount { reason: String::new() },
        Caveat::NoData { engine: String::new() },
        Caveat::Traced { ns_per_io: 1.0, share: 0.5 },
        Caveat::EventsLost { lost: 1, seen: 2 },
        Caveat::Unmatched { unmatched: 1, ios: 2 },
        Caveat::Unclassified { share: 0.5 },
        Caveat::InexactClocks { how: String::new() },
        Caveat::Simulated { device: String::new(), sourced: 1, fitted: 2, assumed: 3 },
        Caveat::TraceLeap { line: 1, after: at },
        Caveat::NotSimulated { what: String::new() },
        Caveat::Lab { device: String::new(), kernel: String::new(), clock: String::new() },
        Caveat::StateByFormula { how: String::new() },
        Caveat::NotLinear { residual: 0.5, bend: 2.0 },
        Caveat::CostOverlapped { callers: 8, times: 4.0 },
    ]
}

#[test]
fn each_caveat_finds_its_row() {
    for caveat in all() {
        let json = serde_json::to_value(&caveat).expect("plain data");
        let mut kinds: Vec<&str> =
            DOUBTS.iter().filter(|doubt| (doubt.says)(&caveat).is_some()).map(|doubt| doubt.kind).collect();
        kinds.dedup();
        assert_eq!(json["kind"], kinds.join(", "), "one doubt says it");
        assert!(says(&caveat).ends_with('.'), "{}", says(&caveat));
    }
}

/// `RateStep` as JSON names it.
fn snake(name: &str) -> String {
    let word = |letter: char| {
        if letter.is_uppercase() { format!("_{}", letter.to_lowercase()) } else { letter.to_string() }
    };
    name.chars().map(word).collect::<String>().trim_start_matches('_').to_owned()
}

#[test]
fn each_caveat_is_a_row_under_the_name_that_json_has() {
    let source = include_str!("../../model/src/caveat.rs");
    let variants = source.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    let mut variants: Vec<String> = variants.filter(|name| !name.contains(' ')).map(snake).collect();
    let mut rows: Vec<String> = DOUBTS.iter().map(|doubt| doubt.kind.to_owned()).collect();
    rows.sort_unstable();
    rows.dedup();
    variants.sort_unstable();
    assert_eq!(variants, rows);
    let mut tried: Vec<&str> = all().iter().map(|caveat| find(caveat).0.kind).collect();
    tried.sort_unstable();
    assert_eq!(tried, rows, "`all` has each of them once");
}

#[test]
fn a_text_says_the_limit_that_is_kept() {
    for doubt in DOUBTS {
        assert_eq!(doubt.limit.is_some(), doubt.how.contains("{}"), "{}", doubt.kind);
        assert!(!doubt.how().contains('{'), "{}", doubt.kind);
    }
    let how = |caveat| find(&caveat).0.how();
    assert!(how(Caveat::Steal { share: 1.0 }).ends_with("took over 1 % of the CPU time"));
    assert!(how(Caveat::Unmatched { unmatched: 1, ios: 1 }).starts_with("over 0.1 % of the I/Os"));
    assert!(how(Caveat::Drift { low: 1.0, high: 2.0, runs: 3 }).ends_with("differ by over 30 %"));
}

#[test]
fn of_what_a_doubt_speaks_decides_who_tells_it() {
    let at = Nanos(1);
    assert_eq!(scope(&Caveat::Steal { share: 0.5 }), Scope::Machine);
    assert_eq!(scope(&Caveat::Cliff { at, before: 2.0, after: 1.0 }), Scope::Rate);
    assert_eq!(scope(&Caveat::FewSamples { percentile: 99.0, samples: 1, needed: 2 }), Scope::Percentile);
    assert_eq!(scope(&Caveat::GeneratorBound { busy: 1.0 }), Scope::Run);
    assert_eq!(scope(&Caveat::NotSimulated { what: String::new() }), Scope::Omission);
    let of_the_target = all().into_iter().filter(|caveat| scope(caveat) == Scope::Target);
    let of_the_target: Vec<&str> = of_the_target.map(|caveat| find(&caveat).0.kind).collect();
    assert_eq!(of_the_target, ["simulated", "lab"]);
    let meant = all().into_iter().filter_map(|caveat| Some((find(&caveat).0.kind, intended(&caveat)?)));
    let meant: Vec<&str> =
        meant.filter(|(_, intent)| *intent == Intent::PageCache).map(|(kind, _)| kind).collect();
    assert_eq!(
        meant,
        ["cached_reads", "buffered_writes", "device_count_differs", "cache_below", "small_region"]
    );
    assert_eq!(intended(&Caveat::GeneratorBound { busy: 1.0 }), Some(Intent::BusyThread));
}

#[test]
fn a_sentence_goes_with_a_weight_and_a_remedy_with_every_doubt() {
    assert!(
        Weight::Wrong < Weight::Skewed && Weight::Skewed < Weight::Partial && Weight::Partial < Weight::None
    );
    for doubt in DOUBTS {
        assert_eq!(doubt.changes.is_empty(), doubt.weight == Weight::None, "{}", doubt.kind);
        assert!(doubt.changes.is_empty() || doubt.changes.ends_with('.'), "{}", doubt.kind);
        assert!(doubt.remedy.ends_with('.') && !doubt.how.ends_with('.'), "{}", doubt.kind);
    }
    let steal = Caveat::Steal { share: 0.123 };
    assert_eq!(says(&steal), "The hypervisor took 12 % of the CPU time.");
    assert_eq!(changes(&steal), (Weight::Skewed, "Rates may be too low, latencies too high."));
    assert!(remedy(&steal).starts_with("Repeat"));
    assert_eq!(changes(&Caveat::Unstable { relative: 0.2 }), (Weight::None, ""));
}

/// Written anew by `IOSTACK_PAGES=overwrite cargo test --package iostack-doubt page`.
#[test]
fn the_manuals_page_is_made_of_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/caveats.md");
    let text = std::fs::read_to_string(&path).expect("the manual has the page");
    let (head, table) = text.split_once("| kind |").expect("it has a table");
    if format!("| kind |{table}") != page() {
        if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
            std::fs::write(&path, head.to_owned() + &page()).expect("the manual can be written");
        }
        panic!("docs/caveats.md is not what the doubts say; IOSTACK_PAGES=overwrite writes it");
    }
}
