//! Does an adapter take exactly its times, and share interrupts as its two numbers say?

use iostack_model::Stage;

use super::*;
use crate::engine::{Happened, Kind, PartId, RequestId, World};

/// An adapter above drives that answer after 28 us.
fn world(changes: &[(&str, &str)], drives: usize) -> World {
    world_of(&Sheet::from_values("zero", &[("zero.latency", "28us")]).expect("a kind"), changes, drives)
}

/// An adapter above such drives.
fn world_of(drive: &Sheet, changes: &[(&str, &str)], drives: usize) -> World {
    let mut world = World::new();
    let drives: Vec<PartId> =
        (0..drives).map(|_| crate::devices::build(drive, &mut world, 1).expect("complete")).collect();
    let sheet = Sheet::from_values("adapter", changes).expect("keys of an adapter");
    let adapter = Adapter::new(Hardware::read(&sheet, false).expect("its numbers"), drives);
    let id = world.add(Box::new(adapter));
    world.set_root(id);
    world
}

fn read(world: &mut World, drive: u64, length: u32) -> RequestId {
    let id = world.sim.submit(Kind::Read, 0, length);
    world.sim.request_mut(id).scratch = drive;
    id
}

fn next(world: &mut World) -> Option<RequestId> {
    match world.next() {
        Happened::Completed(id) => Some(id),
        _ => None,
    }
}

const FIS: [(&str, &str); 4] = [
    ("adapter.port_command", "3us"),
    ("adapter.port_setup", "900ns"),
    ("adapter.port_rate", "300MB/s"),
    ("adapter.port_end", "3us"),
];

#[test]
fn phases_on_the_bus_add_up_exactly() {
    let mut world = world(&FIS, 1);
    let id = read(&mut world, 0, 4096);
    assert_eq!(next(&mut world), Some(id));
    assert_eq!(world.now(), 3_000 + 28_000 + 900 + 13_653 + 3_000);
    let mut stages: Vec<_> = world.sim.request(id).stages().collect();
    stages.sort_unstable();
    let mut want =
        [(Stage::Adapter as usize, 3_900), (Stage::Medium as usize, 28_000), (Stage::Link as usize, 16_653)];
    want.sort_unstable();
    assert_eq!(stages, want);
}

#[test]
fn a_bus_carries_one_frame_at_a_time_and_each_drive_has_its_own() {
    let ends = |drives: usize| {
        let mut world = world(&FIS, drives);
        for index in 0..2 {
            read(&mut world, (index % drives) as u64, 4096);
        }
        while next(&mut world).is_some() {}
        world.now()
    };
    assert_eq!(ends(2), 48_553);
    assert_eq!(ends(1), 48_553 + 17_553, "the second's data wait for the first's");
}

#[test]
fn a_drive_gets_as_many_commands_as_it_has_tags() {
    let mut world = world(&[("adapter.drive_tags", "2")], 2);
    for index in 0..8 {
        read(&mut world, u64::from(index >= 6), 4096);
    }
    let mut ends = Vec::new();
    while next(&mut world).is_some() {
        ends.push(world.now() / 28_000);
    }
    assert_eq!(ends, [1, 1, 1, 1, 2, 2, 3, 3]);
}

/// Completions of an interrupt when one comes every `gap` ns.
fn shared(count: &str, timer: &str, gap: u64) -> f64 {
    let mut world = world(&[("adapter.coalesce", count), ("adapter.coalesce_time", timer)], 1);
    let mut interrupts = std::collections::BTreeMap::<u64, u64>::new();
    for index in 0..1000 {
        world.sim.alarm_at(index * gap, 0);
    }
    loop {
        match world.next() {
            Happened::Alarm(_) => {
                read(&mut world, 0, 4096);
            }
            Happened::Completed(_) => *interrupts.entry(world.now()).or_default() += 1,
            Happened::Quiet => break,
        }
    }
    1000.0 / interrupts.len() as f64
}

#[test]
fn interrupts_are_shared_by_count_or_by_timer_whichever_is_first() {
    // The first of a group waits for the timer: with r a second it brings 1 + r x timer, up to the count.
    for (count, timer, gap, want) in [
        ("8", "1ms", 1_000, 8.0),
        ("64", "50us", 11_000, 5.0),
        ("8", "10us", 20_000, 1.0),
        ("4", "100us", 30_000, 4.0),
        ("1", "1ms", 1_000, 1.0),
    ] {
        let found = shared(count, timer, gap);
        assert!((found / want - 1.0).abs() < 0.02, "{count} {timer} {gap}: {found} for {want}");
    }
}

#[test]
fn what_drives_write_into_a_request_does_not_matter() {
    let mut world = world_of(&Sheet::changed("optane-class", &[]), &[], 3);
    for index in 0..60_u64 {
        let id = world.sim.submit(Kind::Read, index * 4096, 4096);
        world.sim.request_mut(id).scratch = index % 3;
    }
    assert_eq!(std::iter::from_fn(|| next(&mut world)).count(), 60);
}
