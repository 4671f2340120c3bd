//! A closed loop on a device, for tests of single devices: so many requests in flight, the next when one is through.

use iostack_sim::devices;
use iostack_sim::engine::{Happened, Kind, Request, STAGES, World};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

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
    world_of(&Sheet::of(kind, values).expect("a kind"))
}

/// A world with this device.
pub(crate) fn world_of(sheet: &Sheet) -> World {
    let mut world = World::new();
    world.sim.keep_stamps();
    let device = devices::build(sheet, &mut world, 1).expect("complete");
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

/// Reads, writes, trims and flushes by chance, each read compared with what was written last.
pub(crate) struct Mixed {
    world: World,
    rng: Rng,
    seed: u64,
    /// What a read of each block must find, and whether a request on it is in flight.
    blocks: Vec<(u32, bool)>,
    in_flight: u64,
}

/// Bytes of a block of [`Mixed`].
const BLOCK: u64 = 4096;

impl Mixed {
    pub(crate) fn new(world: World, seed: u64) -> Mixed {
        let capacity = world.shape().expect("a device has one").capacity.0;
        // A device of any size is asked on few blocks, so that reads meet writes, and sometimes on very few, so that a write
        // meets another that is still under way inside.
        let mut rng = Rng::stream(seed, 1);
        let most = [24, 200, 4096][rng.below(3) as usize];
        let blocks = vec![(0, false); (capacity / BLOCK).min(most) as usize];
        Mixed { world, rng, seed, blocks, in_flight: 0 }
    }

    /// Asks and takes so many requests; all of them come back.
    pub(crate) fn run(mut self, count: u32) {
        let depth = 1 + self.rng.below(48);
        for stamp in 1..=count {
            while self.in_flight >= depth || !self.ask(stamp) {
                self.take();
            }
        }
        while self.in_flight > 0 {
            self.take();
        }
        for each in self.world.resources() {
            assert!(each.busiest <= 1.0, "seed {}: {each:?}", self.seed);
        }
    }

    /// False when another request is in flight on the same blocks.
    fn ask(&mut self, stamp: u32) -> bool {
        let kinds = [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Trim, Kind::Flush];
        let kind = kinds[self.rng.below(6) as usize];
        let all = self.blocks.len() as u64;
        let count = if kind == Kind::Flush { 0 } else { (1 + self.rng.below(4)).min(all) };
        let first = self.rng.below(all - count + 1);
        let range = first as usize..(first + count) as usize;
        if self.blocks[range.clone()].iter().any(|&(_, busy)| busy) {
            return false;
        }
        for (expected, busy) in &mut self.blocks[range] {
            *busy = true;
            match kind {
                Kind::Write => *expected = stamp,
                Kind::Trim => *expected = 0,
                _ => {}
            }
        }
        let id = self.world.sim.submit(kind, first * BLOCK, (count * BLOCK) as u32);
        if kind == Kind::Write {
            self.world.sim.request_mut(id).stamp = stamp;
        }
        self.in_flight += 1;
        true
    }

    fn take(&mut self) {
        let seed = self.seed;
        let Happened::Completed(id) = self.world.next() else {
            panic!("seed {seed}: {} requests were never served", self.in_flight)
        };
        let request = self.world.sim.request(id);
        let spent: u64 = request.stages().map(|(_, time)| time).sum();
        assert_eq!(spent, self.world.now() - request.submitted, "seed {seed}: stages do not add up");
        let first = (request.offset / BLOCK) as usize;
        let blocks = &mut self.blocks[first..first + (u64::from(request.length) / BLOCK) as usize];
        if request.kind == Kind::Read {
            let alike = blocks.iter().all(|&(stamp, _)| stamp == blocks[0].0);
            let expected = if alike { blocks[0].0 } else { Request::TORN };
            assert_eq!(request.stamp, expected, "seed {seed}: {request:?}");
        }
        for (_, busy) in blocks {
            *busy = false;
        }
        self.in_flight -= 1;
        self.world.sim.release(id);
    }
}
