//! A load whose answer is known: what was asked is what is counted, here and by the device.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{MIB, come, counted, data, engines, random, run};
use iostack_engine::{Control, run_job};
use iostack_model::*;
use iostack_testkit::{Loop, folder, or_skip};

#[test]
fn ninety_seven_ios_are_counted_as_97_by_every_engine() {
    let (_folder, path) = data(folder!("known-load"), 8 * MIB);
    for engine in engines() {
        for (depth, submit) in [(1, 1), (7, 1), (32, 16), (128, 128)] {
            let batch = Batch { submit, complete_min: submit.min(depth) };
            let job = Job { batch, ..counted(engine, depth, 97, 8 * MIB) };
            let Some(outcome) = come("ninety_seven_ios", run(&job, &path)) else { continue };
            assert_eq!(outcome.read.latency.count, 97, "{engine:?} {depth} {submit}");
            assert_eq!(outcome.read.bytes, Bytes(97 * 4096));
            assert_eq!(outcome.series.iter().map(|slice| slice.ios[0]).sum::<u64>(), 97);
            assert_eq!(outcome.failures, []);
            assert!(outcome.depth_achieved <= f64::from(job.depth()) + 0.01, "{}", outcome.depth_achieved);
            if engine.is_synchronous() {
                assert_eq!(outcome.cpu.syscalls, 97);
            }
        }
    }
}

#[test]
fn writes_and_mixes_are_counted_exactly_too() {
    let (_folder, path) = data(folder!("known-writes"), 8 * MIB);
    for engine in engines() {
        for mix in [Mix::WRITE, Mix::reads(50)] {
            let job = Job { mix, ..counted(engine, 8, 97, 8 * MIB) };
            let Some(outcome) = come("writes_and_mixes", run(&job, &path)) else { continue };
            assert_eq!(outcome.ios(), 97, "{engine:?} {mix:?}");
            assert_eq!(outcome.bytes(), Bytes(97 * 4096));
            assert_eq!(outcome.write.latency.count == 97, mix == Mix::WRITE);
        }
    }
}

#[test]
fn a_job_that_was_split_begins_one_increment_after_the_job_before() {
    let (_folder, path) = data(folder!("known-split"), 2 * MIB);
    let first = Job {
        access: Access::Sequential,
        offset_increment: Bytes(MIB),
        thread_first: 1,
        logs: LogRequest { latency: Some("each".into()), ..LogRequest::default() },
        ..counted(Engine::Psync, 1, 97, MIB)
    };
    // Counted twice, the second job of a file of two parts would begin behind its end.
    let outcome = run(&first, &path).expect("two regions fit");
    let offsets: Vec<u64> = outcome.log.iter().map(|entry| entry.offset).collect();
    assert_eq!(offsets, (0..97).map(|block| MIB + block * 4096).collect::<Vec<u64>>());
}

#[test]
fn threads_each_do_what_was_asked() {
    let (_folder, path) = data(folder!("known-threads"), 8 * MIB);
    let job = Job { threads: 5, ..counted(Engine::Libaio, 4, 97, 8 * MIB) };
    let outcome = run(&job, &path).expect("a plain file");
    assert_eq!(outcome.ios(), 5 * 97);
    assert_eq!(outcome.job.threads, 5);
}

#[test]
fn null_counts_every_io_and_makes_no_call() {
    let target = TargetName { kind: TargetKind::File, path: "null".into() };
    for (depth, mix) in [(1, Mix::READ), (8, Mix::READ), (8, Mix::reads(50)), (1, Mix::TRIM), (8, Mix::TRIM)]
    {
        let rate = Some(Rate { iops: 1e6, arrival: Arrival::Regular }).filter(|_| mix == Mix::reads(50));
        let job = Job { mix, rate, ..counted(Engine::Null, depth, 97, MIB) };
        let outcome = run_job(&job, &target, &Storage::default(), vec![Vec::new()], &Control::none());
        let outcome = outcome.expect("nothing can fail");
        assert_eq!((outcome.ios(), outcome.bytes()), (97, Bytes(97 * 4096)), "{mix:?} at {depth}");
        assert!(outcome.caveats.contains(&Caveat::NoData { engine: "null".to_owned() }));
        if mix == Mix::READ {
            assert_eq!(outcome.cpu.syscalls, 0);
        }
    }
}

#[test]
fn the_device_counts_what_we_count() {
    let folder = folder!("known-device");
    let image = random(&folder, "image", 8 * MIB);
    let Some(device) = or_skip("the_device_counts_what_we_count", Loop::over(&image)) else { return };
    for engine in engines().into_iter().filter(|&engine| engine != Engine::Mmap) {
        for mix in [Mix::READ, Mix::WRITE] {
            let job = Job { mix, access: Access::PERMUTATION, ..counted(engine, 4, 97, 8 * MIB) };
            let Some(outcome) = come("the_device_counts", run(&job, &device)) else { continue };
            let counted = outcome.device.as_ref().expect("a loop device has counters");
            let direction = usize::from(mix == Mix::WRITE);
            assert_eq!(outcome.ios(), 97);
            assert_eq!(counted.bytes[direction], 97 * 4096, "{engine:?} {mix:?}");
            // Neighbours in flight together may be merged into one request.
            assert_eq!(counted.ios[direction] + counted.merges[direction], 97, "{engine:?} {mix:?}");
            let differs = |caveat: &Caveat| {
                matches!(caveat, Caveat::DeviceCountDiffers { .. } | Caveat::ForeignIo { .. })
            };
            assert!(!outcome.caveats.iter().any(differs), "{:?}", outcome.caveats);
        }
    }
}

#[test]
fn a_pass_over_the_region_is_every_block_once() {
    let (_folder, path) = data(folder!("known-pass"), 4 * MIB);
    for access in [Access::Sequential, Access::PERMUTATION] {
        let job = Job { access, loops: 2, engine: Engine::Libaio, queue_depth: 16, ..Job::default() };
        let outcome = run(&job, &path).expect("a plain file");
        assert_eq!(outcome.bytes(), Bytes(8 * MIB));
    }
}

#[test]
fn the_series_covers_the_time_and_holds_every_io() {
    let (_folder, path) = data(folder!("known-series"), 8 * MIB);
    let job = Job {
        runtime: Some(Nanos::millis(450)),
        ramp: Nanos::millis(100),
        time_based: true,
        slice: Nanos::millis(100),
        ..Job::default()
    };
    for engine in [Engine::Psync, Engine::Libaio] {
        let job = Job { engine, queue_depth: 4, threads: 2, ..job.clone() };
        let outcome = run(&job, &path).expect("a plain file");
        assert_eq!(outcome.series.iter().map(|slice| slice.ios[0]).sum::<u64>(), outcome.ios());
        let sum: u64 = outcome.series.iter().map(|slice| slice.latency_sum_ns[0]).sum();
        assert_eq!(sum, outcome.read.latency.sum_ns);
        assert_eq!(outcome.series.len(), 5, "{:?}", outcome.series);
        for (index, slice) in outcome.series.iter().enumerate() {
            assert_eq!(slice.start, Nanos::millis(100 * index as u64));
        }
        assert!(outcome.elapsed >= Nanos::millis(400), "{}", outcome.elapsed);
        let heat = &outcome.heat;
        assert_eq!(heat.length, job.slice);
        assert_eq!(heat.columns.len(), outcome.series.len());
        for (cells, slice) in heat.columns.iter().zip(&outcome.series) {
            assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), slice.ios[0]);
        }
        let mut whole = Heat::of_slices(Nanos::secs(1));
        whole.add(Nanos(0), &outcome.read.latency);
        assert_eq!(heat.joined(5).columns, whole.columns, "cells are the histogram's buckets");
    }
}

#[test]
fn a_thread_that_shares_its_cpu_is_told_how_long_it_was_ready_without_it() {
    let (_folder, path) = data(folder!("known-waiting"), 8 * MIB);
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        // On every CPU others are always ready, so that the load waits its turn at each wake-up.
        let others = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..others {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Reads from the page cache are work of the thread alone: until its I/Os are done it takes many turns.
        let job = Job { direct: false, ..counted(Engine::Psync, 1, 200_000, 8 * MIB) };
        let outcome = run(&Job { slice: Nanos::millis(50), time_based: true, ..job }, &path);
        stop.store(true, Ordering::Relaxed);
        outcome.expect("a plain file")
    });
    let cpu = &outcome.cpu;
    assert!(cpu.waiting.0 > 0 && cpu.wanted > cpu.busiest_thread, "{cpu:?}");
    let by_slice: u64 = outcome.series.iter().map(|slice| slice.waiting.0).sum();
    assert!(by_slice > 0 && by_slice <= cpu.waiting.0 + 1_000_000, "{by_slice} of {}", cpu.waiting);
}
