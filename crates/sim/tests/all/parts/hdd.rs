//! The disk: means of the literature, and times that its geometry alone decides.

use iostack_model::Stage;
use iostack_sim::engine::{Kind, World};
use iostack_workload::Rng;

use crate::load::{Ask, LoadResult, by_chance, closed_loop, near, world};

/// Ruemmler and Wilkes 1994; skews of 8 and 18 sectors (Kotz, Toh and Radhakrishnan 1994).
pub(super) const HP_97560: [(&str, &str); 14] = [
    ("hdd.rpm", "4002"),
    ("hdd.cylinders", "1962"),
    ("hdd.heads", "19"),
    ("hdd.sectors_outer", "72"),
    ("hdd.seek_short", "3.24ms"),
    ("hdd.seek_short_root", "400us"),
    ("hdd.seek_boundary", "383"),
    ("hdd.seek_long", "8ms"),
    ("hdd.seek_long_cylinder", "8us"),
    ("hdd.head_switch", "1.6ms"),
    ("hdd.track_skew", "1665834ns"),
    ("hdd.cylinder_skew", "3748126ns"),
    ("hdd.read_overhead", "2.2ms"),
    ("hdd.link", "10MB/s"),
];
const HP_SECTORS: u64 = 1962 * 19 * 72;
pub(super) const TURN: u64 = 14_992_504;

pub(super) fn hp(more: &[(&str, &str)]) -> World {
    world("hdd", &[&HP_97560[..], more].concat())
}

fn random(kind: Kind, sectors: u64, seed: u64) -> impl FnMut(u64) -> Ask {
    by_chance(seed, move |rng| (kind, rng.below(sectors) * 512, 512))
}

fn mean_ms(seen: &LoadResult, stage: Stage) -> f64 {
    seen.stage(stage) as f64 / seen.latencies.len() as f64 / 1e6
}

#[test]
fn hp_97560_has_the_published_means() {
    let mut world = hp(&[]);
    let seen = closed_loop(&mut world, 1, 200_000, random(Kind::Read, HP_SECTORS, 4));
    let [move_ms, turn_ms] = [Stage::Seek, Stage::Rotate].map(|stage| mean_ms(&seen, stage));
    near(move_ms, 12.832, 0.005);
    near(turn_ms, 7.496, 0.005);
    assert_eq!(seen.stage(Stage::Controller), 200_000 * 2_200_000);
    let total = 2.2 + 12.832 + 7.496 + 0.208 + 0.051;
    near(seen.mean_us() / 1e3, total, 0.005);
}

#[test]
fn a_large_read_passes_at_the_rate_of_its_tracks() {
    let mut world = hp(&[("hdd.read_overhead", "0")]);
    let sectors = 5 * 19 * 72_u64;
    let seen = closed_loop(&mut world, 1, 1, |_| (Kind::Read, 0, sectors as u32 * 512));
    let tail = 51_200;
    let (tracks, cylinders) = (5 * 18 * 1_665_834, 4 * 3_748_126);
    assert_eq!(seen.elapsed, 5 * 19 * TURN + tracks + cylinders + tail);
}

#[test]
fn reading_ahead_keeps_up_with_a_stream_and_without_it_turns_are_missed() {
    let stream = |more: &[(&str, &str)]| {
        let mut world = hp(more);
        let seen = closed_loop(&mut world, 1, 1000, |index| (Kind::Read, index * 65_536, 65_536));
        seen.rate() * 65_536.0
    };
    let ahead = [("hdd.cache", "512KiB"), ("hdd.read_ahead", "256KiB"), ("hdd.read_overhead", "1ms")];
    let medium = 19.0 * 72.0 * 512.0 * 1e9 / (19 * TURN + 18 * 1_665_834 + 3_748_126) as f64;
    let (with, without) = (stream(&ahead), stream(&ahead[2..]));
    near(with, medium, 0.005);
    assert!(without < 0.75 * medium, "{without} of {medium} B/s");
}

#[test]
fn a_second_read_of_the_same_is_answered_by_the_cache() {
    let mut world = hp(&[("hdd.cache", "128KiB")]);
    let seen = closed_loop(&mut world, 1, 2, |_| (Kind::Read, 1 << 20, 4096));
    assert!(seen.latencies[0] > 5_000_000);
    assert_eq!(seen.latencies[1], 2_200_000 + 409_600);
}

#[test]
fn a_hit_far_behind_what_is_read_ahead_does_not_have_all_between_read() {
    let mut world = hp(&[("hdd.cache", "512KiB"), ("hdd.segments", "4"), ("hdd.read_ahead", "64KiB")]);
    let places = [512_u64 << 20, 0, 512 << 20, 256 << 20];
    let seen = closed_loop(&mut world, 1, 4, |index| (Kind::Read, places[index as usize], 4096));
    let longest = 2_200_000 + 8_000_000 + 8000 * 1962 + 2 * TURN + 409_600;
    assert!(seen.latencies.iter().all(|&latency| latency < longest), "{:?} ns", seen.latencies);
}

#[test]
fn better_orders_serve_more() {
    let rate = |order| {
        let mut world = hp(&[("hdd.order", order), ("hdd.queue_depth", "32"), ("hdd.read_overhead", "0")]);
        let seen = closed_loop(&mut world, 32, 20_000, random(Kind::Read, HP_SECTORS, 9));
        assert!(seen.resource("arm").busy > 0.99);
        seen.rate()
    };
    let [first, elevator, shortest, soonest] = ["fcfs", "elevator", "sstf", "sptf"].map(rate);
    // First come first served gains nothing from depth: a seek, half a turn and a sector each.
    assert!((first * 20.536e-3 - 1.0).abs() < 0.01, "{first}");
    assert!(elevator > 1.3 * first && shortest > 1.3 * first, "{first} {elevator} {shortest}");
    assert!(soonest > 1.3 * shortest, "{shortest} {soonest}");
}

#[test]
fn an_age_limit_bounds_how_long_shortest_first_may_starve() {
    let longest = |limit| {
        let mut world = hp(&[("hdd.order", "sptf"), ("hdd.queue_depth", "64"), ("hdd.age_limit", limit)]);
        let seen = closed_loop(&mut world, 64, 10_000, random(Kind::Read, HP_SECTORS, 2));
        *seen.latencies.iter().max().expect("many")
    };
    let (free, bound) = (longest("none"), longest("1s"));
    assert!(bound < 3_000_000_000 && free > 2 * bound, "{free} {bound}");
}

#[test]
fn outer_zones_are_faster_by_their_sectors() {
    let numbers = [
        ("hdd.rpm", "7200"),
        ("hdd.cylinders", "1000"),
        ("hdd.heads", "2"),
        ("hdd.sectors_outer", "1200"),
        ("hdd.sectors_inner", "600"),
        ("hdd.zones", "7"),
        ("hdd.seek", "three-point"),
        ("hdd.seek_single", "2ms"),
        ("hdd.seek_average", "8ms"),
        ("hdd.seek_full", "18ms"),
        ("hdd.link", "300MB/s"),
    ];
    let capacity = (143 + 5 * 143 + 142) * 2 * 900 * 512 / (1 << 20);
    let time = |offset: u64| {
        let mut world = world("hdd", &numbers);
        let shape = world.shape().expect("a disk");
        assert_eq!(shape.capacity.0 >> 20, capacity);
        let offset = shape.capacity.0 / 100 * offset / 512 * 512;
        let seen = closed_loop(&mut world, 1, 1, |_| (Kind::Read, offset, 16 << 20));
        seen.stage(Stage::Medium) as f64
    };
    // With skews of 2 ms between cylinders and none between tracks, a turn of 8.33 ms.
    let cylinder = |sectors: f64| f64::from(16 << 20) / 512.0 / (2.0 * sectors) * (2.0 * 8.333 + 2.0);
    near(time(0) / 1e6, cylinder(1200.0), 0.02);
    near(time(95) / 1e6, cylinder(600.0), 0.02);
}

#[test]
fn a_write_cache_acknowledges_at_once_until_it_is_full() {
    let cached = [("hdd.write_cache", "1MiB"), ("hdd.order", "sptf")];
    let mut world = hp(&cached);
    let burst = closed_loop(&mut world, 1, 200, random(Kind::Write, HP_SECTORS, 6));
    assert!(burst.latencies.iter().all(|&latency| latency == 51_200), "{:?}", burst.latencies);
    let lasting = closed_loop(&mut world, 1, 10_000, random(Kind::Write, HP_SECTORS, 7));
    let mut through = hp(&[]);
    let direct = closed_loop(&mut through, 1, 2000, random(Kind::Write, HP_SECTORS, 8));
    assert!(lasting.rate() > 1.5 * direct.rate(), "{} {}", lasting.rate(), direct.rate());
    assert!(lasting.rate() < 5.0 * direct.rate(), "{} {}", lasting.rate(), direct.rate());
    assert!(lasting.stage(Stage::Buffer) > 0);
}

#[test]
fn a_flush_waits_for_what_was_acknowledged_before_it() {
    let mut world = hp(&[("hdd.write_cache", "1MiB")]);
    let mut rng = Rng::from_seed(1);
    let burst = closed_loop(&mut world, 1, 50, |_| (Kind::Write, rng.below(HP_SECTORS) * 512, 512));
    let flush = closed_loop(&mut world, 1, 1, |_| (Kind::Flush, 0, 0));
    assert!(flush.elapsed > 50 * 5_000_000 && burst.elapsed < 10_000_000, "{} ns", flush.elapsed);
    assert!(world.gauges().contains(&("buffered bytes", 0.0)));
    let again = closed_loop(&mut world, 1, 1, |_| (Kind::Flush, 0, 0));
    assert_eq!(again.elapsed, 2_200_000);
}

#[test]
fn a_write_after_a_seek_waits_for_the_head_to_settle() {
    let moved = |kind, settle| {
        let mut world = hp(&[("hdd.write_settle", settle)]);
        let seen = closed_loop(&mut world, 1, 1000, random(kind, HP_SECTORS, 3));
        mean_ms(&seen, Stage::Seek)
    };
    let (read, write) = (moved(Kind::Read, "2ms"), moved(Kind::Write, "2ms"));
    // Not after a seek over one cylinder or none: 3 of 1962.
    assert!((write - read - 2.0 * (1.0 - 3.0 / 1962.0)).abs() < 0.01, "{read} {write}");
    let mut world = hp(&[("hdd.write_settle", "2ms")]);
    let stream = closed_loop(&mut world, 1, 1, |_| (Kind::Write, 0, 38 * 72 * 512));
    assert_eq!(stream.stage(Stage::Medium), 38 * TURN + 36 * 1_665_834 + 3_748_126);
}

#[test]
fn sequential_writes_through_a_cache_pass_at_the_rate_of_the_tracks() {
    let mut world = hp(&[("hdd.write_cache", "1MiB")]);
    let seen = closed_loop(&mut world, 4, 4000, |index| (Kind::Write, index * 16_384, 16_384));
    let medium = 19.0 * 72.0 * 512.0 * 1e9 / (19 * TURN + 18 * 1_665_834 + 3_748_126) as f64;
    let written = seen.rate() * 16_384.0;
    assert!(written > 0.97 * medium && written < 1.03 * medium, "{written} of {medium} B/s");
}

#[test]
fn a_seek_table_has_the_mean_of_its_points() {
    let table = [("hdd.seek", "table"), ("hdd.seek_table", "1:3ms 400:10ms 1961:22ms")];
    let mut world = hp(&table);
    let seen = closed_loop(&mut world, 1, 200_000, random(Kind::Read, HP_SECTORS, 4));
    let time =
        |d: f64| if d < 400.0 { 3.0 + 7.0 * (d - 1.0) / 399.0 } else { 10.0 + 12.0 * (d - 400.0) / 1561.0 };
    // Each distance has 2 (n - d) of n^2 pairs.
    let mean: f64 =
        (1..1962).map(|d| time(f64::from(d)) * 2.0 * f64::from(1962 - d) / (1962.0 * 1962.0)).sum();
    near(mean_ms(&seen, Stage::Seek), mean, 0.005);
}

#[test]
fn a_zone_table_says_where_tracks_have_how_many_sectors() {
    let mut world = hp(&[("hdd.zone_table", "100:36 1000:18"), ("hdd.read_overhead", "0")]);
    let zones = [100 * 19 * 72, 900 * 19 * 36, 962 * 19 * 18_u64];
    assert_eq!(world.shape().expect("a disk").capacity.0, zones.iter().sum::<u64>() * 512);
    // A track of each zone, from its beginning: one turn.
    for (first, sectors) in [(0, 72), (zones[0], 36), (zones[0] + zones[1], 18)] {
        let seen = closed_loop(&mut world, 1, 1, |_| (Kind::Read, first * 512, sectors * 512));
        assert_eq!(seen.stage(Stage::Medium), TURN);
    }
}

#[test]
fn hits_and_misses_have_overheads_of_their_own() {
    let hits = [
        ("hdd.read_hit_overhead", "100us"),
        ("hdd.write_hit_overhead", "300us"),
        ("hdd.write_overhead", "1ms"),
    ];
    let mut world = hp(&[&hits[..], &[("hdd.cache", "128KiB"), ("hdd.write_cache", "64KiB")]].concat());
    let read = closed_loop(&mut world, 1, 2, |_| (Kind::Read, 1 << 20, 4096));
    assert_eq!((read.latencies[1], read.stage(Stage::Controller)), (100_000 + 409_600, 2_300_000));
    assert_eq!(closed_loop(&mut world, 1, 1, |_| (Kind::Write, 8 << 20, 4096)).elapsed, 300_000 + 409_600);
    // Too large for the write cache.
    assert_eq!(
        closed_loop(&mut world, 1, 1, |_| (Kind::Write, 0, 128 << 10)).stage(Stage::Controller),
        1_000_000
    );
}

#[test]
fn the_data_of_a_write_come_while_the_arm_moves() {
    let slow = [("hdd.link", "32KB/s"), ("hdd.write_overhead", "1ms")];
    let random = |overlap| {
        let mut world = hp(&[&slow[..], &[("hdd.write_overlap", overlap)]].concat());
        closed_loop(&mut world, 1, 100_000, random(Kind::Write, HP_SECTORS, 5))
    };
    let (on, off) = (random("on"), random("off"));
    let seek =
        |d: f64| if d < 383.0 { 3.24 + 0.4 * d.sqrt() } else { 8.0 + 0.008 * d } * f64::from(u8::from(d > 0.0));
    // Each distance d > 0 has 2 (n - d) of n^2 pairs, 0 has n.
    let n = 1962.0;
    let mean = |of: &dyn Fn(f64) -> f64| {
        (0..1962).map(f64::from).map(|d| of(d) * if d > 0.0 { 2.0 * (n - d) } else { n }).sum::<f64>()
            / (n * n)
    };
    let (data, rest) = (16.0, 1.0 + 7.496 + 0.208);
    near(on.mean_us() / 1e3, rest + mean(&|d| seek(d).max(data)), 0.005);
    near(off.mean_us() / 1e3, rest + data + mean(&seek), 0.005);
    near(mean_ms(&on, Stage::Link), mean(&|d| (data - seek(d)).max(0.0)), 0.01);
}

#[test]
fn a_read_leaves_as_it_comes_at_the_pace_of_the_slower_of_medium_and_link() {
    let read = |link| {
        let mut world = hp(&[("hdd.read_overhead", "0"), ("hdd.link", link)]);
        closed_loop(&mut world, 1, 1, |_| (Kind::Read, 0, 72 * 512)).elapsed
    };
    assert_eq!([read("1MB/s"), read("10MB/s")], [72 * 512_000, TURN + 51_200]);
}

#[test]
fn reading_ahead_goes_on_until_another_request_comes() {
    let angle = |sectors: u64| (sectors * TURN + 36) / 72;
    let ahead = [("hdd.cache", "128KiB"), ("hdd.segments", "2"), ("hdd.read_ahead", "48KiB")];
    let far = 1000 * 19 * 72_u64;
    let mut world = hp(&ahead);
    // What was read so far; up to what is being read; far away; what was read before the arm left; what would have been.
    let places = [(0, 8), (8, 8), (8, 32), (far, 1), (32, 8), (56, 8)];
    let seen = closed_loop(&mut world, 1, places.len() as u64, |index| {
        let (first, count) = places[index as usize];
        (Kind::Read, first * 512, count * 512)
    });
    let (overhead, sector) = (2_200_000, 51_200);
    assert_eq!(seen.latencies[0], TURN + angle(8) + sector);
    assert_eq!(seen.latencies[1], overhead + 8 * sector);
    let third: u64 = seen.latencies[..3].iter().sum();
    assert_eq!(third, TURN + angle(40) + sector);
    let there = third + overhead + 8_000_000 + 8000 * 1000;
    let begins = 1000 * (18 * 1_665_834 + 3_748_126) % TURN;
    let far_end = there + (begins + TURN - there % TURN) % TURN + angle(1) + sector;
    assert_eq!(seen.latencies[..4].iter().sum::<u64>(), far_end);
    assert_eq!(seen.latencies[4], overhead + 8 * sector);
    let back = far_end + seen.latencies[4] + overhead + 8_000_000 + 8000 * 1000;
    let last = back + (angle(56) + TURN - back % TURN) % TURN + angle(64) - angle(56) + sector;
    assert_eq!(seen.latencies.iter().sum::<u64>(), last);
}
