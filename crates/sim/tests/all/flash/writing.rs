//! Buffer, flush, collection, folding, suspension: what writing costs, and whom.

use iostack_model::{Bytes, Stage};
use iostack_sim::engine::{Happened, Kind, World};
use iostack_workload::Rng;

use super::{CAPACITY, random, world};
use crate::load::{alone, by_chance, closed_loop, near, settle, sustained};

#[test]
fn programs_limit_random_writes_on_a_fresh_drive() {
    let fresh = [("flash.state", "fresh"), ("buffer.size", "64KiB"), ("flash.over_provisioning", "200%")];
    let seen = sustained(&mut world(&fresh), 64, 15_000, random(Kind::Write, CAPACITY));
    // Four dies; one is busy while the data comes and while it programs.
    near(seen.rate(), 4.0 / 210e-6, 0.01);
    let two = [("flash.planes", "2")];
    let seen = sustained(&mut world(&[&fresh[..], &two].concat()), 64, 15_000, random(Kind::Write, CAPACITY));
    near(seen.rate(), 8.0 / 220e-6, 0.01);
}

#[test]
fn sustained_writes_pay_for_collection_as_the_write_amplification_says() {
    let mut world =
        world(&[("flash.state", "steady"), ("buffer.size", "256KiB"), ("flash.capacity", "256MiB")]);
    let seen = sustained(&mut world, 32, 200_000, random(Kind::Write, 256 << 20));
    let flash = &world.flash()[0];
    let amplification = flash.write_amplification;
    assert!((1.5..4.0).contains(&amplification), "{amplification}");
    // Every page: programmed once per copy, read once per move, and its share of an erase.
    let moved = amplification - 1.0;
    let cost =
        amplification * 210e-6 + moved * 35e-6 + 1500e-6 * flash.erases as f64 / flash.pages_host as f64;
    near(seen.rate(), 4.0 / cost, 0.02);
    near(seen.resource("die").busy, 1.0, 0.02);
}

#[test]
fn writes_get_what_collection_wins_also_where_a_program_takes_many_pages() {
    // Eight pages a program, two planes: what one program takes is more than a step of collection wins.
    let large = [
        ("flash.state", "steady"),
        ("buffer.size", "1MiB"),
        ("flash.capacity", "512MiB"),
        ("flash.over_provisioning", "15%"),
        ("flash.planes", "2"),
        ("flash.page", "16KiB"),
        ("channel.rate", "4GB/s"),
    ];
    let mut world = world(&large);
    let seen = sustained(&mut world, 32, 200_000, random(Kind::Write, 512 << 20));
    let flash = &world.flash()[0];
    let (amplification, pages) = (flash.write_amplification, flash.pages_host as f64);
    // Eight pages of a program; planes sense one by one, erase together.
    let moved = amplification - 1.0;
    let (leave, erases) = (4096.0 / 4e9, flash.erases as f64 / pages);
    let cost = amplification * (200e-6 / 8.0 + leave) + moved * leave + erases * 1500e-6 / 2.0;
    // At most, a sense finds a single valid page; at least, one finds all four of its flash page.
    let (least, most) = (cost + moved * 25e-6 / 4.0, cost + moved * 25e-6);
    assert!((4.0 / most..=4.0 / least).contains(&seen.rate()), "{} {least} {most}", seen.rate());
    // No write waits until a block is won: 128 pages, of which most are moved.
    let slowest = *seen.latencies.iter().max().expect("many");
    let block = (128.0 * moved / amplification / 4.0 * 225e3) as u64;
    assert!(slowest < block, "{slowest} of {block} ns");
}

#[test]
fn the_cliff_comes_when_the_free_blocks_are_gone() {
    let mut world =
        world(&[("flash.state", "filled"), ("buffer.size", "256KiB"), ("flash.over_provisioning", "50%")]);
    let free =
        |world: &World| world.gauges().iter().find(|(name, _)| *name == "free blocks").expect("there").1;
    let before = free(&world);
    let early = sustained(&mut world, 32, 4_000, random(Kind::Write, CAPACITY));
    assert!(free(&world) < before);
    let later = sustained(&mut world, 32, 40_000, random(Kind::Write, CAPACITY));
    assert!(later.rate() < early.rate() * 0.75, "{} then {}", early.rate(), later.rate());
    let again = sustained(&mut world, 32, 40_000, random(Kind::Write, CAPACITY));
    near(again.rate(), later.rate(), 0.05);
}

#[test]
fn the_curve_of_a_drive_bends_after_one_capacity_is_written_and_ends_where_a_steady_one_is() {
    let pages = CAPACITY / 4096;
    let mut chance = random(Kind::Write, CAPACITY);
    for spare in [0.1, 0.3] {
        let percent = format!("{}%", spare * 100.0);
        let set = [("buffer.size", "256KiB"), ("flash.over_provisioning", percent.as_str())];
        let mut fresh = world(&[&set[..], &[("flash.state", "fresh")]].concat());
        let mut steady = world(&[&set[..], &[("flash.state", "steady")]].concat());
        let mut written = 0;
        while fresh.flash()[0].pages_moved == 0 {
            closed_loop(&mut fresh, 32, 32, &mut chance);
            written += 32;
        }
        // All flash is written, but for three blocks of each of four planes: the first victims are chosen.
        near(f64::from(written), (1.0 + spare) * pages as f64 - 4.0 * 3.0 * 32.0, 0.02);
        let slow = sustained(&mut steady, 32, pages, &mut chance).rate();
        assert!(sustained(&mut fresh, 32, pages / 8, &mut chance).rate() > 1.1 * slow, "it falls bit by bit");
        closed_loop(&mut fresh, 32, 8 * pages, &mut chance);
        near(sustained(&mut fresh, 32, pages, &mut chance).rate(), slow, 0.05);
    }
}

#[test]
fn trim_cures_what_writing_everything_did() {
    let tenth = || random(Kind::Write, CAPACITY / 10);
    let small = [("buffer.size", "256KiB"), ("flash.over_provisioning", "15%"), ("flash.state", "steady")];
    let mut ill = world(&small);
    let before = sustained(&mut ill, 32, 30_000, tenth());
    let amplification = ill.flash()[0].write_amplification;
    let mut cured = world(&small);
    alone(&mut cured, Kind::Trim, CAPACITY / 10 / 4096 * 4096, (CAPACITY / 10 * 9) as u32);
    let after = sustained(&mut cured, 32, 30_000, tenth());
    assert!(cured.flash()[0].write_amplification < 1.05, "{:?}", cured.flash());
    assert!(amplification > 1.05 && after.rate() > before.rate(), "{before:?} {after:?}");
}

#[test]
fn write_amplification_is_flash_over_host_also_where_the_buffer_spares_writes() {
    // Of ten writes nine hit the same sixteen pages, which meet in the buffer.
    let hot = || {
        by_chance(7, |rng| {
            let pages = if rng.below(10) > 0 { 16 } else { CAPACITY / 4096 };
            (Kind::Write, rng.below(pages) * 4096, 4096)
        })
    };
    let own = [("flash.state", "steady"), ("flash.over_provisioning", "15%")];
    let mut buffered = world(&[&own[..], &[("buffer.size", "4MiB")]].concat());
    sustained(&mut buffered, 32, 100_000, hot());
    let flash = &buffered.flash()[0];
    // The buffer's content at both ends: 1,024 pages of 100,000.
    near(flash.bytes_host.0 as f64, 100_000.0 * 4096.0, 0.011);
    near(
        flash.write_amplification,
        (flash.pages_programmed * 4096) as f64 / flash.bytes_host.0 as f64,
        1e-12,
    );
    assert!(flash.pages_host < 60_000, "most met in the buffer: {flash:?}");
    assert!(flash.collector_factor() > 1.5 * flash.write_amplification, "{flash:?}");
    // Writes that do not meet cost the same by both.
    let mut plain = world(&own);
    sustained(&mut plain, 32, 50_000, random(Kind::Write, CAPACITY));
    let flash = &plain.flash()[0];
    near(flash.write_amplification, flash.collector_factor(), 0.002);
    assert!(flash.write_amplification > 2.0, "{flash:?}");
}

#[test]
fn a_small_write_costs_the_flash_a_whole_page() {
    let mut world = world(&[]);
    for offset in 0..100 {
        alone(&mut world, Kind::Write, offset * 4096, 512);
    }
    near(world.flash()[0].write_amplification, 8.0, 1e-12);
    assert_eq!(world.flash()[0].bytes_host, Bytes(51_200));
}

#[test]
fn a_write_smaller_than_a_page_reads_the_rest() {
    let mut world = world(&[]);
    // Sense, out over the channel, in again, program.
    assert_eq!(alone(&mut world, Kind::Write, 512, 512).elapsed, 25_000 + 10_000 + 10_000 + 200_000);
    assert_eq!(world.flash()[0].pages_merged, 1);
    let mut buffered = self::world(&[("buffer.size", "1MiB")]);
    assert_eq!(alone(&mut buffered, Kind::Write, 512, 512).elapsed, 0);
    // A read of that page waits for the rest of it.
    assert_eq!(alone(&mut buffered, Kind::Read, 0, 4096).elapsed, 35_000);
    // Whole by now: another piece merges in the buffer.
    assert_eq!(alone(&mut buffered, Kind::Write, 0, 512).elapsed, 0);
    assert_eq!(buffered.flash()[0].pages_merged, 1);
}

#[test]
fn a_flush_waits_for_what_was_written_before_and_no_longer() {
    let mut world = world(&[("flash.planes", "4"), ("buffer.size", "1MiB")]);
    assert_eq!(alone(&mut world, Kind::Flush, 0, 0).elapsed, 0);
    alone(&mut world, Kind::Write, 0, 4096);
    // Less than a program's worth stays in the buffer until somebody asks.
    settle(&mut world);
    assert_eq!(world.now(), 0);
    let seen = alone(&mut world, Kind::Flush, 0, 0);
    assert_eq!((seen.elapsed, seen.stage(Stage::Buffer)), (210_000, 210_000));
    assert_eq!(alone(&mut world, Kind::Flush, 0, 0).elapsed, 0);
}

#[test]
fn reads_overtake_programs_and_interrupt_them_where_they_may() {
    let one = [("flash.channels", "1"), ("flash.chips", "1")];
    let read_after_write = |changes: &[(&str, &str)]| {
        let mut world = world(&[&one[..], changes].concat());
        // One is being programmed, one waits.
        world.sim.submit(Kind::Write, 0, 4096);
        world.sim.submit(Kind::Write, 4096, 4096);
        world.sim.alarm_at(50_000, 0);
        assert_eq!(world.next(), Happened::Alarm(0));
        let read = world.sim.submit(Kind::Read, 1 << 20, 4096);
        let mut latency = 0;
        for _ in 0..3 {
            let Happened::Completed(id) = world.next() else { panic!("not all are answered") };
            if id == read {
                latency = world.now() - 50_000;
            }
        }
        (latency, world.now())
    };
    let fifo = read_after_write(&[("flash.read_priority", "no")]);
    assert_eq!(fifo.0, 160_000 + 210_000 + 35_000);
    assert_eq!(read_after_write(&[]), (160_000 + 35_000, 420_000 + 35_000));
    let suspended = [("flash.suspend", "program"), ("flash.suspend_time", "5us")];
    assert_eq!(read_after_write(&suspended), (5_000 + 35_000, 420_000 + 40_000));
}

#[test]
fn collection_is_named_as_what_reads_waited_for() {
    let steady = [("flash.state", "steady"), ("buffer.size", "256KiB"), ("flash.over_provisioning", "10%")];
    let mut world = world(&steady);
    let mut rng = Rng::from_seed(3);
    let (mut collect, mut wait) = (0, 0);
    for _ in 0..16 {
        world.sim.submit(Kind::Write, rng.below(CAPACITY / 4096) * 4096, 4096);
    }
    for step in 0..20_000 {
        let Happened::Completed(id) = world.next() else { panic!("quiet") };
        for (index, spent) in world.sim.request(id).stages() {
            collect += if index == Stage::Collect as usize { spent } else { 0 };
            wait += if index == Stage::DieWait as usize { spent } else { 0 };
        }
        world.sim.release(id);
        let kind = if step % 4 == 0 { Kind::Read } else { Kind::Write };
        world.sim.submit(kind, rng.below(CAPACITY / 4096) * 4096, 4096);
    }
    assert!(collect > wait, "{collect} and {wait}");
}

#[test]
fn one_bit_a_cell_is_fast_until_it_is_full() {
    let slc = [
        ("flash.state", "fresh"),
        ("buffer.size", "256KiB"),
        ("flash.program", "2ms"),
        ("slc.size", "8MiB"),
        ("slc.read", "20us"),
        ("slc.program", "200us"),
        ("slc.erase", "1ms"),
    ];
    for full in ["direct", "fold"] {
        let mut world = world(&[&slc[..], &[("slc.full", full)]].concat());
        let burst = sustained(&mut world, 32, 1_600, random(Kind::Write, CAPACITY));
        near(burst.rate(), 4.0 / 210e-6, 0.05);
        let later = sustained(&mut world, 32, 3_000, random(Kind::Write, CAPACITY));
        assert!(later.rate() < burst.rate() / 4.0, "{full}: {} then {}", burst.rate(), later.rate());
        // Idle, it folds, and is as good as new.
        settle(&mut world);
        let used = world.gauges().iter().find(|(name, _)| *name == "slc pages").expect("there").1;
        assert!(used < 256.0, "{used} of 2048 pages are left");
        let again = sustained(&mut world, 32, 1_200, random(Kind::Write, CAPACITY));
        near(again.rate(), 4.0 / 210e-6, 0.05);
    }
}

#[test]
fn the_peak_of_a_mixed_load_is_below_the_published_bound() {
    // arXiv 2511.03944: IOPS = (G + 1) / (G + 2 W - 1) x channels x min(dies x planes / sense, 1 / (command + page / rate)).
    // The bound knows channels and senses, not programs; with fast programs the channel is what is left.
    let fast = [
        ("flash.state", "steady"),
        ("buffer.size", "1MiB"),
        ("flash.chips", "8"),
        ("flash.read", "5us"),
        ("flash.program", "5us"),
        ("flash.erase", "20us"),
        ("channel.rate", "40.96MB/s"),
        ("flash.cache_register", "yes"),
        ("flash.capacity", "128MiB"),
    ];
    for reads_per_write in [1u64, 3] {
        let mut world = world(&fast);
        let mix = by_chance(7, move |rng| {
            let kind = if rng.below(reads_per_write + 1) == 0 { Kind::Write } else { Kind::Read };
            (kind, rng.below((128 << 20) / 4096) * 4096, 4096)
        });
        let seen = sustained(&mut world, 128, 60_000, mix);
        let (g, w) = (reads_per_write as f64, world.flash()[0].write_amplification);
        let bound = (g + 1.0) / (g + 2.0 * w - 1.0) * 2.0 / 100e-6;
        near(seen.rate(), bound, 0.05);
    }
}
