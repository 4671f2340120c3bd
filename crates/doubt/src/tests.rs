//! Is each doubt raised by the evidence for it, only by that, and from its threshold on?

use std::collections::BTreeSet;

use iostack_model::{
    Access, Arrival, Bins, BlockDevice, Clocks, CpuUse, Data, DeviceCount, Direction, Engine, Failure,
    FileSystem, Flow, Inside, Interval, IntervalFlow, Job, Load, Memory, Mix, Nanos, Quality, Queue, Rate,
    Storage, TargetKind, TargetName, Virtualisation, bin_index,
};

use super::*;

/// A virtual machine of 8 GiB.
fn guest() -> Machine {
    let memory = Memory { total: Bytes::gib(8), ..Memory::default() };
    let virtualisation = Virtualisation { hypervisor: Some("kvm".into()), ..Virtualisation::default() };
    Machine { memory, virtualisation, ..Machine::default() }
}

fn storage_of(device: BlockDevice) -> Storage {
    Storage { file_system: None, devices: vec![device] }
}

/// A quiet second of 10 000 reads on a device that counts the same.
fn quiet() -> (Outcome, Evidence) {
    let ios = 10_000u64;
    let latency = Bins {
        counts: vec![(bin_index(100_000) as u32, ios)],
        count: ios,
        sum_ns: ios * 100_000,
        sum_squares_ns2: 1e14,
        min_ns: 100_000,
        max_ns: 100_000,
    };
    let queue = Queue { counts_io: true, requests: 256, hardware_queues: 1, ..Queue::default() };
    let storage = storage_of(BlockDevice { name: "d0".to_owned(), queue, ..BlockDevice::default() });
    let target = TargetName { kind: TargetKind::Block, path: "/dev/d0".into() };
    let bytes = [ios * 4096, 0, 0];
    let outcome = Outcome {
        elapsed: Nanos::secs(1),
        read: Flow { bytes: Bytes(ios * 4096), latency, ..Flow::default() },
        iops: Interval::exact(ios as f64),
        cpu: CpuUse { busiest_thread: 0.2, ..CpuUse::default() },
        depth_achieved: 1.0,
        device: Some(DeviceCount { name: "d0".to_owned(), bytes, ..DeviceCount::default() }),
        ..Outcome::empty(Job::default(), target, storage)
    };
    (outcome, Evidence { alone: true, ..Evidence::default() })
}

fn kind(caveat: &Caveat) -> &'static str {
    &doubt_of_caveat(caveat).kind
}

/// The doubts beside that of too few samples for p99.99, which 10 000 I/Os always raise.
fn doubts(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    let mut doubts = doubts_of_outcome(outcome, evidence);
    doubts.retain(|caveat| kind(caveat) != "few_samples");
    doubts
}

/// The doubts of the quiet run, so changed.
fn changed(change: impl FnOnce(&mut Outcome, &mut Evidence)) -> Vec<Caveat> {
    let (mut outcome, mut evidence) = quiet();
    change(&mut outcome, &mut evidence);
    doubts(&outcome, &evidence)
}

/// True when the quiet run, so changed, has this kind of doubt.
fn has(wanted: &str, change: impl FnOnce(&mut Outcome, &mut Evidence)) -> bool {
    changed(change).iter().any(|caveat| kind(caveat) == wanted)
}

fn device_bytes(outcome: &mut Outcome) -> &mut [u64; 3] {
    &mut outcome.device.as_mut().expect("quiet has one").bytes
}

fn libaio(outcome: &mut Outcome, depth: u32) {
    (outcome.job.engine, outcome.job.queue_depth) = (Engine::Libaio, depth);
}

fn paced(outcome: &mut Outcome, iops: f64) {
    outcome.job.rate = Some(Rate { iops, arrival: Arrival::Regular });
}

fn writes(outcome: &mut Outcome) {
    outcome.write = std::mem::take(&mut outcome.read);
    outcome.job.mix = Mix::WRITE;
    device_bytes(outcome).swap(0, 1);
}

fn compresses(outcome: &mut Outcome, data: Data) {
    outcome.job.data = data;
    let file_system = FileSystem { kind: "btrfs".to_owned(), compresses: true, ..FileSystem::default() };
    outcome.storage.file_system = Some(file_system);
}

type Change = fn(&mut Outcome, &mut Evidence);
type ChangeBy = fn(&mut Outcome, f64);
type JobChange = fn(&mut Job);

#[test]
fn each_doubt_has_its_evidence_and_raises_no_other() {
    let failure = || Failure {
        direction: Direction::Read,
        errno: 5,
        count: 3,
        offset_first: 0,
        message: "I/O error".to_owned(),
        ignored: false,
    };
    let (outcome, evidence) = quiet();
    assert_eq!(doubts(&outcome, &evidence), []);
    let cases: &[(&str, &str, Change)] = &[
        ("unwritten_extents", "1 B of 2 B", |_, e| e.unwritten = Some((Bytes(1), Bytes(2)))),
        ("cached_reads", "", |o, _| (o.job.direct, device_bytes(o)[0]) = (false, 20_480_000)),
        ("cached_reads", "", |o, _| (o.job.engine, device_bytes(o)[0]) = (Engine::Mmap, 4096)),
        ("buffered_writes", "", |o, _| {
            writes(o);
            (o.job.direct, *device_bytes(o)) = (false, [0, 4096, 0]);
        }),
        ("compressible_data", "btrfs", |o, _| {
            writes(o);
            compresses(o, Data::Zeroes);
        }),
        ("device_count_differs", "bytes read", |o, _| device_bytes(o)[0] /= 2),
        ("foreign_io", "72 %", |o, _| device_bytes(o)[1] = 100 << 20),
        ("no_device_count", "iostats", |o, _| o.storage.devices[0].queue.counts_io = false),
        ("no_device_count", "no counters", |o, _| o.device = None),
        ("no_data", "null moves", |o, _| o.job.engine = Engine::Null),
        ("cache_below", "d0 claims", |o, _| o.storage.devices[0].rotational = true),
        ("small_region", "", |_, e| (e.region, e.machine) = (Bytes::mib(100), Some(guest()))),
        ("depth_below_asked", "psync", |o, _| o.job.queue_depth = 32),
        ("depth_below_asked", "d0", |o, _| {
            libaio(o, 512);
            o.depth_achieved = 512.0;
        }),
        ("generator_bound", "97 %", |o, _| o.cpu.busiest_thread = 0.97),
        ("punted", "4 kernel workers (75 %", |o, e| {
            o.job.engine = Engine::IO_URING;
            (o.cpu.user, o.cpu.workers, e.workers) = (Nanos::millis(100), Nanos::millis(300), 4);
        }),
        ("rate_missed", "", |o, _| paced(o, 20_000.0)),
        ("steal", "20 %", |o, _| o.cpu.steal = 0.2),
        ("foreign_cpu", "40 %", |o, _| o.cpu.foreign = 0.4),
        ("clock_not_invariant", "hpet", |_, e| e.clock_other = Some("hpet".to_owned())),
        ("io_limit", "rbps", |_, e| e.io_limit = Some("8:0 rbps=1".to_owned())),
        ("interrupted", "1 s", |o, _| o.interrupted = true),
    ];
    let failed = changed(|outcome, _| outcome.failures.push(failure()));
    assert_eq!(failed, [Caveat::Failed { count: 3, message: "I/O error".to_owned() }]);
    for (expected, part, change) in cases {
        let doubts = changed(change);
        assert_eq!(doubts.iter().map(kind).collect::<Vec<_>>(), [*expected], "{doubts:?}");
        let said = says(&doubts[0]);
        assert!(said.contains(part) && said.ends_with('.'), "{said}");
    }
}

#[test]
fn each_doubt_begins_at_its_threshold() {
    // The value at which the run is quiet, and the next one, at which it is doubted.
    let cases: &[(&str, f64, f64, ChangeBy)] = &[
        // 10,000 I/Os of 4 KiB are 40,960,000 bytes; nine tenths of them 36,864,000.
        ("cached_reads", 36_864_000.0, 36_863_999.0, |o, moved| {
            (o.job.direct, device_bytes(o)[0]) = (false, moved as u64);
        }),
        ("buffered_writes", 36_864_000.0, 36_863_999.0, |o, moved| {
            writes(o);
            (o.job.direct, device_bytes(o)[1]) = (false, moved as u64);
        }),
        // Others' share of all: 2,155,790 of 43,115,790 is just above 5 %.
        ("foreign_io", 2_155_700.0, 2_155_800.0, |o, bytes| device_bytes(o)[1] = bytes as u64),
        // 64 KiB of others' at least, whatever their share.
        ("foreign_io", 65_535.0, 65_536.0, |o, bytes| {
            o.read.bytes = Bytes(4096);
            *device_bytes(o) = [4096, bytes as u64, 0];
        }),
        // 2 % and 64 KiB.
        ("device_count_differs", 884_736.0, 884_737.0, |o, less| device_bytes(o)[0] -= less as u64),
        ("depth_below_asked", 8.0, 7.99, |o, achieved| {
            libaio(o, 10);
            o.depth_achieved = achieved;
        }),
        // Of all threads.
        ("depth_below_asked", 25.6, 25.5, |o, achieved| {
            libaio(o, 8);
            (o.job.threads, o.depth_achieved) = (4, achieved);
        }),
        // Ten rounds of the whole depth are too few to tell: 10,000 I/Os at depth 1,000.
        ("depth_below_asked", 1_000.0, 999.0, |o, depth| {
            libaio(o, depth as u32);
            o.storage.devices[0].queue.requests = 4096;
        }),
        ("generator_bound", 0.899, 0.9, |o, busy| o.cpu.busiest_thread = busy),
        ("load_not_full", 0.02, 0.021, |o, residual| {
            let load = Load { in_flight: 8.0, little: 8.0 * (1.0 - residual), residual, full: 0.5 };
            o.inside = Some(Inside { load: Some(load), ..Inside::default() });
        }),
        ("steal", 0.01, 0.011, |o, share| o.cpu.steal = share),
        ("foreign_cpu", 0.1, 0.101, |o, share| o.cpu.foreign = share),
        // Of 10,000 I/Os chance takes 3 %, and 2 % are nothing.
        ("rate_missed", 10_000.0 / 0.951, 10_000.0 / 0.949, paced),
        ("rate_missed", 5_000.0, 5_500.0, |o, iops| {
            o.job.threads = 2;
            paced(o, iops);
        }),
    ];
    for (row, (wanted, quiet, doubted, change)) in cases.iter().enumerate() {
        let found = [quiet, doubted].map(|value| has(wanted, |outcome, _| change(outcome, *value)));
        assert_eq!(found, [false, true], "row {row}: {wanted}");
    }
}

#[test]
fn what_is_judged_over_many_runs_or_from_inside_begins_at_its_threshold() {
    let quality = |unclassified, inferred| Quality { unclassified, inferred, ..Quality::default() };
    let clocks = |exact| Clocks { exact, ..Clocks::default() };
    let uneven = |widths: &[f64]| {
        let outcome = |&relative: &f64| {
            let mut outcome = quiet().0;
            outcome.caveats = vec![Caveat::Unstable { relative }];
            outcome
        };
        let mut outcomes: Vec<Outcome> = widths.iter().map(outcome).collect();
        outcomes.resize(8, quiet().0);
        unstable_of_many(outcomes.iter())
    };
    let unstable = |relative| Some(Caveat::Unstable { relative });
    let drifted = Some(Caveat::Drift { low: 100.0, high: 130.1, runs: 3 });
    let overlapped = |callers, times| Some(Caveat::CostOverlapped { callers, times });
    let cases = [
        (foreign_cpu_of_many(0.05), None),
        (foreign_cpu_of_many(0.051), Some(Caveat::ForeignCpu { share: 0.051 })),
        (drift(&[100.0, 130.0]), None),
        (drift(&[130.1, 100.0, 110.0]), drifted),
        (drift(&[1.0]), None),
        (drift(&[]), None),
        (punted(1, Nanos(5), Nanos(100)), None),
        (punted(1, Nanos(6), Nanos(100)), Some(Caveat::Punted { workers: 1, cpu_share: 0.06 })),
        (punted(0, Nanos(6), Nanos(100)), None),
        (cost_overlapped(10.0, (4, 15.0)), None),
        (cost_overlapped(10.0, (4, 16.0)), overlapped(4, 1.6)),
        (cost_overlapped(0.0, (4, 1.0)), None),
        (not_linear(true, 0.1, 1.0), None),
        (not_linear(false, 0.2, 1.0), Some(Caveat::NotLinear { residual: 0.2, bend: 1.0 })),
        (uneven(&[0.3, 0.1]), None),
        (uneven(&[0.3, 0.1, 0.2]), unstable(0.2)),
        (uneven(&[0.3, 0.1, 0.2, 0.4]), unstable(0.3)),
        (unstable_of_many([].into_iter()), None),
        (events_lost(0, 9), None),
        (events_lost(1, 9), Some(Caveat::EventsLost { lost: 1, seen: 9 })),
        (unmatched(1_000, 999), None),
        (unmatched(1_000, 998), Some(Caveat::Unmatched { unmatched: 2, ios: 1_000 })),
        (unclassified(&quality(0.005, 0.005)), None),
        (unclassified(&quality(0.75, 0.125)), Some(Caveat::Unclassified { share: 0.875 })),
        (unclassified(&quality(0.006, 0.0)), None),
        (inexact_clocks(&clocks(true)), None),
        (inexact_clocks(&clocks(false)), Some(Caveat::InexactClocks { how: String::new() })),
        (Some(traced(50.0, 1_000.0)), Some(Caveat::Traced { ns_per_io: 50.0, share: 0.05 })),
        (Some(traced(50.0, 0.0)), Some(Caveat::Traced { ns_per_io: 50.0, share: 0.0 })),
    ];
    for (row, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "row {row}");
    }
    assert!(unclassified(&quality(0.006, 0.005)).is_some());
}

#[test]
fn a_clock_that_the_machine_does_not_vouch_for_is_named() {
    let mut machine = guest();
    machine.kernel.clock_source = "hpet".to_owned();
    assert_eq!(clock_not_invariant(&machine), Some(Caveat::ClockNotInvariant { source: "hpet".to_owned() }));
    machine.cpu.tsc_invariant = true;
    assert_eq!(clock_not_invariant(&machine), None);
}

#[test]
fn whom_a_doubt_does_not_concern_is_not_doubted() {
    let quiet: &[(&str, Change)] = &[
        ("in flight at the border", |o, e| (device_bytes(o)[0], e.border_ios) = (42_008_576, 256)),
        ("random data does not compress", |o, _| {
            writes(o);
            compresses(o, Data::Random);
        }),
        ("nothing was written", |o, _| compresses(o, Data::Zeroes)),
        ("all was written", |_, e| e.unwritten = Some((Bytes(0), Bytes(2)))),
        ("nothing was read of unwritten bytes", |o, e| {
            (o.read, *device_bytes(o)) = (Flow::default(), [0; 3]);
            e.unwritten = Some((Bytes(1), Bytes(2)));
        }),
        ("nothing was read of a small region", |o, e| {
            (o.read, *device_bytes(o)) = (Flow::default(), [0; 3]);
            (e.region, e.machine) = (Bytes::mib(1), Some(guest()));
        }),
        ("a disk with heads reads in order", |o, _| {
            (o.storage.devices[0].rotational, o.job.access) = (true, Access::Sequential);
        }),
        ("its page cache answers", |o, _| {
            (o.storage.devices[0].rotational, o.job.direct) = (true, false);
        }),
        ("it is mapped", |o, _| {
            (o.storage.devices[0].rotational, o.job.engine) = (true, Engine::Mmap);
        }),
        ("zram counts with accounting off", |o, _| {
            o.storage.devices[0].queue.counts_io = false;
            o.device.as_mut().expect("quiet has one").ios = [5, 0, 0];
        }),
        ("metadata over 64 KiB, far below 5 %", |o, _| device_bytes(o)[1] = 70 << 10),
        ("mapped reads ahead", |o, _| (o.job.engine, device_bytes(o)[0]) = (Engine::Mmap, 43_057_152)),
        ("small buffered traffic", |o, _| {
            (o.read.bytes, o.job.direct, *device_bytes(o)) = (Bytes(4096), false, [4096, 64 << 10, 0]);
        }),
        ("another group uses the device", |o, e| (e.alone, device_bytes(o)[1]) = (false, 100 << 20)),
        ("a device that does not say how many it queues", |o, _| {
            libaio(o, 512);
            (o.depth_achieved, o.storage.devices[0].queue.requests) = (512.0, 0);
        }),
        ("an open loop counts what waits", |o, _| {
            stalls(o, Nanos::secs(1), Nanos::secs(30));
            paced(o, 100.0);
        }),
        // CPUs, counters and caches of this machine say nothing of a simulation, and its load says itself how deep it was.
        ("a simulation", |o, e| {
            (e.simulated, o.storage) = (true, Storage::default());
            (o.cpu.busiest_thread, o.cpu.steal) = (1.0, 0.5);
            libaio(o, 32);
        }),
    ];
    for (case, change) in quiet {
        assert_eq!(changed(change), [], "{case}");
    }
    let flushes = changed(|outcome, evidence| {
        evidence.simulated = true;
        libaio(outcome, 32);
        outcome.job.sync.fsync_every = 1;
    });
    assert!(matches!(flushes[..], [Caveat::DepthBelowAsked { .. }]));
}

/// The quiet second with one read of this length, which has its place in the series.
fn stalls(outcome: &mut Outcome, longest: Nanos, elapsed: Nanos) {
    let latency = &mut outcome.read.latency;
    latency.counts.push((bin_index(longest.0) as u32, 1));
    (latency.count, latency.max_ns) = (latency.count + 1, longest.0);
    outcome.elapsed = elapsed;
    let element = |second, max| IntervalFlow { start: Nanos::secs(second), max, ..IntervalFlow::default() };
    outcome.series = vec![element(0, Nanos(100_000)), element(1, longest)];
}

#[test]
fn a_stall_takes_100_ms_a_hundredth_of_the_run_and_ten_times_what_others_take() {
    let second = changed(|outcome, _| stalls(outcome, Nanos::secs(1), Nanos::secs(30)));
    let expected = Caveat::Stall { at: Nanos::secs(1), longest: Nanos::secs(1), waiting: Nanos(0) };
    assert_eq!(second, [expected], "at its place");
    for (longest, elapsed, usual, expected) in [
        (100_000_000, 10_000_000_000, 100_000, true),
        (99_999_999, 1_000_000_000, 100_000, false),
        (100_000_000, 10_000_000_001, 100_000, false),
        (100_000_000, 10_000_000_000, 9_900_000, true),
        (100_000_000, 10_000_000_000, 10_200_000, false),
    ] {
        let stalled = has("stall", |outcome, _| {
            stalls(outcome, Nanos(longest), Nanos(elapsed));
            outcome.read.latency.counts[0].0 = bin_index(usual) as u32;
        });
        assert_eq!(stalled, expected, "{longest} ns of {elapsed}, others {usual}");
    }
    let said = |waiting| says(&Caveat::Stall { at: Nanos(0), longest: Nanos(100), waiting: Nanos(waiting) });
    assert_eq!([49, 50].map(|waiting| said(waiting).contains("lacked a CPU")), [false, true]);
}

#[test]
fn depth_that_is_missing_is_blamed_on_what_took_it() {
    // The busy share of the thread, the time it was ready without a CPU, and the reason.
    let cases: &[(f64, u64, &str, JobChange)] = &[
        (0.9, 0, "no CPU time left", |_| ()),
        (0.5, 125, "12 % of the time without having a CPU", |_| ()),
        (0.25, 124, "while the generator's thread works, 25 %", |_| ()),
        (0.24, 0, "other than I/O", |_| ()),
        (0.0, 0, "batch", |job| job.batch.submit = 2),
        (0.0, 0, "batch", |job| job.batch.complete_min = 2),
        (0.0, 0, "flush", |job| job.sync.fsync_every = 1),
        (0.0, 0, "flush", |job| job.sync.fdatasync_every = 1),
        (0.0, 0, "one I/O in flight", |job| job.engine = Engine::Psync),
    ];
    for (busy, waiting_ms, expected, change) in cases {
        let doubts = changed(|outcome, _| {
            libaio(outcome, 32);
            // A quarter of the depth is missing.
            outcome.depth_achieved = 24.0;
            (outcome.cpu.busiest_thread, outcome.cpu.waiting) = (*busy, Nanos::millis(*waiting_ms));
            outcome.cpu.wanted = busy + outcome.cpu.waiting.as_secs_f64();
            change(&mut outcome.job);
        });
        assert!(says(&doubts[0]).contains(expected), "{doubts:?}");
    }
}

#[test]
fn a_queue_is_too_small_above_its_places_and_never_in_a_simulation() {
    for (depth, queues, simulated, expected) in [
        (256, 1, false, false),
        (257, 1, false, true),
        (257, 1, true, false),
        (512, 2, false, false),
        (513, 2, false, true),
        // No number of queues is one.
        (257, 0, false, true),
    ] {
        let small = has("depth_below_asked", |outcome, evidence| {
            libaio(outcome, depth);
            outcome.depth_achieved = f64::from(depth);
            outcome.storage.devices[0].queue.hardware_queues = queues;
            evidence.simulated = simulated;
        });
        assert_eq!(small, expected, "depth {depth}, {queues} queues");
    }
}

#[test]
fn a_cache_below_is_doubted_by_the_disk_that_is_said_to_be_there() {
    let rotating = storage_of(BlockDevice { rotational: true, ..BlockDevice::default() });
    assert_eq!(cache_below(&rotating, Nanos::millis(1)), None);
    assert!(cache_below(&rotating, Nanos(999_999)).is_some());
    assert_eq!(cache_below(&Storage::default(), Nanos(999_999)), None);
    let on = |driver: &str| storage_of(BlockDevice { driver: driver.to_owned(), ..BlockDevice::default() });
    let (machine, disk) = (guest(), on("virtio_blk"));
    let below = Bytes(Bytes::gib(8).0 - 1);
    let expected = Caveat::SmallRegion { region: below, memory: Bytes::gib(8) };
    assert_eq!(small_region(below, &machine, &disk), Some(expected));
    assert_eq!(small_region(Bytes::gib(8), &machine, &disk), None);
    assert_eq!(small_region(Bytes(0), &machine, &disk), None);
    for elsewhere in [on("zram"), on("loop"), Storage::default()] {
        assert_eq!(small_region(below, &machine, &elsewhere), None);
    }
    let metal = Machine { virtualisation: Virtualisation::default(), ..machine };
    assert_eq!(small_region(below, &metal, &disk), None);
}

/// `RateStep` as JSON names it.
fn snake(name: &str) -> String {
    let word = |letter: char| {
        if letter.is_uppercase() { format!("_{}", letter.to_lowercase()) } else { letter.to_string() }
    };
    name.chars().map(word).collect::<String>().trim_start_matches('_').to_owned()
}

#[test]
fn each_caveat_has_a_table_under_the_name_that_json_has() {
    let source = include_str!("../../model/src/caveat.rs");
    let variants = source.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    let variants: BTreeSet<String> = variants.filter(|name| !name.contains(' ')).map(snake).collect();
    assert_eq!(variants, DOUBTS.iter().map(|doubt| doubt.kind.clone()).collect());
    let raw: DoubtFile = toml::from_str(include_str!("doubts.toml")).expect("it is sound");
    for (raw, doubt) in raw.doubt.iter().zip(DOUBTS.iter()) {
        let kind = &doubt.kind;
        assert_eq!(raw.how.contains("{}"), !limit_of_kind(kind).is_empty(), "{kind}");
        assert_eq!(doubt.changes.is_empty(), doubt.weight == Weight::None, "{kind}");
        assert!(doubt.changes.is_empty() || doubt.changes.ends_with('.'), "{kind}");
        assert!(doubt.remedy.ends_with('.') && !doubt.how.ends_with('.'), "{kind}");
    }
}

#[test]
fn of_what_a_doubt_speaks_decides_who_tells_it() {
    let steal = Caveat::Steal { share: 0.123 };
    assert_eq!(says(&steal), "The hypervisor took 12 % of the CPU time.");
    assert_eq!(changes(&steal), (Weight::Skewed, "Rates may be too low, latencies too high."));
    assert!(remedy(&steal).starts_with("Repeat"));
    assert_eq!(changes(&Caveat::Unstable { relative: 0.2 }), (Weight::None, ""));
    assert_eq!((scope(&steal), intended(&steal)), (Scope::Machine, None));
    assert_eq!(intended(&Caveat::GeneratorBound { busy: 1.0 }), Some(Intent::BusyThread));
    let one = says(&Caveat::Punted { workers: 1, cpu_share: 0.5 });
    assert!(one.contains("1 kernel worker ("), "{one}");
    let kinds = |wanted: fn(&Doubt) -> bool| {
        DOUBTS.iter().filter(|doubt| wanted(doubt)).map(|doubt| doubt.kind.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(|doubt| doubt.scope == Scope::Target), ["simulated", "lab"]);
    assert_eq!(kinds(|doubt| doubt.scope == Scope::Omission), ["not_simulated"]);
    assert_eq!(kinds(|doubt| doubt.scope == Scope::Percentile), ["few_samples"]);
    assert_eq!(
        kinds(|doubt| doubt.intended == Some(Intent::PageCache)),
        ["cached_reads", "buffered_writes", "device_count_differs", "cache_below", "small_region"]
    );
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
