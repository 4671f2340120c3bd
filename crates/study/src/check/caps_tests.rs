//! Is a cap named as the limit, stated or not, and only where it is one?

use super::*;

#[test]
fn a_stated_cap_that_the_reads_keep_to_is_named_with_its_file_also_beside_others() {
    for foreign in [0.0, 0.5] {
        let mut check = quiet();
        beside_others(&mut check, foreign, foreign);
        capped(&mut check, 4000, false, 3990.0);
        let answer = "A cap: reads of vda are limited to 4000 IOPS by \
                      /sys/fs/cgroup/blkio/a/blkio.throttle.read_iops_device, and 3.99 k IOPS were reached.";
        assert_eq!(held(&check, Limit::Cap, "").answer, answer);
    }
    let mut check = quiet();
    capped(&mut check, 4000 * 4096, true, 3990.0);
    assert_eq!(judged(&check).limit, Limit::Cap, "a cap of bytes caps I/Os of 4 KiB");
}

#[test]
fn a_stated_cap_that_the_reads_stay_below_or_exceed_is_not_the_limit() {
    let limit_at = |reached| {
        let mut check = quiet();
        capped(&mut check, 1000, false, reached);
        judged(&check).answer.contains("limited to 1000 IOPS")
    };
    assert!(!limit_at(849.0) && limit_at(850.0));
    assert!(limit_at(1_300.0) && !limit_at(1_301.0));
}

/// One read takes 20 us in nine of ten cases: 50 k IOPS one at a time.
#[test]
fn a_rate_that_no_depth_changes_and_one_read_at_a_time_would_exceed_is_a_cap() {
    let limit_at = |rate: f64, more: f64| {
        let mut check = quiet();
        each_read(&mut check, StepKind::Depth, |point| {
            set_latency(point, 20_000);
            point.outcome.iops.mean = match point.outcome.job.queue_depth {
                // A burst at first.
                1 => 2.0 * rate,
                128 => rate * more,
                _ => rate,
            };
        });
        check
    };
    let words = "A cap of about 4.90 k I/Os per second, whatever the depth";
    held(&limit_at(4_900.0, 1.0), Limit::Cap, words);
    let is_cap = |rate, more| judged(&limit_at(rate, more)).limit == Limit::Cap;
    assert!(is_cap(29_000.0, 1.0) && !is_cap(31_000.0, 1.0), "near what one at a time gives");
    assert!(!is_cap(0.0, 1.0), "nothing was read");
    assert!(is_cap(4_900.0, 1.059) && !is_cap(4_900.0, 1.061), "more depth gives more");
}

/// The run takes as long as its I/Os do at its rate, and its thread is so busy.
fn as_long_as_its_ios(point: &mut Point, busy: f64) {
    let outcome = &mut point.outcome;
    outcome.elapsed = Nanos((outcome.ios() as f64 / outcome.iops.mean * 1e9) as u64);
    (outcome.cpu.busiest_thread, outcome.cpu.wanted) = (busy, busy);
}

/// All random loads end at 100 k; one read takes `read_us`, another way reaches `way`, the thread at the end is `busy`, and the
/// largest requests move `bytes` a second.
fn common(read_us: u64, way: f64, busy: f64, bytes: f64) -> Limit {
    let mut check = quiet();
    for point in check.steps.iter_mut().flat_map(|step| &mut step.points) {
        let large = point.outcome.job.block_sizes.largest() > Bytes(4096);
        let elapsed = point.outcome.elapsed.as_secs_f64();
        if large && !point.outcome.job.mix.destroys() {
            point.outcome.read.bytes = Bytes((bytes * elapsed) as u64);
        } else {
            at_rate(point, 50_000.0);
            point.outcome.read.bytes = Bytes(0);
        }
    }
    each_point(&mut check, StepKind::Depth, |point| {
        let depth = point.outcome.job.in_flight();
        at_rate(point, if depth < 16 { 50_000.0 } else { 100_000.0 });
        if depth == 1 {
            set_latency(point, read_us * 1_000);
        }
        // Nearly as much with more in flight.
        if depth == 128 {
            at_rate(point, 98_000.0);
        }
        as_long_as_its_ios(point, busy);
    });
    each_point(&mut check, StepKind::Threads, |point| at_rate(point, way));
    judged(&check).limit
}

#[test]
fn one_rate_for_all_is_a_cap_unless_something_else_explains_it() {
    let is_cap = |read_us, way, busy, bytes| common(read_us, way, busy, bytes) == Limit::Cap;
    assert!(is_cap(30, 130_000.0, 0.5, 1e9) && !is_cap(30, 131_000.0, 0.5, 1e9), "30 % by another way");
    assert!(is_cap(30, 100_000.0, 0.89, 1e9) && !is_cap(30, 100_000.0, 0.9, 1e9), "a busy thread");
    assert!(is_cap(13, 100_000.0, 0.5, 1e9) && !is_cap(11, 100_000.0, 0.5, 1e9), "one I/O at a time");
    assert!(is_cap(30, 100_000.0, 0.5, 590e6) && !is_cap(30, 100_000.0, 0.5, 580e6), "409.6 MB/s of 580");
}

#[test]
fn a_cap_on_writes_does_not_limit_reads() {
    let mut check = quiet();
    capped(&mut check, 4000, false, 4000.0);
    check.machine.virtualisation.io_limits[0].direction = iostack_model::Direction::Write;
    assert!(!judged(&check).answer.contains("limited to"), "{}", judged(&check).answer);
}

#[test]
fn a_fall_to_one_rate_for_every_engine_is_a_token_bucket() {
    let fallen = |rates: [f64; 3], high: f64| {
        let mut check = quiet();
        if high > 0.0 {
            check.caveats.push(Caveat::Drift { low: 4_000.0, high, runs: 3 });
        }
        let mut at = 0;
        each_point(&mut check, StepKind::Engines, |point| {
            if point.outcome.job.queue_depth == 32 {
                point.outcome.iops.mean = rates[at % 3];
                at += 1;
            }
        });
        check
    };
    let words = "at first there were 15.9 k: a token bucket";
    held(&fallen([4_000.0, 4_080.0, 4_159.0], 15_900.0), Limit::Cap, words);
    for (rates, high, is_cap, why) in [
        ([4_000.0, 4_080.0, 4_161.0], 15_900.0, false, "they differ by over 4 %"),
        ([4_000.0, 4_080.0, 4_159.0], 0.0, false, "nothing fell"),
        ([9_000.0, 9_000.0, 9_000.0], 15_900.0, false, "the low rate was another"),
        ([4_000.0, 4_800.0, 4_999.0], 16_000.0, true, "after a fall to a quarter"),
        ([4_000.0, 4_800.0, 5_001.0], 16_000.0, false, "they differ by over 25 %"),
    ] {
        assert_eq!(judged(&fallen(rates, high)).limit == Limit::Cap, is_cap, "{why}");
    }
}

/// Writes and the mix end this much below reads, all at 100 k; a read takes 30 us and no thread is busy.
fn apart(below: f64) -> Limit {
    let mut check = quiet();
    each_point(&mut check, StepKind::Depth, |point| {
        let most = if point.series == Series::RandomRead { 100_000.0 } else { 100_000.0 * (1.0 - below) };
        at_rate(point, if point.outcome.job.in_flight() < 16 { 50_000.0 } else { most });
        if point.outcome.job.in_flight() == 1 {
            set_latency(point, 30_000);
        }
        as_long_as_its_ios(point, 0.5);
    });
    for id in [StepKind::Threads, StepKind::Engines] {
        each_point(&mut check, id, |point| at_rate(point, 100_000.0));
    }
    judged(&check).limit
}

#[test]
fn what_ends_nearly_at_one_rate_may_be_a_cap_and_is_unknown() {
    let limits = [0.0149, 0.0151, 0.1149, 0.1151].map(apart);
    assert_eq!(limits, [Limit::Cap, Limit::Unknown, Limit::Unknown, Limit::Device]);
}

#[test]
fn a_fall_that_holds_up_a_read_alone_or_beside_seen_traffic_is_no_token_bucket() {
    let bucket = |alone: f64, seen: bool| {
        let mut check = quiet();
        check.caveats.push(Caveat::Drift { low: 4_000.0, high: 15_900.0, runs: 3 });
        each_point(&mut check, StepKind::Engines, |point| match point.outcome.job.queue_depth {
            32 => at_rate(point, 4_000.0),
            _ => point.outcome.iops.mean *= alone,
        });
        if seen {
            let foreign = Caveat::ForeignIo { device: "vda".into(), bytes: Bytes::gib(1), share: 0.06 };
            each_point(&mut check, StepKind::Engines, |point| point.outcome.caveats.push(foreign.clone()));
        }
        judged(&check).answer.contains("a token bucket")
    };
    assert!(bucket(0.91, false) && !bucket(0.89, false));
    assert!(!bucket(0.91, true));
}
