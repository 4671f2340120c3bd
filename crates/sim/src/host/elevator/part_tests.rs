//! Do requests come back from plug, scheduler and drive, each once, with all their time?

use crate::sheet::Sheet;
use iostack_model::Stage;

use super::{Elevator, SchedulerSpec};
use crate::engine::{Happened, Kind, RequestId, World};

/// An elevator above a drive that answers after 10 us.
fn world(depth: u64) -> World {
    world_around(World::new(), depth)
}

fn world_around(mut world: World, depth: u64) -> World {
    let drive = Sheet::from_values("zero", &[("zero.latency", "10us")]).expect("a kind");
    let drive = crate::devices::build(&drive, &mut world, 1).expect("complete");
    let elevator = world.add(Box::new(Elevator::new(&SchedulerSpec::plain("noop", false), drive, depth)));
    world.set_root(elevator);
    world
}

/// One submission of reads of 4 KiB at these blocks.
fn submit(world: &mut World, blocks: &[u64]) -> Vec<RequestId> {
    let mut ids = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let id = world.sim.submit(Kind::Read, block * 4096, 4096);
        world.sim.request_mut(id).followers = (blocks.len() - 1 - index) as u32;
        ids.push(id);
    }
    ids
}

/// A request, when it came back, us, and what it spent where.
type End = (RequestId, u64, Vec<(usize, u64)>);

fn ends(world: &mut World) -> Vec<End> {
    let mut all = Vec::new();
    while let Happened::Completed(id) = world.next() {
        let mut stages: Vec<_> = world.sim.request(id).stages().collect();
        stages.sort_unstable();
        all.push((id, world.now() / 1000, stages));
    }
    all
}

#[test]
fn neighbours_of_one_submission_become_one() {
    let mut world = world(1);
    let ids = submit(&mut world, &[5, 6, 7, 8, 100]);
    let all = ends(&mut world);
    let when: Vec<(RequestId, u64)> = all.iter().map(|(id, at, _)| (*id, *at)).collect();
    assert_eq!(when, [(ids[0], 10), (ids[1], 10), (ids[2], 10), (ids[3], 10), (ids[4], 20)]);
    assert_eq!(all[2].2, [(Stage::Medium as usize, 10_000)], "each has the time of the one");
    assert_eq!(all[4].2, [(Stage::Schedule as usize, 10_000), (Stage::Medium as usize, 10_000)]);
}

#[test]
fn what_waits_in_the_scheduler_takes_neighbours_of_later_submissions() {
    let mut world = world(1);
    submit(&mut world, &[900]);
    submit(&mut world, &[5]);
    submit(&mut world, &[6]);
    submit(&mut world, &[8]);
    let when: Vec<u64> = ends(&mut world).into_iter().map(|(_, at, _)| at).collect();
    assert_eq!(when, [10, 20, 20, 30]);
}

#[test]
fn a_drive_has_as_many_as_it_takes() {
    for (depth, want) in [(1, [10, 20, 30, 40]), (2, [10, 10, 20, 20]), (9, [10; 4])] {
        let mut world = world(depth);
        submit(&mut world, &[1, 3, 5, 7]);
        let when: Vec<u64> = ends(&mut world).into_iter().map(|(_, at, _)| at).collect();
        assert_eq!(when, want, "depth {depth}");
    }
}

#[test]
fn stamps_are_not_merged_and_flushes_do_not_wait() {
    let mut world = World::new();
    world.sim.keep_stamps();
    let mut world = world_around(world, 1);
    for block in 0..3 {
        let id = world.sim.submit(Kind::Write, block * 4096, 4096);
        world.sim.request_mut(id).stamp = block as u32 + 1;
    }
    world.sim.submit(Kind::Flush, 0, 0);
    let when: Vec<u64> = ends(&mut world).into_iter().map(|(_, at, _)| at).collect();
    assert_eq!(when, [10, 10, 20, 30]);
    submit(&mut world, &[1]);
    let Happened::Completed(id) = world.next() else { panic!("a read comes back") };
    assert_eq!(world.sim.request(id).stamp, 2);
}
