//! Mirrors and parity against closed forms: how many I/Os of members one of the host takes, and what rate that leaves.

use iostack_model::{Job, Mix, RaidUse};
use iostack_sim::engine::{Kind, World};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::load::{Ask, LoadResult, assert_near, by_chance, closed_loop, near, sustained, world};

/// Members that serve one command at a time, each 4 KiB in 140.96 us, and 64 KiB in 755.36 us.
const MEMBER: [(&str, &str); 7] = [
    ("raid.member", "dram-ssd"),
    ("raid.member.dram.capacity", "1GiB"),
    ("raid.member.dram.command", "100us"),
    ("raid.member.dram.rate", "100MB/s"),
    ("raid.member.dram.queue_depth", "1"),
    ("raid.member.dram.batch", "1"),
    ("raid.chunk", "64KiB"),
];
const SMALL: u64 = 140_960;
const CHUNK: u64 = 755_360;

pub(super) fn numbers<'a>(
    level: &'a str,
    members: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    [&MEMBER[..], &[("raid.level", level), ("raid.members", members)], more].concat()
}

fn array(level: &str, members: &str, more: &[(&str, &str)]) -> World {
    world("raid", &numbers(level, members, more))
}

fn random(kind: Kind) -> impl FnMut(u64) -> Ask {
    by_chance(8, move |rng| (kind, rng.below(1 << 18) << 12, 4096))
}

/// Many small requests at a depth that keeps every member busy.
fn deep(level: &str, members: &str, more: &[(&str, &str)], read_share: f64) -> (LoadResult, RaidUse) {
    let mut world = array(level, members, more);
    let mixed = by_chance(8, move |rng| {
        let kind = if rng.unit() < read_share { Kind::Read } else { Kind::Write };
        (kind, rng.below(1 << 18) << 12, 4096)
    });
    let seen = sustained(&mut world, 400, 20_000, mixed);
    let used = world.raid().expect("an array with counts");
    (seen, used)
}

fn total(used: &RaidUse) -> u64 {
    used.reads_data + used.writes_data + used.reads_parity + used.writes_parity
}

#[test]
fn a_small_write_takes_as_many_member_ios_as_its_level_says() {
    // Level, members, I/Os of members, latency in I/Os: what parity needs is read first.
    let forms = [("1", "2", 2, 1), ("1", "3", 3, 1), ("10", "4", 2, 1), ("5", "3", 3, 2), ("5", "5", 4, 2)];
    for (level, members, ios, steps) in forms.into_iter().chain([("6", "4", 4, 2), ("6", "7", 6, 2)]) {
        let mut world = array(level, members, &[]);
        let seen = closed_loop(&mut world, 1, 300, random(Kind::Write));
        let used = world.raid().expect("counts");
        assert_eq!((total(&used), used.for_writes), (300 * ios, 300 * ios), "RAID-{level} of {members}");
        assert!(seen.latencies.iter().all(|&latency| latency == steps * SMALL), "RAID-{level} of {members}");
        assert_eq!(used.per_host_io(), [None, Some(ios as f64)]);
    }
}

#[test]
fn the_rate_is_that_of_the_members_over_what_a_request_takes() {
    for (level, members, reads, ios, reading) in [
        ("5", "5", 0.0, 4.0, 5.0),
        ("5", "8", 0.0, 4.0, 8.0),
        ("6", "8", 0.0, 6.0, 8.0),
        ("5", "5", 0.7, 0.7 + 0.3 * 4.0, 5.0),
        ("5", "5", 1.0, 1.0, 5.0),
        ("1", "2", 1.0, 1.0, 2.0),
        ("1", "2", 0.0, 2.0, 2.0),
        ("10", "6", 1.0, 1.0, 6.0),
        ("10", "6", 0.5, 1.5, 6.0),
    ] {
        let (seen, used) = deep(level, members, &[], reads);
        let rate = seen.rate() * SMALL as f64 / 1e9;
        assert_near(&format!("RAID-{level} of {members}, {reads} reads"), rate, reading / ios, 0.02);
        near(total(&used) as f64 / 20_000.0, ios, 0.02);
    }
}

#[test]
fn what_failed_is_read_from_all_others_and_writes_go_on() {
    let n = 5.0;
    let degraded = [("raid.degraded", "1")];
    let (seen, used) = deep("5", "5", &degraded, 1.0);
    let ios = (n - 1.0) / n + 1.0 / n * (n - 1.0);
    near(total(&used) as f64 / 20_000.0, ios, 0.02);
    assert_near("degraded reads", seen.rate() * SMALL as f64 / 1e9, (n - 1.0) / ios, 0.02);
    // The data are lost: the rest of the row and its parity. The parity is: one write. Another column is: four.
    let (seen, used) = deep("5", "5", &degraded, 0.0);
    let ios = ((n - 1.0) + 1.0 + 4.0 * (n - 2.0)) / n;
    near(total(&used) as f64 / 20_000.0, ios, 0.02);
    assert_near("degraded writes", seen.rate() * SMALL as f64 / 1e9, (n - 1.0) / ios, 0.02);
    // Two of RAID-6: any n - 2 of the others.
    let (_, used) = deep("6", "6", &[("raid.degraded", "2")], 1.0);
    near(total(&used) as f64 / 20_000.0, 4.0 / 6.0 + 2.0 / 6.0 * 4.0, 0.02);
    // A mirror of three goes on with one.
    let (seen, _) = deep("1", "3", &[("raid.degraded", "2")], 0.5);
    near(seen.rate() * SMALL as f64 / 1e9, 1.0, 0.02);
}

#[test]
fn a_whole_stripe_is_written_without_reads_and_read_at_once() {
    let mut world = array("5", "5", &[]);
    let row = 256 << 10;
    let written = closed_loop(&mut world, 1, 50, |index| (Kind::Write, index * row, row as u32));
    let used = world.raid().expect("counts");
    assert_eq!((used.reads_data + used.reads_parity, used.writes_data, used.writes_parity), (0, 200, 50));
    assert_eq!((used.stripes_full, written.elapsed), (50, 50 * CHUNK));
    assert_eq!(closed_loop(&mut world, 1, 1, |_| (Kind::Read, 0, row as u32)).elapsed, CHUNK);
    let mut slow = array("5", "5", &[("raid.xor", "1GB/s")]);
    assert_eq!(closed_loop(&mut slow, 1, 1, |_| (Kind::Write, 0, row as u32)).elapsed, CHUNK + 262_144);
}

#[test]
fn small_writes_in_order_become_whole_stripes_in_the_cache() {
    let in_order = |index: u64| (Kind::Write, index << 12, 4096);
    let mut through = array("5", "5", &[]);
    closed_loop(&mut through, 64, 6400, in_order);
    let gathered = through.raid().expect("counts");
    let cache = [("raid.cache", "8MiB"), ("raid.write", "back"), ("raid.destage", "4")];
    let mut back = array("5", "5", &cache);
    closed_loop(&mut back, 64, 6400, in_order);
    closed_loop(&mut back, 1, 1, |_| (Kind::Flush, 0, 0));
    let cached = back.raid().expect("counts");
    // 64 writes of 4 KiB fill a stripe: at best five I/Os for them.
    let [per_gathered, per_cached] = [&gathered, &cached].map(|used| total(used) as f64 / 6400.0);
    assert!(per_gathered < 1.0, "{gathered:?}");
    assert!(per_cached < 1.1 * 5.0 / 64.0 && cached.stripes_full > 90, "{cached:?}");
}

#[test]
fn a_rebuild_keeps_its_rate_and_takes_its_share() {
    for (level, members, reads) in [("5", "5", 4.0), ("10", "4", 1.0)] {
        let rebuild = [("raid.degraded", "1"), ("raid.rebuild", "5MB/s")];
        let mut world = array(level, members, &rebuild);
        let seen = closed_loop(&mut world, 1, 20_000, random(Kind::Read));
        let used = world.raid().expect("counts");
        near(used.rebuilt.0 as f64, 5e6 * seen.elapsed as f64 / 1e9, 0.02);
        near(used.reads_rebuild as f64 / used.writes_rebuild as f64, reads, 0.01);
    }
    // In full queues it is slower than it may be: each member gives the host what the rebuild leaves.
    let (seen, used) = deep("5", "5", &[("raid.degraded", "1"), ("raid.rebuild", "5MB/s")], 1.0);
    let left = 1.0 - (used.writes_rebuild * CHUNK) as f64 / seen.elapsed as f64;
    assert!(left < 0.98, "{used:?}");
    assert_near("reads beside a rebuild", seen.rate() * SMALL as f64 / 1e9, 4.0 * left / 1.6, 0.02);
}

#[test]
fn an_array_is_whole_once_it_is_rebuilt() {
    let small = [("raid.member.dram.capacity", "16MiB"), ("raid.degraded", "1"), ("raid.rebuild", "1GB/s")];
    let mut world = array("5", "4", &small);
    closed_loop(&mut world, 1, 1, |_| (Kind::Read, 0, 4096));
    crate::load::settle(&mut world);
    assert_eq!(world.raid().expect("counts").rebuilt.0, 16 << 20);
    world.begin();
    closed_loop(&mut world, 4, 500, by_chance(3, |rng| (Kind::Read, rng.below(12_288) << 12, 4096)));
    assert_eq!(total(&world.raid().expect("counts")), 500);
}

#[test]
fn every_io_of_a_member_is_counted_once_and_nothing_else_is() {
    for seed in 0..60 {
        let mut rng = Rng::from_seed(seed);
        let mut any = |list: &[&'static str]| list[rng.below(list.len() as u64) as usize];
        let level = any(&["1", "5", "6", "10"]);
        let more = [
            ("raid.degraded", any(&["0", "1"])),
            ("raid.rebuild", any(&["none", "20MB/s"])),
            ("raid.cache", "512KiB"),
            ("raid.write", any(&["through", "back"])),
            ("raid.read_cache", any(&["off", "on"])),
            ("raid.chunk", any(&["4KiB", "64KiB"])),
            ("raid.member.dram.capacity", "64MiB"),
        ];
        let mut world = array(level, any(&["4", "6", "8"]), &more);
        let asks = by_chance(seed, |rng| {
            let kind = [Kind::Read, Kind::Write][rng.below(2) as usize];
            (kind, rng.below(4000) << 12, 4096 << rng.below(6))
        });
        let seen = closed_loop(&mut world, 1 << (seed % 7), 2000, asks);
        closed_loop(&mut world, 1, 1, |_| (Kind::Flush, 0, 0));
        crate::load::settle(&mut world);
        let used = world.raid().expect("counts");
        assert_eq!((used.reads_host + used.writes_host, seen.latencies.len()), (2000, 2000), "seed {seed}");
        let resources = world.resources();
        let visits = resources.iter().find(|each| each.name == "dram").map(|each| each.visits);
        let counted = total(&used) + used.reads_rebuild + used.writes_rebuild;
        assert_eq!(Some(counted), visits, "seed {seed}: {used:?}");
    }
}

#[test]
fn the_outcome_of_a_job_on_flash_or_disks_says_what_its_ios_cost_the_members() {
    for member in ["hp97560", "dram-ssd", "x25e"] {
        let values = [("raid.level", "6"), ("raid.member", member), ("raid.members", "7")];
        let fresh = [("raid.member.flash.state", "fresh"), ("raid.member.flash.capacity", "1GiB")];
        let more = if member == "x25e" { &fresh[..] } else { &[] };
        let sheet = Sheet::from_values("raid", &[&values[..], more].concat()).expect("complete");
        let job = Job { mix: Mix::WRITE, io_count: Some(200), ..Job::default() };
        let ran = run(&sheet, &[job], &RunOptions::seeded(1)).expect("it runs");
        let inside = ran.outcomes[0].inside.as_ref().expect("simulated");
        let used = inside.raid.as_ref().expect("an array");
        assert_eq!((used.level.as_str(), used.per_host_io()), ("6", [None, Some(6.0)]), "{member}");
    }
}

#[test]
fn too_few_members_and_too_many_failures_are_refused_in_a_sentence() {
    let refused = |values: &[(&str, &str)]| {
        let sheet = Sheet::from_values("raid", values).expect("a kind");
        iostack_sim::devices::build(&sheet, &mut World::new(), 1).expect_err("impossible").to_string()
    };
    for (level, members, more, text) in [
        ("5", "2", ("raid.degraded", "0"), "RAID-5 needs 3 members at least"),
        ("6", "3", ("raid.degraded", "0"), "RAID-6 needs 4 members at least"),
        ("1", "1", ("raid.degraded", "0"), "RAID-1 needs 2 members at least"),
        ("10", "5", ("raid.degraded", "0"), "RAID-10 is made of pairs"),
        ("5", "4", ("raid.degraded", "2"), "RAID-5 of 4 members goes on without 1 at most"),
        ("10", "4", ("raid.degraded", "3"), "RAID-10 of 4 members goes on without 2 at most"),
        ("0", "4", ("raid.degraded", "1"), "RAID-0 of 4 members goes on without 0 at most"),
        ("5", "4", ("raid.chunk", "1000B"), "it is not a multiple of 512 bytes"),
        ("5", "4", ("raid.chunk", "2GiB"), "a stripe unit is whole blocks of it"),
        ("5", "4", ("raid.member", "raid0-p55"), "an array of arrays is not simulated"),
        ("5", "4", ("raid.write", "back"), "set raid.cache"),
    ] {
        let member = [("raid.member", "raid0-p55"), ("raid.level", level), ("raid.members", members)];
        let all = if more.0 == "raid.member" { member.to_vec() } else { numbers(level, members, &[more]) };
        let error = refused(&all);
        assert!(error.contains(text), "{error}");
    }
}
