//! Where the answer is known in closed form.

use iostack_model::Stage;
use iostack_sim::engine::Kind;

use super::{CAPACITY, random, world};
use crate::load::{alone, by_chance, closed_loop, near, settle, sustained};

/// 4 KiB at 409.6 MB/s.
const CHANNEL: u64 = 10_000;

#[test]
fn data_passes_the_drives_memory_twice() {
    // 4 KiB take 2 x 20 us there and 10 us on a channel; many reads at once wait for the memory alone.
    let slow = [("controller.memory", "204.8MB/s")];
    near(
        closed_loop(&mut world(&slow), 1, 2_000, random(Kind::Read, CAPACITY)).mean_us(),
        35.0 + 40.0,
        0.0001,
    );
    let busy = closed_loop(&mut world(&slow), 16, 20_000, random(Kind::Read, CAPACITY));
    near(busy.rate(), 1e6 / 40.0, 0.002);
    near(busy.resource("memory").busy, 1.0, 0.002);
    // Reads and writes share it.
    let mixed = by_chance(3, |rng| {
        let kind = if rng.below(2) == 0 { Kind::Read } else { Kind::Write };
        (kind, rng.below(CAPACITY / 4096) * 4096, 4096)
    });
    let buffered = [("controller.memory", "20.48MB/s"), ("buffer.size", "1MiB"), ("flash.state", "fresh")];
    near(closed_loop(&mut world(&buffered), 16, 4_000, mixed).rate(), 1e6 / 400.0, 0.002);
}

#[test]
fn an_unloaded_read_takes_the_sum_of_its_stages() {
    let mut world = world(&[
        ("controller.read", "3us"),
        ("controller.read_page", "1us"),
        ("controller.read_delay", "2us"),
        ("channel.command", "500ns"),
        ("link.rate", "409.6MB/s"),
        ("link.command", "700ns"),
        ("link.latency", "900ns"),
    ]);
    let seen = alone(&mut world, Kind::Read, 0, 4096);
    assert_eq!(seen.elapsed, 6_000 + 25_000 + 10_500 + 10_700 + 900);
    let expected =
        [(Stage::Link, 11_600), (Stage::Controller, 6_000), (Stage::Die, 25_000), (Stage::Channel, 10_500)];
    assert_eq!(expected.map(|(stage, _)| (stage, seen.stage(stage))), expected);
    // A sector needs the same sense, and less of channel and link.
    let sector = alone(&mut world, Kind::Read, 512, 512);
    assert_eq!(sector.elapsed, 6_000 + 25_000 + 500 + 1_250 + 700 + 1_250 + 900);
}

#[test]
fn an_unloaded_write_takes_the_sum_of_its_stages() {
    let changes = [("controller.write", "5us"), ("controller.write_page", "1us"), ("link.rate", "409.6MB/s")];
    let mut through = world(&changes);
    let seen = alone(&mut through, Kind::Write, 0, 4096);
    assert_eq!(seen.elapsed, 10_000 + 6_000 + CHANNEL + 200_000);
    assert_eq!(seen.stage(Stage::Die), 200_000);

    let mut buffered = world(&[&changes[..], &[("buffer.size", "1MiB")]].concat());
    assert_eq!(alone(&mut buffered, Kind::Write, 0, 4096).elapsed, 10_000 + 6_000);
    // It is answered from the buffer, which is full of nothing else: no cells, no channel.
    let seen = alone(&mut buffered, Kind::Read, 0, 4096);
    assert_eq!((seen.elapsed, seen.stage(Stage::Die)), (10_000, 0));
}

#[test]
fn a_page_never_written_is_answered_without_the_die() {
    let mut world = world(&[("flash.state", "fresh"), ("controller.read", "3us")]);
    assert_eq!(alone(&mut world, Kind::Read, 0, 4096).elapsed, 3_000);
    alone(&mut world, Kind::Write, 0, 4096);
    assert_eq!(alone(&mut world, Kind::Read, 0, 4096).elapsed, 3_000 + 25_000 + CHANNEL);
    alone(&mut world, Kind::Trim, 0, 4096);
    assert_eq!(alone(&mut world, Kind::Read, 0, 4096).elapsed, 3_000);
}

#[test]
fn a_large_read_is_served_by_all_dies_at_once() {
    let mut world = world(&[]);
    // Four pages on four dies, two on each channel.
    assert_eq!(alone(&mut world, Kind::Read, 0, 4 * 4096).elapsed, 25_000 + 2 * CHANNEL);
    // Eight: each die senses twice; the second sense begins when the first page has left.
    assert_eq!(alone(&mut world, Kind::Read, 0, 8 * 4096).elapsed, 2 * (25_000 + CHANNEL) + CHANNEL);
}

#[test]
fn pages_of_a_flash_page_and_of_several_planes_share_a_sense() {
    let mut unit =
        world(&[("flash.page", "16KiB"), ("flash.pages_per_block", "8"), ("channel.command", "1us")]);
    assert_eq!(alone(&mut unit, Kind::Read, 0, 16 << 10).elapsed, 25_000 + 1_000 + 4 * CHANNEL);
    let planes = [("flash.planes", "2"), ("flash.channels", "1"), ("flash.chips", "1")];
    // Neighbours were programmed together, so that their numbers match.
    for together in ["matching", "independent"] {
        let mut world = world(&[&planes[..], &[("flash.multi_plane", together)]].concat());
        assert_eq!(alone(&mut world, Kind::Read, 0, 8192).elapsed, 25_000 + 2 * CHANNEL);
        assert_eq!(alone(&mut world, Kind::Read, 0, 12288).elapsed, 25_000 + 2 * CHANNEL + 25_000 + CHANNEL);
    }
    for alone_each in [&[][..], &[("flash.multi_plane", "none")]] {
        let mut world = world(&[&planes[..], alone_each].concat());
        assert_eq!(alone(&mut world, Kind::Read, 0, 12288).elapsed, 3 * (25_000 + CHANNEL));
    }
}

#[test]
fn unrelated_reads_of_a_die_wait_for_each_other_unless_its_planes_are_independent() {
    let planes = [("flash.planes", "4"), ("channel.rate", "40.96GB/s"), ("flash.capacity", "256MiB")];
    let rate = |together: &[(&str, &str)]| {
        let mut world = world(&[&planes[..], together].concat());
        sustained(&mut world, 1000, 60_000, random(Kind::Read, 256 << 20)).rate()
    };
    // As dies of one plane do: each is busy until its data has left.
    let dies = 4.0 / 25.1e-6;
    near(rate(&[]), dies, 0.003);
    // Of the 64 that are looked at, few have the number of the first: 512 pages of a plane, 32 numbers.
    let matching = rate(&[("flash.multi_plane", "matching")]) / dies;
    let independent = rate(&[("flash.multi_plane", "independent")]) / dies;
    assert!(matching > 1.0 && matching < independent, "{matching} {independent}");
    // All four sense in each turn; their data leaves one after the other.
    // Two dies share a channel, so that some of it waits.
    near(independent, 4.0 * 25.1 / 25.4, 0.02);
}

#[test]
fn a_cache_register_lets_sensing_and_leaving_overlap() {
    let one = [("flash.channels", "1"), ("flash.chips", "1"), ("flash.cache_register", "yes")];
    let mut cells = world(&one);
    assert_eq!(alone(&mut cells, Kind::Read, 0, 10 * 4096).elapsed, 10 * 25_000 + CHANNEL);
    let mut channel = world(&[&one[..], &[("channel.rate", "81.92MB/s")]].concat());
    assert_eq!(alone(&mut channel, Kind::Read, 0, 10 * 4096).elapsed, 25_000 + 10 * 50_000);
}

#[test]
fn the_slowest_part_limits_random_reads() {
    let read = || random(Kind::Read, CAPACITY);
    let limits: [(&[_], _, _); 4] = [
        (&[("channel.rate", "40.96MB/s")], "channel", 2.0 / 100e-6),
        (&[("link.rate", "81.92MB/s")], "link", 1.0 / 50e-6),
        (&[("controller.read", "30us")], "controller", 1.0 / 30e-6),
        (&[("controller.read", "90us"), ("controller.cores", "3")], "controller", 3.0 / 90e-6),
    ];
    for (changes, name, expected) in limits {
        // Deep, so that none of several is ever idle by chance.
        let seen = sustained(&mut world(changes), 512, 30_000, read());
        near(seen.rate(), expected, 0.003);
        near(seen.resource(name).busiest, 1.0, 0.01);
        // Little's law.
        near(seen.mean_us() * seen.rate() / 1e6, 512.0, 0.02);
    }
    // Dies: each is busy until its data has left.
    let seen = sustained(&mut world(&[("channel.rate", "40.96GB/s")]), 1000, 60_000, read());
    near(seen.rate(), 4.0 / 25.1e-6, 0.003);
}

#[test]
fn a_closed_load_on_dies_is_a_closed_network() {
    // Eight dies with a channel each, so fast that it does not count, and a load balanced by chance: throughput lies
    // between that of exponential service, N M / (N + M - 1) / S, and that of perfect balance, min(N, M) / S.
    let dies = [("flash.channels", "8"), ("flash.chips", "1"), ("channel.rate", "4096GB/s")];
    for depth in [1u64, 4, 8, 32] {
        let seen = sustained(&mut world(&dies), depth, 40_000, random(Kind::Read, CAPACITY));
        let (n, m) = (depth as f64, 8.0);
        let (least, most) = (n * m / (n + m - 1.0) / 25e-6, n.min(m) / 25e-6);
        assert!(
            (least * 0.995..=most * 1.005).contains(&seen.rate()),
            "depth {depth}: {} is not within {least} and {most}",
            seen.rate()
        );
    }
}

#[test]
fn a_full_queue_holds_commands_back() {
    let mut world = world(&[("flash.queue_depth", "2")]);
    let seen = sustained(&mut world, 16, 20_000, random(Kind::Read, CAPACITY));
    let two = sustained(&mut self::world(&[]), 2, 20_000, random(Kind::Read, CAPACITY));
    near(seen.rate(), two.rate(), 0.01);
    settle(&mut world);
}

#[test]
fn half_duplex_shares_the_link_and_full_duplex_does_not() {
    let mixed = || {
        by_chance(7, |rng| {
            let kind = if rng.below(2) == 0 { Kind::Read } else { Kind::Write };
            (kind, rng.below(64) * 4096, 4096)
        })
    };
    let link = [("link.rate", "40.96MB/s"), ("buffer.size", "4MiB"), ("flash.over_provisioning", "100%")];
    let half = sustained(&mut world(&[&link[..], &[("link.duplex", "half")]].concat()), 32, 20_000, mixed());
    near(half.rate(), 1.0 / 100e-6, 0.005);
    let full = sustained(&mut world(&link), 32, 20_000, mixed());
    assert!(full.rate() > 1.7 / 100e-6, "{}", full.rate());
}
