//! A device under a closed load: so many requests are always under way.

use iostack_model::{ResourceUse, Stage};
use iostack_sim::devices;
use iostack_sim::engine::{Happened, Kind, RequestId, World};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

/// A small drive without link, firmware and buffer: 2 channels of 2 dies.
pub(crate) const PLAIN: &[(&str, &str)] = &[
    ("flash.capacity", "64MiB"),
    ("flash.over_provisioning", "30%"),
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.pages_per_block", "32"),
    ("flash.read", "25us"),
    ("flash.program", "200us"),
    ("flash.erase", "1500us"),
    ("channel.rate", "409.6MB/s"),
];

/// `PLAIN` with changes.
pub(crate) fn world(changes: &[(&str, &str)]) -> World {
    let mut values: Vec<(&str, &str)> = PLAIN.to_vec();
    for change in changes {
        values.retain(|(key, _)| *key != change.0);
        values.push(*change);
    }
    let mut world = World::new();
    let sheet = Sheet::of("flash", &values).expect("a kind");
    let device = devices::build(&sheet, &mut world, 1).unwrap_or_else(|error| panic!("{error}"));
    world.set_root(device);
    world
}

/// One request alone: its latency and stages.
pub(crate) fn alone(world: &mut World, kind: Kind, offset: u64, length: u32) -> (u64, Vec<(usize, u64)>) {
    let id = world.sim.submit(kind, offset, length);
    loop {
        match world.next() {
            Happened::Completed(done) => {
                assert_eq!(done, id);
                break;
            }
            Happened::Alarm(_) => {}
            Happened::Quiet => panic!("nobody answers"),
        }
    }
    let request = world.sim.request(id);
    let (latency, stages) = (world.now() - request.submitted, request.stages().collect());
    world.sim.release(id);
    (latency, stages)
}

/// Nothing more to do: what goes on in the background comes to its end.
pub(crate) fn settle(world: &mut World) {
    assert_eq!(world.next(), Happened::Quiet);
}

/// Time in a stage.
pub(crate) fn stage(stages: &[(usize, u64)], stage: Stage) -> u64 {
    stages.iter().find(|(index, _)| *index == stage as usize).map_or(0, |(_, spent)| *spent)
}

/// What a closed load saw.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) per_second: f64,
    pub(crate) latency_mean: f64,
    pub(crate) resources: Vec<ResourceUse>,
}

impl Seen {
    pub(crate) fn resource(&self, name: &str) -> &ResourceUse {
        self.resources.iter().find(|each| each.name == name).expect("it is there")
    }
}

/// Keeps `depth` requests under way, each as `make` says; measures `count` after a tenth as many.
pub(crate) fn closed(
    world: &mut World,
    depth: usize,
    count: u64,
    mut make: impl FnMut(&mut Rng) -> (Kind, u64, u32),
) -> Seen {
    let mut rng = Rng::from_seed(7);
    let mut submit = |world: &mut World| {
        let (kind, offset, length) = make(&mut rng);
        world.sim.submit(kind, offset, length);
    };
    (0..depth).for_each(|_| submit(world));
    let complete = |world: &mut World| -> RequestId {
        match world.next() {
            Happened::Completed(id) => id,
            other => panic!("{other:?} with requests under way"),
        }
    };
    for _ in 0..count / 10 {
        let id = complete(world);
        world.sim.release(id);
        submit(world);
    }
    world.begin();
    let begin = world.now();
    let mut sum = 0;
    for _ in 0..count {
        let id = complete(world);
        let request = world.sim.request(id);
        let latency = world.now() - request.submitted;
        assert_eq!(request.stages().map(|(_, spent)| spent).sum::<u64>(), latency);
        sum += latency;
        world.sim.release(id);
        submit(world);
    }
    let seen = Seen {
        per_second: count as f64 * 1e9 / (world.now() - begin) as f64,
        latency_mean: sum as f64 / count as f64,
        resources: world.resources(),
    };
    for _ in 0..depth {
        let id = complete(world);
        world.sim.release(id);
    }
    for each in &seen.resources {
        assert!((0.0..=1.0).contains(&each.busiest), "{each:?}");
    }
    seen
}

/// Random pages of 4 KiB.
pub(crate) fn random(kind: Kind, capacity: u64) -> impl FnMut(&mut Rng) -> (Kind, u64, u32) {
    move |rng| (kind, rng.below(capacity / 4096) * 4096, 4096)
}

/// `found` is within `tolerance` (a share) of `expected`.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= tolerance, "{found} instead of {expected}: {:.2} % off", off * 100.0);
}
