//! Reads that take longer than others: by the bit of the cell, when they are made again, when nothing is interrupted any more, and when
//! the die looks after itself.

use iostack_model::Stage;
use iostack_sim::engine::{Happened, Kind};
use iostack_workload::Rng;

use super::{CAPACITY, random, refusal, world};
use crate::load::{LoadResult, alone, closed_loop, near};

/// 4 KiB at 409.6 MB/s.
const CHANNEL: u64 = 10_000;

/// Every page once, one at a time.
fn all_pages(changes: &[(&str, &str)]) -> LoadResult {
    closed_loop(&mut world(changes), 1, CAPACITY / 4096, |index| (Kind::Read, index * 4096, 4096))
}

#[test]
fn a_page_is_sensed_as_long_as_the_bit_of_its_cell_needs() {
    // 64 MiB are whole blocks of 48 pages in no plane: of its last block each plane has a third.
    let changes = [("flash.read_first", "20us"), ("flash.read", "40us"), ("flash.read_last", "90us")];
    let mut shares = Vec::new();
    for (bits, times) in [("1", &[20][..]), ("2", &[20, 90]), ("3", &[20, 40, 90]), ("4", &[20, 40, 40, 90])]
    {
        let cells = [("flash.bits", bits), ("flash.pages_per_block", "48")];
        let seen = all_pages(&[&changes[..], &cells].concat());
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        near(seen.mean_us() - 10.0, mean, 0.001);
        let slow = seen.latencies.iter().filter(|&&latency| latency == 90_000 + CHANNEL).count();
        shares.push(slow as f64 / seen.latencies.len() as f64);
    }
    for (share, expected) in shares.into_iter().zip([0.0, 0.5, 1.0 / 3.0, 0.25]) {
        assert!((share - expected).abs() < 0.001, "{share} instead of {expected}");
    }
}

#[test]
fn planes_that_sense_together_take_as_long_as_the_slowest() {
    let planes = [
        ("flash.planes", "2"),
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.multi_plane", "independent"),
        ("flash.bits", "2"),
        ("flash.read_first", "20us"),
        ("flash.read_last", "90us"),
    ];
    let mut world = world(&planes);
    let read = |world: &mut _, pages: [u64; 2]| {
        let ask = |index: u64| (Kind::Read, pages[index as usize % 2] * 4096, 4096);
        closed_loop(world, 2, 2, ask).elapsed
    };
    // Pages 0 and 1 are the first of both planes, 2 and 3 the second; what is sensed leaves one after the other.
    assert_eq!(read(&mut world, [0, 1]), 20_000 + 2 * CHANNEL);
    assert_eq!(read(&mut world, [0, 3]), 90_000 + 2 * CHANNEL);
    assert_eq!(read(&mut world, [3, 0]), 90_000 + 2 * CHANNEL);
}

/// The share of what is `such` is that, within four standard errors of a binomial share.
#[track_caller]
fn is_share(latencies: &[u64], such: impl Fn(u64) -> bool, expected: f64) {
    let all = latencies.len() as f64;
    let share = latencies.iter().filter(|&&latency| such(latency)).count() as f64 / all;
    let error = 4.0 * (expected * (1.0 - expected) / all).sqrt();
    assert!((share - expected).abs() <= error, "{share} instead of {expected}");
}

/// Random reads one at a time of a drive whose senses are made again.
fn retried(changes: &[(&str, &str)]) -> LoadResult {
    closed_loop(&mut world(changes), 1, 40_000, random(Kind::Read, CAPACITY))
}

#[test]
fn a_sense_is_made_again_by_chance_and_at_most_so_often() {
    let seen = retried(&[("flash.retry", "20%"), ("flash.retry_most", "3")]);
    let p = 0.2f64;
    near(seen.mean_us() - 10.0, 25.0 * (1.0 + p + p * p + p * p * p), 0.01);
    for (senses, expected) in [(1, 1.0 - p), (2, p * (1.0 - p)), (3, p * p * (1.0 - p)), (4, p * p * p)] {
        let latency = senses * 25_000 + CHANNEL;
        is_share(&seen.latencies, |each| each == latency, expected);
    }
}

#[test]
fn wear_makes_retries_likelier() {
    let of_age = |wear: &'static str| retried(&[("flash.retry_wear", "4%"), ("flash.wear", wear)]);
    assert_eq!(of_age("0").mean_us().to_bits(), 35f64.to_bits(), "nothing was ever erased");
    assert_eq!(of_age("2500"), retried(&[("flash.retry", "10%")]), "the same chance, the same seed");
    // Beyond the last one, all are made again, until there are no more.
    let worn_out = of_age("100000");
    assert!(worn_out.latencies.iter().all(|&latency| latency == 9 * 25_000 + CHANNEL));
}

#[test]
fn data_that_has_lain_long_is_sensed_again_until_it_is_written_anew() {
    let aged = [("flash.retention", "60"), ("flash.retry_retention", "10%"), ("flash.retry_most", "1")];
    let mut world = world(&aged);
    let half = CAPACITY / 4096 / 2;
    let in_order = |kind| move |index| (kind, index * 4096, 4096);
    closed_loop(&mut world, 4, half, in_order(Kind::Write));
    let seen = closed_loop(&mut world, 1, 2 * half, in_order(Kind::Read));
    let (new, old) = seen.latencies.split_at(half as usize);
    assert!(new.iter().all(|&latency| latency == 25_000 + CHANNEL));
    is_share(old, |latency| latency == 50_000 + CHANNEL, 0.2);
}

#[test]
fn a_program_is_interrupted_so_often_and_then_goes_on() {
    let latencies = |most: &'static str| {
        let one = [("flash.channels", "1"), ("flash.chips", "1"), ("flash.suspend", "program")];
        let limit = [("flash.suspend_time", "5us"), ("flash.suspend_most", most)];
        let mut world = world(&[&one[..], &limit].concat());
        world.sim.submit(Kind::Write, 0, 4096);
        world.sim.alarm_at(50_000, 0);
        assert_eq!(world.next(), Happened::Alarm(0));
        closed_loop(&mut world, 1, 4, |index| (Kind::Read, (1 + index) << 20, 4096)).latencies
    };
    // Interrupting, sensing, leaving; 160 us of the program are left.
    assert_eq!(latencies("none"), [40_000; 4]);
    assert_eq!(latencies("2"), [40_000, 40_000, 50_000 + 2 * 40_000 + 160_000, 160_000 + 35_000]);
}

#[test]
fn reads_meet_a_die_that_looks_after_itself_as_often_as_it_does() {
    let patrol = [("patrol.period", "1ms"), ("patrol.time", "200us")];
    let mut four = world(&patrol);
    let mut rng = Rng::from_seed(5);
    let (mut latencies, mut waited) = (Vec::new(), 0);
    for token in 0..40_000 {
        // At any moment of a period.
        four.sim.alarm_at(four.now() + 1 + rng.below(1_000_000), token);
        assert_eq!(four.next(), Happened::Alarm(token));
        let seen = alone(&mut four, Kind::Read, rng.below(CAPACITY / 4096) * 4096, 4096);
        latencies.push(seen.elapsed);
        waited += seen.stage(Stage::DieWait);
    }
    // A fifth of them waits, for a time that is uniform up to 200 us.
    for (beyond, share) in [(0, 0.2), (100_000, 0.1), (150_000, 0.05), (190_000, 0.01), (200_000, 0.0)] {
        is_share(&latencies, |latency| latency > 35_000 + beyond, share);
    }
    near(waited as f64 / 40_000.0, 0.2 * 100_000.0, 0.04);
    // A die that is never idle gives it the same share.
    let mut one = world(&[&patrol[..], &[("flash.channels", "1"), ("flash.chips", "1")]].concat());
    let busy = closed_loop(&mut one, 8, 20_000, random(Kind::Read, CAPACITY));
    near(busy.rate(), 0.8 / 35e-6, 0.005);
}

#[test]
fn tails_that_cannot_be_are_refused() {
    for (key, value, remedy) in [
        ("patrol.period", "25us", "more than patrol.time"),
        ("flash.read_first", "0", "like 25us"),
        ("flash.suspend_most", "0", "in this range"),
        ("flash.bits", "9", "in this range"),
    ] {
        let text = refusal(&[(key, value)]);
        assert!(text.contains(key) && text.contains(remedy), "{text}");
    }
}
