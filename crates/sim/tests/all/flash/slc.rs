//! Does a cache of cells with one bit have the size that the rest of the drive leaves it?

use iostack_sim::engine::{Kind, World};

use super::{CAPACITY, refusal, world};
use crate::load::{closed_loop, near, settle};

const PAGES: u64 = CAPACITY / 4096;
/// Pages of the cache of an empty drive, and of one three quarters of which hold data.
const MOST: f64 = 4096.0;
const LEAST: f64 = 512.0;

const SLC: &[(&str, &str)] = &[
    ("buffer.size", "64KiB"),
    ("slc.size", "16MiB"),
    ("slc.read", "20us"),
    ("slc.program", "50us"),
    ("slc.erase", "1ms"),
    ("flash.state", "fresh"),
];
const SHRINKS: &[(&str, &str)] = &[("slc.least", "2MiB"), ("slc.gone", "75%")];

fn shrinking(changes: &[(&str, &str)]) -> World {
    world(&[SLC, SHRINKS, changes].concat())
}

/// Pages in the log, after so many writes of pages from `first` on, over and over `span`.
fn burst(world: &mut World, count: u64, first: u64, span: u64) -> f64 {
    closed_loop(world, 64, count, |index| (Kind::Write, (first + index % span) * 4096, 4096));
    world.gauges().iter().find(|(name, _)| *name == "slc pages").expect("there").1
}

/// A drive of whose pages so many hold data, and nothing is in the cache.
fn filled(pages: u64) -> World {
    let mut world = shrinking(&[]);
    if pages > 0 {
        burst(&mut world, pages, 0, pages);
    }
    settle(&mut world);
    world
}

/// Size of the cache when so many pages hold data.
fn size(pages: f64) -> f64 {
    LEAST + (MOST - LEAST) * (1.0 - pages / (0.75 * PAGES as f64)).max(0.0)
}

#[test]
fn the_cache_of_a_drive_gets_smaller_as_it_fills() {
    for eighths in 1..=8 {
        let pages = PAGES * eighths / 8;
        // What is there is written again: as much holds data as before.
        let seen = burst(&mut filled(pages), 6000, 0, pages);
        near(seen, size(pages as f64), 0.02);
        if eighths >= 6 {
            near(seen, LEAST, 0.0);
        }
    }
}

#[test]
fn what_is_written_anew_fills_the_drive_and_the_cache() {
    for quarters in 0..3 {
        let before = PAGES * quarters / 4;
        // x = size(before + x): each page takes a place in the cache, and a share of one from it.
        let share = (MOST - LEAST) / (0.75 * PAGES as f64);
        let expected = size(before as f64) / (1.0 + share);
        // The log is full behind so many, and takes nothing more while the drive goes on to fill.
        for more in [1.0, 1.1] {
            near(burst(&mut filled(before), (expected * more) as u64, before, PAGES), expected, 0.02);
        }
    }
}

#[test]
fn the_cache_gets_larger_again_when_data_are_trimmed() {
    let mut world = filled(PAGES);
    closed_loop(&mut world, 1, 1, |_| (Kind::Trim, CAPACITY / 2, (CAPACITY / 2) as u32));
    near(burst(&mut world, 6000, 0, PAGES / 2), size(PAGES as f64 / 2.0), 0.02);
}

#[test]
fn a_full_cache_that_shrinks_is_folded_before_writes_go_on() {
    let mut world = shrinking(&[("slc.full", "fold"), ("flash.pages_per_block", "16")]);
    for round in 0..3 {
        assert!(burst(&mut world, PAGES, 0, PAGES) >= if round == 0 { LEAST / 2.0 } else { 1.0 });
    }
    settle(&mut world);
    let flash = &world.flash()[0];
    assert_eq!((flash.bytes_host.0, flash.pages_mapped), (3 * CAPACITY, PAGES));
}

#[test]
fn a_cache_without_a_least_is_as_large_on_a_full_drive() {
    let mut world = world(&[SLC, &[("flash.state", "filled")]].concat());
    near(burst(&mut world, 6000, 0, PAGES), MOST, 0.0);
}

#[test]
fn a_cache_that_shrinks_to_more_or_to_nothing_is_refused() {
    for (least, gone, words) in [
        ("17MiB", "75%", "give slc.size or less"),
        ("4KiB", "75%", "less than two pages of each die"),
        ("2MiB", "0%", "give 1 % to 100 %"),
        ("2MiB", "101%", "give 1 % to 100 %"),
    ] {
        let error = refusal(&[SLC, &[("slc.least", least), ("slc.gone", gone)]].concat());
        assert!(error.contains(words), "{error}");
    }
}
