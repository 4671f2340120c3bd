//! The memory device against its closed forms: a batch of b requests takes c + b x.

use iostack_model::Stage;
use iostack_sim::engine::{Happened, Kind, World};
use iostack_workload::Rng;

use crate::load::{Ask, by_chance, closed_loop, near, world};
use crate::parts::guide::gatherer::Gatherer;

/// Shin's slides: 7 to 8 us per 4 KiB, peak 700 MB/s; a page alone takes 5851 ns.
pub(super) const SLIDES: [(&str, &str); 3] =
    [("dram.capacity", "64GiB"), ("dram.command", "1649ns"), ("dram.rate", "700MB/s")];
const PAGE: u64 = 5851;
const COMMAND: u64 = 1649;

fn dram(more: &[(&str, &str)]) -> World {
    world("dram", &[&SLIDES[..], more].concat())
}

fn random_pages(kind: Kind) -> impl FnMut(u64) -> Ask {
    by_chance(7, move |rng| (kind, rng.below(16 << 20) << 12, 4096))
}

#[test]
fn a_page_alone_takes_the_command_and_its_data() {
    for kind in [Kind::Read, Kind::Write] {
        let mut world = dram(&[]);
        let seen = closed_loop(&mut world, 1, 100, random_pages(kind));
        assert!(seen.latencies.iter().all(|&latency| latency == COMMAND + PAGE));
        assert_eq!(seen.stage(Stage::Controller), 100 * COMMAND);
    }
}

#[test]
fn one_command_at_a_time_serves_commands_in_a_row_at_any_depth() {
    let mut world = dram(&[]);
    let seen = closed_loop(&mut world, 32, 3200, random_pages(Kind::Read));
    assert_eq!(seen.elapsed, 3200 * (COMMAND + PAGE));
    assert_eq!(seen.latencies[3000], 32 * (COMMAND + PAGE));
}

#[test]
fn queued_commands_overlap_with_data() {
    let mut world = dram(&[("dram.queue_depth", "8")]);
    let seen = closed_loop(&mut world, 8, 1000, random_pages(Kind::Write));
    assert_eq!(seen.elapsed, COMMAND + 1000 * PAGE);
    assert!(seen.resource("dram").busy > 0.999);
}

#[test]
fn a_device_that_gathers_pays_the_command_once_for_all_that_wait() {
    // Depth and limit, then requests and commands of a cycle. Whoever comes first finds the device free and goes alone; the
    // others wait together, and so they stay: two commands for 8 requests. Where more wait than a command carries, it is full.
    for (depth, batch, requests, commands) in [(8, "8", 8, 2), (32, "16", 16, 1), (64, "16", 16, 1)] {
        let mut world = dram(&[("dram.batch", batch), ("dram.gather", "device")]);
        let seen = closed_loop(&mut world, depth, 6400, random_pages(Kind::Read));
        let expected =
            f64::from(requests) * 1e9 / (f64::from(commands) * 1649.0 + f64::from(requests) * 4096.0 / 0.7);
        near(seen.rate(), expected, 5e-3);
    }
}

#[test]
fn a_gathering_device_keeps_directions_apart_and_starves_none() {
    let mut world = dram(&[("dram.batch", "64"), ("dram.gather", "device")]);
    let mut rng = Rng::from_seed(3);
    let seen = closed_loop(&mut world, 32, 10_000, |_| {
        let kind = [Kind::Read, Kind::Write, Kind::Trim, Kind::Flush][rng.below(4) as usize];
        (kind, rng.below(1 << 20) << 12, if kind == Kind::Flush { 0 } else { 4096 })
    });
    let longest = seen.latencies.iter().max().expect("many");
    assert!(*longest < 64 * (COMMAND + PAGE), "{longest} ns");
}

#[test]
fn a_batch_that_the_host_hands_over_takes_c_plus_b_x_and_ends_together() {
    let device = || dram(&[("dram.batch", "8")]);
    for (count, ends) in [(1, vec![1]), (5, vec![5]), (8, vec![8]), (11, vec![8, 3])] {
        let mut world = device();
        let below = world.root();
        let host = world.add(Box::new(Gatherer { below, window: 0, held: Vec::new() }));
        world.set_root(host);
        (0..count).for_each(|index| {
            world.sim.submit(Kind::Read, index << 20, 4096);
        });
        let mut expected = Vec::new();
        let mut now = 0;
        for size in ends {
            now += COMMAND + (4096.0 * f64::from(size) / 0.7).round() as u64;
            expected.extend(vec![now; size as usize]);
        }
        let mut ended = Vec::new();
        while let Happened::Completed(id) = world.next() {
            ended.push(world.now());
            world.sim.release(id);
        }
        assert_eq!(ended, expected);
    }
}

#[test]
fn banks_work_side_by_side_until_data_or_command_limit() {
    let banks = |banks, depth, queue_depth, count| {
        let more = [
            ("dram.banks", banks),
            ("dram.access", "9us"),
            ("dram.write_access", "20us"),
            ("dram.queue_depth", queue_depth),
        ];
        let mut world = dram(&more);
        closed_loop(&mut world, depth, count, random_pages(Kind::Read))
    };
    let alone = banks("28", 1, "64", 100);
    assert!(alone.latencies.iter().all(|&latency| latency == COMMAND + 9000 + PAGE));
    let data = banks("28", 64, "64", 20_000);
    near(data.rate() * PAGE as f64, 1e9, 5e-3);
    let bank = banks("1", 64, "64", 2000);
    near(bank.rate() * 9000.0, 1e9, 5e-3);
}

#[test]
fn a_write_moves_its_data_before_the_bank_takes_them() {
    let mut world = dram(&[("dram.access", "9us"), ("dram.write_access", "20us"), ("dram.banks", "4")]);
    let seen = closed_loop(&mut world, 1, 1, |_| (Kind::Write, 0, 16384));
    assert_eq!(seen.latencies[0], COMMAND + 23406 + 20_000);
}
