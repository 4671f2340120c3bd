//! Do zones cost what their dies, the link and the erases say, and is nothing ever moved?

use iostack_model::{Access, Amount, BlockSizes, Bytes, Job, Mix, Nanos, Verify, VerifyMode, WritePointers};
use iostack_sim::engine::{Happened, Kind, World};
use iostack_sim::run::{Ran, RunOptions, SimError, run};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

use super::{CAPACITY, PLAIN};
use crate::load::{Ask, alone, closed_loop, near, settle, sustained, world_of};

const ZONE: u64 = 4 << 20;
const PAGE: u64 = 4096;
/// Pages of a zone.
const PAGES: u64 = ZONE / PAGE;

/// Sixteen zones of 4 MiB on all four dies, empty, whose writes the drive puts in order.
const ZONED: &[(&str, &str)] = &[
    ("zones.size", "4MiB"),
    ("zones.append", "yes"),
    ("zones.active", "8"),
    ("buffer.size", "256KiB"),
    ("flash.state", "fresh"),
];

fn sheet(changes: &[(&str, &str)]) -> Sheet {
    Sheet::from_values("flash", &[PLAIN, ZONED, changes].concat()).expect("a kind")
}

fn zoned(changes: &[(&str, &str)]) -> World {
    world_of(&sheet(changes), World::new())
}

/// Writes of so many bytes to these zones in turn, each from its start on and again when it is full.
fn in_turn(zones: &[u64], length: u64) -> impl FnMut(u64) -> Ask {
    let (zones, mut count) = (zones.to_vec(), 0);
    move |_| {
        let (turn, zone) = (count / zones.len() as u64, zones[count as usize % zones.len()]);
        count += 1;
        (Kind::Write, zone * ZONE + turn * length % ZONE, length as u32)
    }
}

/// Programs of one die in a second: the data comes, then the cells take it.
const DIE: f64 = 1.0 / 210e-6;

#[test]
fn one_zone_is_as_fast_as_the_dies_it_lies_on() {
    for (dies, count) in [("1", 1.0), ("2", 2.0), ("4", 4.0)] {
        let mut world = zoned(&[("zones.dies", dies)]);
        near(sustained(&mut world, 64, 800, in_turn(&[3], PAGE)).rate(), count * DIE, 0.02);
    }
    // 250 us for a page on a channel, of which two dies share each: the channels are what is left.
    let mut slow = zoned(&[("channel.rate", "16.384MB/s")]);
    near(sustained(&mut slow, 64, 800, in_turn(&[3], PAGE)).rate(), 2.0 / 250e-6, 0.02);
    // Planes program together: a row of two pages of 16 KiB.
    let large = [("flash.planes", "2"), ("flash.page", "16KiB"), ("channel.rate", "4GB/s")];
    let few = [("zones.active", "2"), ("flash.pages_per_block", "8")];
    let mut planes = zoned(&[&large[..], &few].concat());
    let row = 32_768.0 / 4e9 + 200e-6;
    near(sustained(&mut planes, 64, 800, in_turn(&[3], PAGE)).rate(), 4.0 * 8.0 / row, 0.02);
}

#[test]
fn zones_add_up_until_the_link_is_full_unless_they_share_dies() {
    let small = [("buffer.size", "64KiB"), ("zones.active", "4")];
    let one = [&small[..], &[("zones.dies", "1"), ("link.rate", "40.96MB/s")]].concat();
    for count in 1..=4u64 {
        let zones: Vec<u64> = (0..count).collect();
        let seen = sustained(&mut zoned(&one), 64, 700, in_turn(&zones, PAGE));
        near(seen.rate(), (count as f64 * DIE).min(1.0 / 100e-6), 0.02);
    }
    // Four dies, one each: the fifth zone lies where the first one does.
    near(sustained(&mut zoned(&one), 64, 700, in_turn(&[0, 4], PAGE)).rate(), DIE, 0.02);
}

#[test]
fn a_reset_erases_what_is_written_and_takes_its_time() {
    let full = |world: &mut World, share: u64| {
        closed_loop(world, 16, PAGES / share, in_turn(&[0], PAGE));
        settle(world);
    };
    let reset = |world: &mut World| alone(world, Kind::Trim, 0, ZONE as u32).elapsed;
    // 1,024 pages on four dies: eight blocks of each.
    let mut plain = zoned(&[]);
    full(&mut plain, 1);
    assert_eq!(reset(&mut plain), 8 * 1_500_000);
    assert_eq!((reset(&mut plain), plain.flash()[0].erases), (0, 32), "an empty one costs nothing");
    let timed = [("zones.reset", "0:1ms 100:20ms")];
    // Erases alone would take 12, 6 and 3 ms.
    for (share, time, erases) in [(1, 20_000_000, 32), (2, 10_500_000, 16), (4, 5_750_000, 8)] {
        let mut world = zoned(&timed);
        full(&mut world, share);
        assert_eq!((reset(&mut world), world.flash()[0].erases), (time, erases));
    }
    let mut few = zoned(&[]);
    closed_loop(&mut few, 1, 5, in_turn(&[0], PAGE));
    settle(&mut few);
    assert_eq!((reset(&mut few), few.flash()[0].erases), (1_500_000, 4), "blocks that are not full too");
    assert_eq!(reset(&mut zoned(&timed)), 0, "nothing is written");
    // Zones of one die each, all at once: dies work side by side, 32 blocks each.
    let mut filled = zoned(&[("zones.dies", "1"), ("flash.state", "filled")]);
    let seen = closed_loop(&mut filled, 16, 16, |zone| (Kind::Trim, zone * ZONE, ZONE as u32));
    near(seen.rate(), 4.0 / (32.0 * 1500e-6), 1e-9);
    assert_eq!(filled.flash()[0].pages_mapped, 0);
}

#[test]
fn a_zone_that_is_written_again_and_again_pays_its_erases_and_nothing_is_moved() {
    let mut world = zoned(&[("zones.dies", "1")]);
    let cycles = 6;
    let seen = closed_loop(&mut world, 32, cycles * PAGES, in_turn(&[5], PAGE));
    settle(&mut world);
    let cycle = PAGES as f64 * 210e-6 + 32.0 * 1500e-6;
    // The first needs no erase.
    near(seen.elapsed as f64 / 1e9, cycles as f64 * cycle - 32.0 * 1500e-6, 0.02);
    let flash = &world.flash()[0];
    assert_eq!((flash.pages_moved, flash.erases), (0, 32 * (cycles - 1)));
    assert_eq!(flash.pages_programmed * PAGE, flash.bytes_host.0, "write amplification is 1 to the page");
    assert_eq!(flash.pages_programmed, cycles * PAGES);
}

#[test]
fn a_host_that_sends_one_write_of_a_zone_after_the_other_waits_for_each() {
    let slow = [("controller.write", "100us"), ("controller.cores", "4"), ("flash.program", "40us")];
    for (append, zones, expected) in [("no", 1, 1.0), ("no", 3, 3.0), ("yes", 1, 4.0)] {
        let mut world = zoned(&[&slow[..], &[("zones.append", append)]].concat());
        let all: Vec<u64> = (0..zones).collect();
        let seen = sustained(&mut world, 24, 800, in_turn(&all, PAGE));
        // Four cores decide less than four dies program.
        near(seen.rate(), expected / 100e-6, 0.02);
    }
}

#[test]
fn no_more_zones_are_begun_than_the_drive_allows() {
    let mut world = zoned(&[("zones.active", "2")]);
    let zone = |zone: u64, length: u64| (Kind::Write, zone * ZONE, length as u32);
    for (kind, offset, length) in [zone(0, PAGE), zone(1, PAGE)] {
        alone(&mut world, kind, offset, length);
    }
    let (kind, offset, length) = zone(2, PAGE);
    let third = world.sim.submit(kind, offset, length);
    settle(&mut world);
    // The rest of the first zone: now another may begin.
    world.sim.submit(Kind::Write, PAGE, (ZONE - PAGE) as u32);
    let mut through = Vec::new();
    while let Happened::Completed(id) = world.next() {
        through.push(id);
    }
    assert!(through.len() == 2 && through.contains(&third), "{through:?}");
}

#[test]
fn what_is_not_written_is_read_at_no_time_and_what_is_reset_is_gone() {
    let mut world = zoned(&[("zones.capacity", "3MiB")]);
    let read = |world: &mut World, offset: u64| alone(world, Kind::Read, offset, 4096).elapsed;
    assert_eq!(read(&mut world, 0), 0);
    closed_loop(&mut world, 1, 2, in_turn(&[0], PAGE));
    assert_eq!(read(&mut world, PAGE), 0, "the buffer has it");
    settle(&mut world);
    assert_eq!((read(&mut world, PAGE), read(&mut world, 2 * PAGE)), (35_000, 0));
    assert_eq!(read(&mut world, 3 << 20), 0, "behind the capacity");
    alone(&mut world, Kind::Trim, 0, (ZONE / 2) as u32);
    assert_eq!(read(&mut world, PAGE), 35_000, "half a zone is not reset");
    alone(&mut world, Kind::Trim, 0, ZONE as u32);
    assert_eq!(read(&mut world, PAGE), 0);
}

#[test]
fn the_erases_of_a_reset_warm_the_drive() {
    let heat = [
        ("heat.limit", "90"),
        ("heat.rate", "1MB/s"),
        ("heat.resistance", "1000"),
        ("heat.constant", "1000s"),
        ("heat.erase", "2"),
    ];
    let mut world = zoned(&[&heat[..], &[("flash.state", "filled")]].concat());
    alone(&mut world, Kind::Trim, 0, ZONE as u32);
    let degrees = world.gauges().iter().find(|(name, _)| *name == "temperature").expect("there").1;
    // 32 erases of 2 W; nothing cools in so short a time.
    near(degrees - 25.0, 32.0 * 1500e-6 * 2.0, 0.01);
}

/// Pieces by chance, written where zones go on, read anywhere and emptied: against a list of what must be there.
#[test]
fn zones_bring_what_was_written_to_them() {
    for seed in 0..60 {
        let mut rng = Rng::from_seed(seed);
        let mut one_of = |words: &[&'static str]| words[rng.below(words.len() as u64) as usize];
        let values = [
            ("zones.dies", one_of(&["1", "2", "4"])),
            ("flash.planes", one_of(&["1", "2"])),
            ("flash.multi_plane", one_of(&["none", "writes", "independent"])),
            ("flash.page", one_of(&["4KiB", "16KiB"])),
            ("flash.pages_per_block", one_of(&["4", "16"])),
            ("flash.capacity", "4MiB"),
            ("zones.size", "256KiB"),
            ("zones.capacity", one_of(&["256KiB", "192KiB"])),
            ("zones.append", one_of(&["no", "yes"])),
            ("buffer.size", "320KiB"),
        ];
        let mut world = World::new();
        world.sim.keep_stamps();
        let mut world = world_of(&sheet(&values), world);
        let (zone, capacity) = (512u64, if values[7].1 == "192KiB" { 384 } else { 512 });
        let (mut stamps, mut pointers) = (vec![0u32; 8192], [0u64; 4]);
        for stamp in 1..=400 {
            let which = rng.below(4);
            let pointer = &mut pointers[which as usize];
            let first = which * zone;
            match rng.below(10) {
                0 => {
                    alone(&mut world, Kind::Trim, first * 512, (zone * 512) as u32);
                    stamps[first as usize..][..zone as usize].fill(0);
                    *pointer = 0;
                }
                1..=6 => {
                    if *pointer == capacity {
                        stamps[first as usize..][..zone as usize].fill(0);
                        *pointer = 0;
                    }
                    let count = (1 + rng.below(100)).min(capacity - *pointer);
                    let id = world.sim.submit(Kind::Write, (first + *pointer) * 512, (count * 512) as u32);
                    world.sim.request_mut(id).stamp = stamp;
                    assert_eq!(world.next(), Happened::Completed(id), "seed {seed}");
                    world.sim.release(id);
                    stamps[(first + *pointer) as usize..][..count as usize].fill(stamp);
                    *pointer += count;
                }
                _ => {
                    let at = first + rng.below(zone);
                    let id = world.sim.submit(Kind::Read, at * 512, 512);
                    assert_eq!(world.next(), Happened::Completed(id), "seed {seed}");
                    assert_eq!(world.sim.request(id).stamp, stamps[at as usize], "seed {seed}, sector {at}");
                    world.sim.release(id);
                }
            }
        }
        settle(&mut world);
        assert_eq!((world.flash()[0].pages_moved, world.sim.under_way()), (0, 0), "seed {seed}");
    }
}

/// Writes by chance to zones of the drive's size.
fn job(changes: impl FnOnce(&mut Job)) -> Job {
    let pointers =
        WritePointers { zone: Bytes(ZONE), capacity: Bytes(ZONE), open_most: 4, ..WritePointers::default() };
    let mut job = Job {
        mix: Mix::WRITE,
        access: Access::UNIFORM,
        queue_depth: 16,
        write_pointers: Some(pointers),
        io_count: Some(3_000),
        time_based: true,
        runtime: Some(Nanos::millis(60_000)),
        size: Some(Amount::Bytes(Bytes(8 * ZONE))),
        ..Job::default()
    };
    changes(&mut job);
    job
}

fn ran(changes: &[(&str, &str)], jobs: &[Job]) -> Result<Ran, SimError> {
    run(&sheet(changes), jobs, &RunOptions::seeded(3))
}

#[test]
fn a_load_in_zoned_mode_writes_and_resets_and_others_only_read() {
    for (state, append) in [("fresh", "no"), ("filled", "yes")] {
        let ran = ran(&[("flash.state", state), ("zones.append", append)], &[job(|_| ())]).expect("runs");
        let (outcome, flash) = (&ran.outcomes[0], ran.outcomes[0].inside.as_ref().expect("simulated"));
        let flash = flash.flash.as_ref().expect("a drive");
        assert_eq!((outcome.ios(), flash.pages_moved), (3_000, 0));
        near(flash.collector_amplification, 1.0, 1e-12);
        // Four zones are begun and none is full: on a drive that was full, each of them was emptied.
        assert_eq!(flash.erases, if state == "filled" { 4 * 32 } else { 0 }, "{flash:?}");
    }
    let again = job(|job| {
        job.io_count = Some(30_000);
        job.size = Some(Amount::Bytes(Bytes(4 * ZONE)));
    });
    let seen = ran(&[], &[again]).expect("runs");
    let inside = seen.outcomes[0].inside.as_ref().expect("simulated");
    // 30,000 pages into four zones: each is in its eighth round, and was emptied before all but the first.
    assert_eq!(inside.flash.as_ref().expect("a drive").erases, 4 * 7 * 32);
    let stages = [
        job(|job| job.verify = Some(Verify::of_mode(VerifyMode::WriteThenRead))),
        job(|job| job.stonewall = true),
        job(|job| (job.mix, job.write_pointers, job.stonewall) = (Mix::READ, None, true)),
        job(|job| {
            (job.mix, job.write_pointers, job.stonewall) = (Mix::TRIM, None, true);
            (job.block_sizes, job.io_count) = (BlockSizes::all(Bytes(ZONE)), Some(8));
        }),
    ];
    let seen = ran(&[], &stages).expect("each finds the zones as the one before left them");
    assert!(seen.outcomes.iter().all(|outcome| outcome.failures.is_empty() && outcome.ios() > 0));
}

#[test]
fn the_shipped_drive_with_zones_writes_as_its_numbers_say() {
    let (zone, capacity) = (Bytes(2 << 30), Bytes(1077 << 20));
    let pointers = WritePointers { zone, capacity, open_most: 14, ..WritePointers::default() };
    let job = Job {
        mix: Mix::WRITE,
        access: Access::UNIFORM,
        block_sizes: BlockSizes::all(Bytes(128 << 10)),
        size: Some(Amount::Bytes(Bytes(64 << 30))),
        write_pointers: Some(pointers),
        io_count: Some(40_000),
        ..Job::default()
    };
    let drive = Sheet::load("zn540", &[]).expect("built in");
    let ran = run(&drive, &[job], &RunOptions::seeded(3)).expect("it takes it");
    // One at a time: link, 2 us for a command and 3.25 us for each of its 32 pages, and the delay.
    let time = 1e-6 + 131_072.0 / 3050e6 + 106e-6 + 3.6e-6;
    near(ran.outcomes[0].bandwidth(), 131_072.0 / time, 0.001);
}

#[test]
fn a_load_that_zones_do_not_take_is_refused_with_what_to_do() {
    let refused = |job: Job, words: &str| {
        let error = ran(&[], &[job]).expect_err(words).to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    refused(
        job(|job| job.write_pointers = None),
        "give zonemode=zbd, zonesize=4m, zonecapacity=4m, max_open_zones=8 or less, or only read",
    );
    let other = |zone: u64| {
        move |job: &mut Job| job.write_pointers.iter_mut().for_each(|asked| asked.zone = Bytes(zone))
    };
    refused(job(other(2 * ZONE)), "its zones are not those of the device; give zonemode=zbd, zonesize=4m");
    refused(job(|job| job.threads = 2), "give each zones of its own with size and offset_increment");
    let many = |job: &mut Job| job.write_pointers.iter_mut().for_each(|asked| asked.open_most = 9);
    refused(job(|job| (many(job), job.size = None).0), "9 zones at once, and the device allows 8");
    let all = |job: &mut Job| job.write_pointers.iter_mut().for_each(|asked| asked.open_most = 8);
    ran(&[], &[job(all)]).expect("as many as it allows");
    refused(job(|job| job.block_sizes = BlockSizes::all(Bytes(24_576))), "divides 4m");
    refused(job(|job| (job.mix, job.write_pointers) = (Mix::TRIM, None)), "trim blocks of 4m");
    // Beside others: a job that trims zones of one that writes, and one that does not.
    let beside = |zone: u64| {
        let trims = job(|job| {
            (job.mix, job.write_pointers, job.offset) = (Mix::TRIM, None, Amount::Bytes(Bytes(zone * ZONE)));
            (job.block_sizes, job.size) =
                (BlockSizes::all(Bytes(ZONE)), Some(Amount::Bytes(Bytes(4 * ZONE))));
            job.io_count = Some(20);
        });
        ran(&[], &[job(|_| ()), trims])
    };
    assert!(
        beside(7).expect_err("zone 7 is written").to_string().contains("writes or trims zones that it does")
    );
    let trims = |job: &mut Job| {
        (job.mix, job.write_pointers, job.threads) = (Mix::TRIM, None, 2);
        (job.block_sizes, job.io_count) = (BlockSizes::all(Bytes(ZONE)), Some(20));
    };
    ran(&[], &[job(trims)]).expect("two may trim the same");
    beside(8).expect("zones 8 to 11 are not");
}

#[test]
fn zones_that_do_not_make_a_drive_are_refused() {
    for (change, words) in [
        (("zones.size", "3MiB"), "not made of such zones"),
        (("zones.capacity", "5MiB"), "more than its size"),
        (("zones.dies", "3"), "do not divide"),
        (("buffer.acknowledge", "programmed"), "buffer.acknowledge = early"),
        (("zones.active", "16"), "give buffer.size more room"),
        (("slc.size", "4MiB"), "leave it or zones.size out"),
    ] {
        let slc =
            [("slc.read", "1us"), ("slc.program", "1us"), ("slc.erase", "1us"), ("buffer.size", "64KiB")];
        let values =
            if change.0 == "slc.size" { [&[change], &slc[..]].concat() } else { vec![change, slc[3]] };
        let built = iostack_sim::devices::build(&sheet(&values), &mut World::new(), 1);
        let error = built.expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    // Sixteen pages: one for each of fifteen zones, and one that is on its way.
    zoned(&[("buffer.size", "64KiB"), ("zones.active", "15")]);
    assert_eq!(CAPACITY % ZONE, 0);
}
