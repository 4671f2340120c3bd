//! Is each doubt raised by the evidence for it, and only by that?

use super::*;
use iostack_model::{
    Arrival, Bins, BlockDevice, CpuUse, Failure, FileSystem, Flow, Interval, Job, Mix, Queue, Rate, Storage,
    Target, TargetKind,
};

/// A quiet second of 10 000 reads on a device that counts the same.
fn quiet() -> (Outcome, Evidence) {
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
    let outcome = Outcome {
        job: Job::default(),
        target: Target { kind: TargetKind::Block, path: "/dev/d0".into() },
        storage: Storage { file_system: None, devices: vec![device] },
        started_unix_ms: 0,
        elapsed: Nanos::secs(1),
        startup: Nanos(0),
        read: Flow { bytes: Bytes(ios * 4096), latency, ..Flow::default() },
        write: Flow::default(),
        trim: Flow::default(),
        sync: Bins::default(),
        iops: Interval::exact(ios as f64),
        series: Vec::new(),
        cpu: CpuUse { busiest_thread: 0.2, ..CpuUse::default() },
        depth_achieved: 1.0,
        device: Some(DeviceCount {
            name: "d0".to_owned(),
            bytes: [ios * 4096, 0, 0],
            ..DeviceCount::default()
        }),
        failures: Vec::new(),
        verified: 0,
        interrupted: false,
        log: Vec::new(),
        stages: None,
        layers: None,
        inside: None,
        app: None,
        caveats: Vec::new(),
    };
    (outcome, Evidence { alone: true, ..Evidence::default() })
}

/// The doubts beside that of too few samples for p99.99, which 10 000 I/Os always raise.
fn doubts(outcome: &Outcome, evidence: &Evidence) -> Vec<Caveat> {
    of(outcome, evidence).into_iter().filter(|caveat| !matches!(caveat, Caveat::FewSamples { .. })).collect()
}

/// Changes the quiet outcome, and expects just this doubt.
fn expect(change: impl FnOnce(&mut Outcome, &mut Evidence), expected: fn(&Caveat) -> bool) {
    let (mut outcome, mut evidence) = quiet();
    change(&mut outcome, &mut evidence);
    let doubts = doubts(&outcome, &evidence);
    assert!(doubts.len() == 1 && expected(&doubts[0]), "{doubts:?}");
}

#[test]
fn a_quiet_run_raises_no_doubt() {
    let (outcome, evidence) = quiet();
    assert_eq!(doubts(&outcome, &evidence), []);
}

#[test]
fn each_doubt_about_data_has_its_evidence() {
    expect(
        |_, evidence| evidence.unwritten = Some((Bytes(1), Bytes(2))),
        |caveat| matches!(caveat, Caveat::UnwrittenExtents { .. }),
    );
    expect(
        |outcome, _| {
            outcome.job.direct = false;
            outcome.device.as_mut().expect("quiet has one").bytes[0] /= 2;
        },
        |caveat| matches!(caveat, Caveat::CachedReads { .. }),
    );
    expect(
        |outcome, _| outcome.device.as_mut().expect("quiet has one").bytes[0] /= 2,
        |caveat| matches!(caveat, Caveat::DeviceCountDiffers { .. }),
    );
    expect(
        |outcome, _| outcome.device.as_mut().expect("quiet has one").bytes[1] = 100 << 20,
        |caveat| matches!(caveat, Caveat::ForeignIo { share, .. } if *share > 0.7),
    );
    expect(
        |outcome, _| outcome.storage.devices[0].queue.counts_io = false,
        |caveat| matches!(caveat, Caveat::NoDeviceCount { .. }),
    );
    expect(
        |outcome, _| outcome.storage.devices[0].rotational = true,
        |caveat| matches!(caveat, Caveat::CacheBelow { .. }),
    );
    expect(
        |_, evidence| {
            evidence.memory_virtual = Some(Bytes::gib(8));
            evidence.region = Bytes::mib(100);
        },
        |caveat| matches!(caveat, Caveat::SmallRegion { .. }),
    );
    expect(
        |outcome, _| {
            let message = "I/O error".to_owned();
            let direction = iostack_model::Direction::Read;
            outcome.failures.push(Failure { direction, errno: 5, count: 3, offset_first: 0, message });
        },
        |caveat| matches!(caveat, Caveat::Failed { count: 3, .. }),
    );
}

#[test]
fn compressible_writes_are_doubted_where_storage_compresses() {
    let writes = |outcome: &mut Outcome, data| {
        outcome.write = std::mem::take(&mut outcome.read);
        outcome.job.mix = Mix::WRITE;
        outcome.job.data = data;
        outcome.device.as_mut().expect("quiet has one").bytes.swap(0, 1);
        let file_system = FileSystem { kind: "btrfs".to_owned(), compresses: true, ..FileSystem::default() };
        outcome.storage.file_system = Some(file_system);
    };
    expect(
        |outcome, _| writes(outcome, Data::Zeroes),
        |caveat| matches!(caveat, Caveat::CompressibleData { storage } if storage == "btrfs"),
    );
    let (mut outcome, evidence) = quiet();
    writes(&mut outcome, Data::Random);
    assert_eq!(doubts(&outcome, &evidence), []);
}

#[test]
fn each_doubt_about_load_has_its_evidence() {
    expect(
        |outcome, _| outcome.job.queue_depth = 32,
        |caveat| matches!(caveat, Caveat::DepthBelowAsked { reason, .. } if reason.contains("psync")),
    );
    expect(
        |outcome, _| {
            outcome.job.engine = Engine::Libaio;
            outcome.job.queue_depth = 512;
            outcome.depth_achieved = 512.0;
        },
        |caveat| matches!(caveat, Caveat::DepthBelowAsked { reason, .. } if reason.contains("d0")),
    );
    expect(
        |outcome, _| outcome.cpu.busiest_thread = 0.97,
        |caveat| matches!(caveat, Caveat::GeneratorBound { .. }),
    );
    expect(
        |outcome, evidence| {
            outcome.job.engine = Engine::IO_URING;
            outcome.cpu.user = Nanos::millis(100);
            outcome.cpu.workers = Nanos::millis(300);
            evidence.workers = 4;
        },
        |caveat| matches!(caveat, Caveat::Punted { workers: 4, cpu_share } if (cpu_share - 0.75).abs() < 1e-9),
    );
    expect(
        |outcome, _| outcome.job.rate = Some(Rate { iops: 20_000.0, arrival: Arrival::Regular }),
        |caveat| matches!(caveat, Caveat::RateMissed { .. }),
    );
    expect(|outcome, _| outcome.cpu.steal = 0.2, |caveat| matches!(caveat, Caveat::Steal { .. }));
    expect(|_, evidence| evidence.foreign_cpu = 0.4, |caveat| matches!(caveat, Caveat::ForeignCpu { .. }));
    expect(
        |_, evidence| evidence.clock_other = Some("hpet".to_owned()),
        |caveat| matches!(caveat, Caveat::ClockNotInvariant { .. }),
    );
    expect(
        |_, evidence| evidence.io_limit = Some("8:0 rbps=1".to_owned()),
        |caveat| matches!(caveat, Caveat::IoLimit { .. }),
    );
    expect(|outcome, _| outcome.interrupted = true, |caveat| matches!(caveat, Caveat::Interrupted { .. }));
}

#[test]
fn what_was_in_flight_at_the_border_is_no_difference() {
    let (mut outcome, mut evidence) = quiet();
    outcome.device.as_mut().expect("quiet has one").bytes[0] += 1 << 20;
    evidence.border_ios = 256;
    assert_eq!(doubts(&outcome, &evidence), []);
}
