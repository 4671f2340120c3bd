//! A mapping table that is not all in the drive's memory: what its misses cost.

use iostack_sim::engine::{Kind, World};

use super::{CAPACITY, random, world};
use crate::load::{closed_loop, near};

/// A page of the table of 512 B has the entries of 128 pages; the drive has this many of them.
const TABLE: u64 = CAPACITY / 4096 / 128;
/// Sensing, and 4 KiB at 409.6 MB/s.
const READ: f64 = 35.0;
/// The same of a page of the table.
const MISS: f64 = 26.25;

fn drive(kept: u64, changes: &[(&str, &str)]) -> World {
    let cache = format!("{}B", kept * 512);
    world(&[&[("map.cache", cache.as_str()), ("map.page", "512B")], changes].concat())
}

#[test]
fn random_reads_pay_for_a_page_of_the_table_as_often_as_it_is_not_kept() {
    for (kept, in_host) in [(TABLE / 2, 0), (TABLE / 8, 0), (TABLE / 8, TABLE / 4), (TABLE, 0)] {
        let buffer = if in_host == 0 { "none".to_owned() } else { format!("{}B", in_host * 512) };
        let host = [("map.host_buffer", buffer.as_str()), ("map.host_read", "3us")];
        let mut world = drive(kept, if in_host == 0 { &[] } else { &host });
        let seen = closed_loop(&mut world, 1, 40_000, random(Kind::Read, CAPACITY));
        let [kept, in_host] = [kept, in_host].map(|pages| pages as f64 / TABLE as f64);
        near(seen.mean_us(), READ + 3.0 * in_host + MISS * (1.0 - kept - in_host), 0.005);
        let used = world.flash().remove(0).map;
        let used = used.expect("the table is not all in memory");
        near(used.misses as f64 / used.lookups as f64 + 1.0, 2.0 - kept - in_host, 0.005);
        near(used.host_hits as f64 / used.lookups as f64 + 1.0, 1.0 + in_host, 0.005);
        assert_eq!((used.pages_programmed, used.pages_read), (0, used.misses), "reads change nothing");
    }
}

#[test]
fn reads_in_order_need_each_page_of_the_table_once() {
    let pages = CAPACITY / 4096;
    let mut world = drive(1, &[]);
    let seen = closed_loop(&mut world, 1, 2 * pages, |index| (Kind::Read, index % pages * 4096, 4096));
    // The first is kept at the start.
    near(seen.mean_us(), READ + MISS * (2 * TABLE - 1) as f64 / (2 * pages) as f64, 0.0001);
}

#[test]
fn random_writes_pay_for_a_page_of_the_table_twice() {
    // One die, a page a program, each answered when it is programmed; nothing is collected before all was written once.
    let one = [
        ("flash.channels", "1"),
        ("flash.chips", "1"),
        ("flash.state", "fresh"),
        ("buffer.acknowledge", "programmed"),
    ];
    let (kept, writes) = (TABLE / 4, CAPACITY / 4096 / 2);
    let mut world = drive(kept, &one);
    let seen = closed_loop(&mut world, 1, writes, random(Kind::Write, CAPACITY));
    let used = world.flash().remove(0);
    let map = used.map.expect("the table is not all in memory");
    let missed = map.pages_read as f64 / writes as f64;
    near(missed, 1.0 - kept as f64 / TABLE as f64, 0.02);
    // A page that makes room was nearly always changed; those that were there at the start were not.
    near(map.pages_programmed as f64, map.pages_read as f64, 0.05);
    let program = 10.0 + 200.0;
    let pages = map.pages_programmed as f64 / writes as f64;
    let theory = program + missed * MISS + pages / 8.0 * program;
    near(seen.mean_us(), theory, 0.02);
    near(used.collector_amplification, 1.0 + pages / 8.0, 0.001);
}
