//! Is each doubt quiet just beside its threshold, and for those whom it does not concern?

use iostack_model::{
    Access, BlockDevice, Caveat, Clocks, Data, Engine, FileSystem, Inside, Load, Mix, Nanos, Outcome,
    Quality, Rate, Storage,
};

use super::tests::{device_bytes, doubts, expect, guest, has, quiet};
use super::*;

fn found(caveat: impl Into<Option<Caveat>>) -> bool {
    caveat.into().is_some()
}

fn rotating() -> Storage {
    let device = BlockDevice { name: "d0".to_owned(), rotational: true, ..BlockDevice::default() };
    Storage { file_system: None, devices: vec![device] }
}

/// The asked depth and the reason, where one is missing.
fn shallow(change: impl FnOnce(&mut Outcome)) -> Option<(f64, String)> {
    let (mut outcome, evidence) = quiet();
    change(&mut outcome);
    doubts(&outcome, &evidence).into_iter().find_map(|caveat| match caveat {
        Caveat::DepthBelowAsked { asked, reason, .. } => Some((asked, reason)),
        _ => None,
    })
}

#[test]
fn the_page_cache_is_doubted_in_both_directions_and_only_for_what_was_buffered() {
    expect("buffered_writes", |outcome, _| {
        outcome.job.direct = false;
        outcome.write = std::mem::take(&mut outcome.read);
        *device_bytes(outcome) = [0, 4096, 0];
    });
    expect("cached_reads", |outcome, _| {
        outcome.job.engine = Engine::Mmap;
        device_bytes(outcome)[0] = 4096;
    });
}

#[test]
fn a_disk_with_heads_is_doubted_below_a_millisecond_and_for_direct_random_reads_alone() {
    let (ms, below) = (Nanos::millis(1), Nanos(999_999));
    let at = |storage, latency| found(cache_below::of_latency(&storage, latency));
    assert_eq!((at(rotating(), ms), at(rotating(), below)), (false, true));
    assert!(!at(Storage::default(), below));
    let doubted = |change: fn(&mut Outcome)| {
        has("cache_below", |outcome, _| {
            outcome.storage.devices[0].rotational = true;
            change(outcome);
        })
    };
    assert!(doubted(|_| ()));
    assert!(!doubted(|outcome| outcome.job.direct = false));
    assert!(!doubted(|outcome| outcome.job.engine = Engine::Mmap));
    assert!(!doubted(|outcome| outcome.job.access = Access::Sequential));
}

#[test]
fn what_was_not_done_is_not_doubted() {
    let without_reads = |outcome: &mut Outcome| {
        outcome.read = iostack_model::Flow::default();
        *device_bytes(outcome) = [0; 3];
    };
    let none = |change: fn(&mut Outcome, &mut Evidence)| {
        let (mut outcome, mut evidence) = quiet();
        without_reads(&mut outcome);
        change(&mut outcome, &mut evidence);
        doubts(&outcome, &evidence)
    };
    assert_eq!(none(|_, evidence| evidence.unwritten = Some((Bytes(1), Bytes(2)))), []);
    assert_eq!(
        none(|_, evidence| (evidence.region, evidence.machine) = (Bytes::mib(1), Some(guest()))),
        [],
        "nothing was read"
    );
    let compresses = |outcome: &mut Outcome, _: &mut Evidence| {
        outcome.job.data = Data::Zeroes;
        outcome.storage.file_system =
            Some(FileSystem { kind: "btrfs".to_owned(), compresses: true, ..FileSystem::default() });
    };
    assert_eq!(none(compresses), [], "nothing was written");
    assert!(!has("", |_, evidence| evidence.unwritten = Some((Bytes(0), Bytes(2)))), "all was written");
}

#[test]
fn a_device_that_counts_though_its_accounting_is_off_confirms_and_one_without_counters_does_not() {
    let off = |ios: u64| {
        has("no_device_count", |outcome, _| {
            outcome.storage.devices[0].queue.counts_io = false;
            outcome.device.as_mut().expect("quiet has one").ios = [ios, 0, 0];
        })
    };
    assert_eq!((off(5), off(0)), (false, true));
    let none = expect("no_device_count", |outcome, _| outcome.device = None);
    assert!(says(&none).contains("no counters"), "{none:?}");
}

#[test]
fn counts_differ_only_where_ours_are_to_be_seen() {
    // Metadata in a direction that is not ours: over 64 KiB, and far below 5 % of the traffic.
    assert!(!has("", |outcome, _| device_bytes(outcome)[1] = 70 << 10));
    assert!(!has("device_count_differs", |outcome, _| {
        outcome.job.engine = Engine::Mmap;
        device_bytes(outcome)[0] += 2 << 20;
    }));
    // Small traffic: 64 KiB of others' at least, whatever their share.
    let small = |bytes: u64, direct: bool| {
        has("foreign_io", |outcome, _| {
            (outcome.read.bytes, outcome.job.direct) = (Bytes(4096), direct);
            *device_bytes(outcome) = [4096, bytes, 0];
        })
    };
    let told = [small((64 << 10) - 1, true), small(64 << 10, true), small(64 << 10, false)];
    assert_eq!(told, [false, true, false]);
    assert!(!has("", |outcome, evidence| {
        evidence.alone = false;
        device_bytes(outcome)[1] = 100 << 20;
    }));
}

#[test]
fn the_depth_is_that_of_all_threads_and_its_reason_what_took_it() {
    let libaio = |outcome: &mut Outcome| {
        (outcome.job.engine, outcome.job.queue_depth, outcome.job.threads) = (Engine::Libaio, 8, 4);
    };
    let reached = |depth: f64| {
        shallow(|outcome| {
            libaio(outcome);
            outcome.depth_achieved = depth;
        })
    };
    assert_eq!((reached(20.0).map(|(asked, _)| asked), reached(25.6)), (Some(32.0), None));
    // Ten rounds of the whole depth are too few to tell: 10,000 I/Os at depth 1,000.
    let rounds = |depth: u32| {
        shallow(|outcome| {
            libaio(outcome);
            (outcome.job.queue_depth, outcome.job.threads) = (depth, 1);
            outcome.storage.devices[0].queue.requests = 4096;
        })
    };
    assert_eq!((rounds(1_000).is_some(), rounds(999).is_some()), (false, true));
    let because = |change: fn(&mut Outcome)| {
        let reason = shallow(|outcome| {
            libaio(outcome);
            change(outcome);
        });
        reason.expect("a depth of 1 of 32").1
    };
    assert!(because(|outcome| outcome.job.batch.submit = 2).contains("batch"));
    assert!(because(|outcome| outcome.job.batch.complete_min = 2).contains("batch"));
    assert!(because(|outcome| outcome.job.sync.fsync_every = 1).contains("flush"));
    assert!(because(|outcome| outcome.job.sync.fdatasync_every = 1).contains("flush"));
    assert!(because(|outcome| outcome.job.engine = Engine::Psync).contains("one I/O in flight"));
    let alone = because(|outcome| (outcome.job.engine, outcome.job.queue_depth) = (Engine::Psync, 1));
    assert!(alone.contains("other than I/O"), "{alone}");
}

#[test]
fn a_queue_is_too_small_above_its_places_and_never_in_a_simulation() {
    let places = |depth: u32, requests: u32, queues: u32, simulated: bool| {
        has("depth_below_asked", |outcome, evidence| {
            (outcome.job.engine, outcome.job.queue_depth) = (Engine::Libaio, depth);
            outcome.depth_achieved = f64::from(depth);
            let queue = &mut outcome.storage.devices[0].queue;
            (queue.requests, queue.hardware_queues) = (requests, queues);
            evidence.simulated = simulated;
        })
    };
    let in_one = [places(256, 256, 1, false), places(257, 256, 1, false), places(257, 256, 1, true)];
    assert_eq!(in_one, [false, true, false]);
    assert_eq!([places(512, 256, 2, false), places(513, 256, 2, false)], [false, true]);
    assert!(places(257, 256, 0, false), "no number of queues is one");
    assert!(!places(512, 0, 1, false), "a device that does not say");
}

#[test]
fn a_load_that_is_not_full_is_doubted_above_two_percent() {
    let loaded = |residual: f64| {
        let load = Load { in_flight: 8.0, little: 8.0 * (1.0 - residual), residual, full: 0.5 };
        has("load_not_full", |outcome, _| {
            outcome.inside = Some(Inside { load: Some(load), ..Inside::default() });
        })
    };
    assert_eq!((loaded(0.02), loaded(0.021)), (false, true));
}

#[test]
fn the_rate_is_that_of_all_threads() {
    let missed = |iops: f64, threads: u32| {
        let (mut outcome, _) = quiet();
        outcome.job.rate = Some(Rate { iops, arrival: iostack_model::Arrival::Regular });
        outcome.job.threads = threads;
        rate_missed::missed(&outcome)
    };
    assert_eq!(missed(5_000.0, 2), None);
    assert_eq!(missed(5_500.0, 2).map(|(asked, _)| asked), Some(11_000.0));
}

#[test]
fn looking_is_doubted_by_what_it_lost_and_cost() {
    assert_eq!((found(events_lost::of_events(0, 9)), found(events_lost::of_events(1, 9))), (false, true));
    assert_eq!((found(unmatched::of_ios(1_000, 999)), found(unmatched::of_ios(1_000, 998))), (false, true));
    let quality = |unclassified, inferred| Quality { unclassified, inferred, ..Quality::default() };
    let unclear = |unclassified, inferred| found(unclassified::of_quality(&quality(unclassified, inferred)));
    assert_eq!((unclear(0.005, 0.005), unclear(0.006, 0.005), unclear(0.0, 0.0)), (false, true, false));
    let clocks = |exact| Clocks { exact, ..Clocks::default() };
    assert_eq!(
        (found(inexact_clocks::of_clocks(&clocks(true))), found(inexact_clocks::of_clocks(&clocks(false)))),
        (false, true)
    );
    assert_eq!(traced::of_cost(50.0, 1_000.0), Caveat::Traced { ns_per_io: 50.0, share: 0.05 });
    assert_eq!(traced::of_cost(50.0, 0.0), Caveat::Traced { ns_per_io: 50.0, share: 0.0 });
}

#[test]
fn merging_is_doubted_by_its_line_and_by_what_overlaps() {
    assert_eq!(
        (found(not_linear::of_fit(true, 0.1, 1.0)), found(not_linear::of_fit(false, 0.2, 1.0))),
        (false, true)
    );
    assert_eq!(
        cost_overlapped::of_callers(10.0, (8, 40.0)),
        Some(Caveat::CostOverlapped { callers: 8, times: 4.0 })
    );
}

#[test]
fn a_clock_that_the_machine_does_not_vouch_for_is_named() {
    let mut machine = guest();
    machine.kernel.clock_source = "hpet".to_owned();
    assert_eq!(clock::of_machine(&machine), Some(Caveat::ClockNotInvariant { source: "hpet".to_owned() }));
    machine.cpu.tsc_invariant = true;
    assert_eq!(clock::of_machine(&machine), None);
}

#[test]
fn sentences_count_as_people_do() {
    let workers = |workers| says(&Caveat::Punted { workers, cpu_share: 0.5 });
    assert!(workers(1).contains("1 kernel worker (") && workers(2).contains("2 kernel workers ("));
    let stalled =
        |waiting| says(&Caveat::Stall { at: Nanos(0), longest: Nanos(100), waiting: Nanos(waiting) });
    assert_eq!((stalled(50).contains("lacked a CPU"), stalled(49).contains("lacked a CPU")), (true, false));
    assert!(!found(drift::of_rates(&[100.0, 100.0])));
    let uneven = |widths: &[f64]| {
        let outcome = |&relative: &f64| {
            let mut outcome = quiet().0;
            outcome.job.mix = Mix::READ;
            outcome.caveats = vec![Caveat::Unstable { relative }];
            outcome
        };
        let outcomes: Vec<Outcome> = widths.iter().map(outcome).collect();
        unstable::of_many(outcomes.iter())
    };
    assert_eq!(uneven(&[0.3, 0.1, 0.2]), Some(Caveat::Unstable { relative: 0.2 }), "the middle one");
    assert_eq!(uneven(&[0.3, 0.1, 0.2, 0.4]), Some(Caveat::Unstable { relative: 0.3 }));
}
