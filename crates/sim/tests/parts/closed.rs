//! A closed loop on a device, for tests of single devices: so many requests in flight, the next when one is through.

use iostack_sim::devices;
use iostack_sim::engine::{Happened, Kind, STAGES, World};
use iostack_sim::sheet::Sheet;

/// What to ask next: kind, offset, length.
pub(crate) type Ask = (Kind, u64, u32);

/// What came of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Each request's latency, in the order of completion, ns.
    pub(crate) latencies: Vec<u64>,
    /// Time spent by stage, all requests, ns.
    pub(crate) stages: [u64; STAGES],
    /// From the first submission to the last completion, ns.
    pub(crate) elapsed: u64,
}

impl Seen {
    /// Mean latency, us.
    pub(crate) fn mean_us(&self) -> f64 {
        self.latencies.iter().sum::<u64>() as f64 / self.latencies.len() as f64 / 1e3
    }

    /// Completions per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 * 1e9 / self.elapsed as f64
    }
}

/// A world with one device of these numbers.
pub(crate) fn world(kind: &str, values: &[(&str, &str)]) -> World {
    let mut world = World::new();
    world.sim.keep_stamps();
    let sheet = Sheet::of(kind, values).expect("a kind");
    let device = devices::build(&sheet, &mut world, 1).expect("complete");
    world.set_root(device);
    world
}

/// Asks `count` times with `depth` in flight, and checks of each request that its stages add up to its latency.
pub(crate) fn closed_loop(
    world: &mut World,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Ask,
) -> Seen {
    let mut seen = Seen::default();
    let (begin, mut asked) = (world.now(), 0);
    let mut submit = |world: &mut World, asked: &mut u64| {
        let (kind, offset, length) = next(*asked);
        world.sim.submit(kind, offset, length);
        *asked += 1;
    };
    while asked < depth.min(count) {
        submit(world, &mut asked);
    }
    while (seen.latencies.len() as u64) < count {
        let Happened::Completed(id) = world.next() else { panic!("a request was never served") };
        let request = world.sim.request(id);
        let latency = world.now() - request.submitted;
        let spent: u64 = request.stages().map(|(_, time)| time).sum();
        assert_eq!(spent, latency, "stages of a request do not add up to its latency");
        request.stages().for_each(|(stage, time)| seen.stages[stage] += time);
        seen.latencies.push(latency);
        world.sim.release(id);
        if asked < count {
            submit(world, &mut asked);
        }
    }
    seen.elapsed = world.now() - begin;
    for resource in world.resources() {
        assert!(resource.busiest <= 1.0, "{resource:?} was busy for more than there was time");
    }
    seen
}

/// The busy share of a resource.
pub(crate) fn busy(world: &World, name: &str) -> f64 {
    world.resources().iter().find(|resource| resource.name == name).expect("it has one").busy
}

/// The error that these numbers are refused with.
pub(crate) fn refusal(kind: &str, values: &[(&str, &str)]) -> String {
    let built = Sheet::of(kind, values).and_then(|sheet| devices::build(&sheet, &mut World::new(), 1));
    built.expect_err("impossible numbers").to_string()
}
