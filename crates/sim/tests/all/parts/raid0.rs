//! Striping: what it gives, what the adapter takes, and what its cache hides.

use iostack_model::{Job, Mix, Stage};
use iostack_sim::engine::{Kind, World};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::load::{Ask, by_chance, closed_loop, near, world};

/// Members that serve one command at a time: 100 us and 40.96 us per 4 KiB.
const MEMBER: [(&str, &str); 7] = [
    ("raid0.member", "dram-ssd"),
    ("raid0.member.dram.capacity", "1GiB"),
    ("raid0.member.dram.command", "100us"),
    ("raid0.member.dram.rate", "100MB/s"),
    ("raid0.member.dram.queue_depth", "1"),
    ("raid0.member.dram.batch", "1"),
    ("raid0.stripe", "64KiB"),
];
const SMALL: u64 = 140_960;

fn raid<'a>(members: &'a str, more: &[(&'a str, &'a str)]) -> World {
    world("raid0", &numbers(members, more))
}

pub(super) fn numbers<'a>(members: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&MEMBER[..], &[("raid0.members", members)], more].concat()
}

fn random(kind: Kind) -> impl FnMut(u64) -> Ask {
    by_chance(8, move |rng| (kind, rng.below(1 << 18) << 12, 4096))
}

#[test]
fn small_requests_gain_nothing_at_depth_1() {
    for members in ["1", "2", "4"] {
        let seen = closed_loop(&mut raid(members, &[]), 1, 200, random(Kind::Read));
        assert!(seen.latencies.iter().all(|&latency| latency == SMALL));
    }
}

#[test]
fn small_requests_gain_with_depth_as_far_as_chance_spreads_them() {
    for (members, count) in [("1", 1.0), ("2", 2.0), ("4", 4.0)] {
        let seen = closed_loop(&mut raid(members, &[]), 32, 20_000, random(Kind::Read));
        let gain = seen.rate() * SMALL as f64 / 1e9;
        // Between a balanced network of exponential servers and all of them always busy.
        let (least, most) = (32.0 * count / (32.0 + count - 1.0) * 0.995, count * 1.001);
        assert!(least < gain && gain <= most, "{members} members: {gain}");
    }
}

#[test]
fn a_large_request_is_served_by_all_members_at_once() {
    let time = |members| {
        let mut world = raid(members, &[]);
        closed_loop(&mut world, 1, 1, |_| (Kind::Read, 128 << 10, 1 << 20)).elapsed
    };
    assert_eq!(time("1"), 100_000 + 10_485_760);
    assert_eq!(time("4"), 100_000 + 2_621_440);
    assert_eq!(time("16"), 100_000 + 655_360);
}

#[test]
fn the_adapter_caps_commands_whatever_the_members() {
    for members in ["4", "8", "32"] {
        let mut world = raid(members, &[("raid0.controller", "50us"), ("raid0.member_command", "10us")]);
        let seen = closed_loop(&mut world, 128, 20_000, random(Kind::Write));
        assert!((seen.rate() * 60e-6 - 1.0).abs() < 0.02 || members == "4", "{members}: {}", seen.rate());
        assert!(seen.rate() < 1e9 / 60_000.0 * 1.01);
        assert!(members == "4" || seen.resource("adapter").busy > 0.98);
    }
}

#[test]
fn the_adapters_link_caps_bytes() {
    let mut world = raid("16", &[("raid0.rate", "200MB/s")]);
    let mut rng = Rng::from_seed(8);
    let seen = closed_loop(&mut world, 32, 3000, |_| (Kind::Read, rng.below(4096) << 16, 65_536));
    near(seen.rate() * 65_536.0, 200e6, 0.01);
    assert!(seen.resource("adapter link").busy > 0.98);
}

#[test]
fn write_back_acknowledges_at_once_until_the_cache_is_full() {
    let back = [("raid0.cache", "1MiB"), ("raid0.write", "back"), ("raid0.controller", "5us")];
    let mut world = raid("2", &back);
    let burst = closed_loop(&mut world, 1, 256, random(Kind::Write));
    assert!(burst.latencies.iter().all(|&latency| latency == 5000));
    let lasting = closed_loop(&mut world, 8, 10_000, random(Kind::Write));
    near(lasting.rate() * SMALL as f64, 2e9, 0.03);
    assert!(lasting.stage(Stage::Buffer) > 0);
}

#[test]
fn what_was_written_or_read_is_read_from_the_cache() {
    let cached = [("raid0.cache", "1MiB"), ("raid0.write", "back"), ("raid0.controller", "5us")];
    let mut world = raid("2", &cached);
    let kinds = [Kind::Write, Kind::Read, Kind::Flush, Kind::Read, Kind::Read];
    let places = [4096, 4096, 0, 4096, 1 << 20];
    let seen = closed_loop(&mut world, 1, 5, |index| {
        let kind = kinds[index as usize];
        (kind, places[index as usize], if kind == Kind::Flush { 0 } else { 4096 })
    });
    assert_eq!(seen.latencies[..2], [5000, 5000]);
    assert_eq!(seen.latencies[3..], [5000, 5000 + SMALL]);
    let again = closed_loop(&mut world, 1, 1, |_| (Kind::Read, 1 << 20, 4096));
    assert_eq!(again.elapsed, 5000);
}

#[test]
fn a_job_ends_with_its_own_requests_and_spans_are_its_own() {
    let numbers = numbers("2", &[("raid0.cache", "1MiB"), ("raid0.write", "back")]);
    let sheet = Sheet::from_values("raid0", &numbers).expect("complete");
    let job = Job { mix: Mix::WRITE, io_count: Some(500), queue_depth: 4, ..Job::default() };
    let options = RunOptions { spans_max: 10_000, ..RunOptions::seeded(1) };
    let ran = run(&sheet, &[job], &options).expect("it runs");
    assert_eq!(ran.outcomes[0].inside.as_ref().expect("simulated").requests, 500);
    assert!(!ran.timeline.is_empty() && ran.timeline.iter().all(|span| span.request < 500));
}

#[test]
fn a_flush_waits_for_what_was_acknowledged_before_it() {
    let mut world = raid("2", &[("raid0.cache", "1MiB"), ("raid0.write", "back")]);
    closed_loop(&mut world, 1, 200, random(Kind::Write));
    let flush = closed_loop(&mut world, 1, 1, |_| (Kind::Flush, 0, 0));
    assert!(flush.elapsed > 90 * SMALL, "{}", flush.elapsed);
    assert!(world.gauges().contains(&("buffered bytes", 0.0)));
}
