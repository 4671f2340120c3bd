//! Disks with shingled tracks, against closed forms of steady writes and of the time until they come.

use iostack_model::Stage;
use iostack_sim::devices;
use iostack_sim::engine::{Kind, World};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use crate::load::{Ask, by_chance, closed_loop, near, settle, world};

/// Seeks alike over any distance, so that closed forms are short: 5000 tracks of 100 sectors, 100 of them the media cache.
const PLAIN: [(&str, &str); 12] = [
    ("hdd.rpm", "6000"),
    ("hdd.cylinders", "5000"),
    ("hdd.heads", "1"),
    ("hdd.sectors_outer", "100"),
    ("hdd.seek_long", "1037us"),
    ("hdd.seek_long_cylinder", "0"),
    ("hdd.link", "1GB/s"),
    ("smr.band", "512000B"),
    ("smr.cache", "5120000B"),
    ("hdd.queue_depth", "4"),
    ("hdd.seek_short", "0"),
    ("hdd.seek_short_root", "0"),
];
const BANDS: u64 = 490;
/// Writes of 4 KiB that a band and the media cache hold.
const BAND: u64 = 125;
const CACHE: u64 = 1250;
/// ms: a turn, a seek, eight sectors.
const TURN: f64 = 10.0;
const SEEK: f64 = 1.037;
const PAGE: f64 = 0.8;

fn disk(more: &[(&str, &str)]) -> World {
    world("hdd", &[&PLAIN[..], more].concat())
}

/// Not the first of a band: it would begin a stream.
fn page(rng: &mut Rng) -> Ask {
    let page = rng.below(BANDS) * BAND + 1 + rng.below(BAND - 1);
    (Kind::Write, page * 4096, 4096)
}

fn gauge(world: &World, name: &str) -> f64 {
    world.gauges().iter().find(|each| each.0 == name).expect("a gauge").1
}

/// An append comes a little late for its sector: a turn, and what lies between.
const APPEND: f64 = TURN + PAGE + SEEK * 0.08;

#[test]
fn random_writes_are_as_fast_as_the_log_until_it_is_full_and_then_clean_bands() {
    let mut world = disk(&[]);
    let mut ask = by_chance(3, page);
    let fresh = closed_loop(&mut world, 1, CACHE, &mut ask);
    near(fresh.elapsed as f64 / 1e6, CACHE as f64 * APPEND, 0.01);
    assert_eq!((fresh.stage(Stage::Collect), gauge(&world, "write amplification")), (0, 1.0));
    let cliff = closed_loop(&mut world, 1, 1, &mut ask);
    assert!(cliff.stage(Stage::Collect) > 200_000_000, "{cliff:?}");

    closed_loop(&mut world, 1, 5000, &mut ask);
    world.begin();
    let steady = closed_loop(&mut world, 1, 20_000, &mut ask);
    // A band is cleaned when its oldest page has gone through the log; each other write since then was its own by 1 of BANDS.
    let pages = 1.0 + (CACHE - 1) as f64 / BANDS as f64;
    near(gauge(&world, "write amplification"), 1.0 + BAND as f64 / pages, 0.02);
    let there = SEEK + TURN / 2.0;
    let band = there + 10.0 * TURN + 9.0 * SEEK;
    let clean = 2.0 * band + pages * (there + PAGE);
    let each = APPEND + (clean + there + PAGE - APPEND) / pages;
    near(steady.mean_us() / 1e3, each, 0.02);
    near(steady.stage(Stage::Collect) as f64 / 20_000e6, clean / pages, 0.02);
}

#[test]
fn sequential_writes_go_in_place_at_the_rate_of_the_tracks() {
    let mut world = disk(&[("hdd.write_cache", "1MiB")]);
    let seen = closed_loop(&mut world, 4, 2500, |index| (Kind::Write, index * 16_384, 16_384));
    near(seen.rate() * 16_384.0, 51_200.0 * 1e3 / (TURN + SEEK), 0.03);
    near(gauge(&world, "write amplification"), 1.0, 1e-12);
    assert!(gauge(&world, "media cache bytes") < 1.0);
}

#[test]
fn an_idle_disk_cleans_its_bands() {
    let written = |idle: &str| {
        let mut world = disk(&[("smr.idle", idle)]);
        closed_loop(&mut world, 1, 100, |index| (Kind::Write, (index * BAND + 7) * 4096, 4096));
        // A stream that breaks off: its band is cleaned too.
        closed_loop(&mut world, 1, 20, |index| (Kind::Write, (200 * BAND + index) * 4096, 4096));
        settle(&mut world);
        (gauge(&world, "media cache bytes"), gauge(&world, "write amplification"))
    };
    assert_eq!(written("none"), (409_600.0, 1.0));
    assert_eq!(written("1s"), (0.0, 1.0 + 101.0 * 125.0 / 120.0));
}

#[test]
fn a_read_goes_to_the_media_cache_for_what_is_there() {
    let mut world = disk(&[("hdd.cache", "64KiB"), ("hdd.read_ahead", "32KiB")]);
    closed_loop(&mut world, 1, 1, |_| (Kind::Write, 30 * 4096, 4096));
    // Before the page, the page, after it: two more seeks, which with their turns are on the medium.
    let read = closed_loop(&mut world, 1, 1, |_| (Kind::Read, 29 * 4096, 3 * 4096));
    let least = 3.0 * PAGE + 2.0 * SEEK;
    let medium = read.stage(Stage::Medium) as f64 / 1e6;
    assert!(medium > least && medium < least + 2.0 * TURN, "{medium} ms");
    let plain = closed_loop(&mut world, 1, 1, |_| (Kind::Read, 129 * 4096, 3 * 4096));
    near(plain.stage(Stage::Medium) as f64 / 1e6, 3.0 * PAGE, 1e-6);
}

#[test]
fn bands_that_cannot_be_are_refused() {
    for (key, value, what) in [
        ("smr.band", "100B", "not a multiple of 512"),
        ("smr.cache", "none", "not a size"),
        ("smr.cache", "256MB", "leaves no band"),
    ] {
        let sheet = Sheet::from_values("hdd", &[&PLAIN[..], &[(key, value)]].concat()).expect("a kind");
        let error = devices::build(&sheet, &mut World::new(), 1).expect_err(key).to_string();
        assert!(error.contains(what), "{error}");
    }
}
