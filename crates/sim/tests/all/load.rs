//! Loads for tests of single devices: one request alone, a closed loop, and a mix that knows what each read must find.

use iostack_model::{ResourceUse, Stage};
use iostack_sim::devices;
use iostack_sim::engine::{Happened, Kind, Request, STAGES, World};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

/// Kind, offset and length of a request.
pub(crate) type Ask = (Kind, u64, u32);

/// Results of a load.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LoadResult {
    /// Each request's latency, in the order of completion, ns.
    pub(crate) latencies: Vec<u64>,
    /// Time spent by stage, all requests, ns.
    stages: [u64; STAGES],
    /// Time from the first submission to the last completion, ns.
    pub(crate) elapsed: u64,
    /// Resources of the device at the last completion.
    resources: Vec<ResourceUse>,
}

impl LoadResult {
    /// Mean latency, us.
    pub(crate) fn mean_us(&self) -> f64 {
        self.latencies.iter().sum::<u64>() as f64 / self.latencies.len() as f64 / 1e3
    }

    /// Completions per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 * 1e9 / self.elapsed as f64
    }

    /// Time of all requests in a stage, ns.
    pub(crate) fn stage(&self, stage: Stage) -> u64 {
        self.stages[stage as usize]
    }

    /// Use of a resource.
    pub(crate) fn resource(&self, name: &str) -> &ResourceUse {
        self.resources.iter().find(|each| each.name == name).expect("it has one")
    }

    /// Takes the next completion, whose stages add up to its latency.
    fn complete(&mut self, world: &mut World) {
        let Happened::Completed(id) = world.next() else { panic!("a request was never served") };
        let request = world.sim.request(id);
        let latency = world.now() - request.submitted;
        let spent: u64 = request.stages().map(|(_, time)| time).sum();
        assert_eq!(spent, latency, "stages of a request do not add up to its latency");
        request.stages().for_each(|(stage, time)| self.stages[stage] += time);
        self.latencies.push(latency);
        world.sim.release(id);
    }

    fn end(&mut self, world: &World, begin: u64) {
        self.elapsed = world.now() - begin;
        self.resources = world.resources();
        for each in &self.resources {
            assert!((0.0..=1.0).contains(&each.busiest), "{each:?} was busy for more than there was time");
        }
    }
}

/// Changes as they are typed.
pub(crate) fn changes(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A sheet that is built in, changed.
pub(crate) fn changed_sheet(name: &str, list: &[(&str, &str)]) -> Sheet {
    Sheet::load(name, &changes(list)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A sheet that is built in.
pub(crate) fn built_in_sheet(name: &str) -> Sheet {
    changed_sheet(name, &[])
}

/// A drive that answers each request after this time.
pub(crate) fn drive_of_latency(latency: &str) -> Sheet {
    Sheet::from_values("zero", &[("zero.latency", latency)]).expect("a kind")
}

/// A world with one device of these numbers, which keeps stamps.
pub(crate) fn world(kind: &str, values: &[(&str, &str)]) -> World {
    let mut world = World::new();
    world.sim.keep_stamps();
    world_of(&Sheet::from_values(kind, values).expect("a kind"), world)
}

/// The world with this device in it.
pub(crate) fn world_of(sheet: &Sheet, mut world: World) -> World {
    let device = devices::build(sheet, &mut world, 1).unwrap_or_else(|error| panic!("{error}"));
    world.set_root(device);
    world
}

/// Requests that chance decides.
pub(crate) fn by_chance(seed: u64, mut ask: impl FnMut(&mut Rng) -> Ask) -> impl FnMut(u64) -> Ask {
    let mut rng = Rng::from_seed(seed);
    move |_| ask(&mut rng)
}

fn submit(world: &mut World, (kind, offset, length): Ask) {
    world.sim.submit(kind, offset, length);
}

/// One request alone.
pub(crate) fn alone(world: &mut World, kind: Kind, offset: u64, length: u32) -> LoadResult {
    closed_loop(world, 1, 1, |_| (kind, offset, length))
}

/// Asks `count` times with `depth` in flight; the load ends with its last request.
pub(crate) fn closed_loop(
    world: &mut World,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Ask,
) -> LoadResult {
    let mut seen = LoadResult::default();
    let begin = world.now();
    (0..depth.min(count)).for_each(|index| submit(world, next(index)));
    for asked in depth..count + depth {
        seen.complete(world);
        if asked < count {
            submit(world, next(asked));
        }
    }
    seen.end(world, begin);
    seen
}

/// Keeps `depth` requests in flight; measures `count` after a tenth as many.
pub(crate) fn sustained(
    world: &mut World,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> Ask,
) -> LoadResult {
    (0..depth).for_each(|index| submit(world, next(index)));
    let mut complete = |seen: &mut LoadResult, world: &mut World| {
        seen.complete(world);
        submit(world, next(0));
    };
    (0..count / 10).for_each(|_| complete(&mut LoadResult::default(), world));
    world.begin();
    let (mut seen, begin) = (LoadResult::default(), world.now());
    (0..count).for_each(|_| complete(&mut seen, world));
    seen.end(world, begin);
    (0..depth).for_each(|_| LoadResult::default().complete(world));
    seen
}

/// Nothing more to do: what goes on in the background comes to its end.
pub(crate) fn settle(world: &mut World) {
    assert_eq!(world.next(), Happened::Quiet);
}

/// Holds a figure of this name against theory, and prints both.
#[track_caller]
pub(crate) fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    println!("{what}: {found:.3}, theory {expected:.3}, {:+.3} %", off * 100.0);
    assert!(off.abs() < tolerance, "{what}: {found:.4}, theory {expected:.4}");
}

/// `found` is within `tolerance` (a share) of `expected`.
#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= tolerance, "{found} instead of {expected}: {:.2} % off", off * 100.0);
}

/// Bytes of a sector, the unit of stamps.
const SECTOR: u64 = 512;
/// Sectors of a page, no smaller than that of any device; requests in flight share none.
const PAGE: u64 = 32;

/// Reads, writes, trims and flushes by chance, each read compared with what was written last.
pub(crate) struct Mixed {
    world: World,
    rng: Rng,
    seed: u64,
    /// Stamp that a read of each sector must find.
    stamps: Vec<u32>,
    /// Pages that a request in flight touches.
    busy: Vec<bool>,
    in_flight: u64,
}

impl Mixed {
    pub(crate) fn new(world: World, seed: u64) -> Mixed {
        let capacity = world.shape().expect("a device has one").capacity.0;
        // A device of any size is asked on few pages, so that reads meet writes, and sometimes on very few, so that a write
        // meets another that is still under way inside.
        let mut rng = Rng::stream(seed, 1);
        let most = [12, 60, 1024][rng.below(3) as usize];
        let pages = (capacity / (PAGE * SECTOR)).min(most);
        let (stamps, busy) = (vec![0; (pages * PAGE) as usize], vec![false; pages as usize]);
        Mixed { world, rng, seed, stamps, busy, in_flight: 0 }
    }

    /// Asks and takes so many requests, then reads everything; all of them come back.
    pub(crate) fn run(mut self, count: u32) {
        let depth = [1, 4, 20, 90][self.rng.below(4) as usize];
        for stamp in 1..=count {
            while self.in_flight >= depth || !self.ask(stamp) {
                self.take();
            }
        }
        for page in 0..self.busy.len() as u64 * 4 {
            while !self.submit(Kind::Read, page * 8, 8, 0) {
                self.take();
            }
        }
        while self.in_flight > 0 {
            self.take();
        }
        settle(&mut self.world);
        assert_eq!(self.world.sim.under_way(), 0, "seed {}: parts of requests are left", self.seed);
        for each in self.world.resources() {
            assert!(each.busiest <= 1.0, "seed {}: {each:?}", self.seed);
        }
    }

    /// False when another request is in flight on the same pages.
    fn ask(&mut self, stamp: u32) -> bool {
        let pages = self.busy.len() as u64;
        let kind = match self.rng.below(100) {
            0..=37 => Kind::Read,
            38..=90 => Kind::Write,
            91..=95 => Kind::Trim,
            _ => return self.submit(Kind::Flush, 0, 0, 0),
        };
        let (first, count) = match self.rng.below(4) {
            // Pieces of pages; what is trimmed is whole ones, since only these are forgotten.
            0 if kind != Kind::Trim => (self.rng.below(pages * PAGE - 8), 1 + self.rng.below(8)),
            1 => {
                let count = 1 + self.rng.below(pages.min(8));
                (self.rng.below(pages - count + 1) * PAGE, count * PAGE)
            }
            _ => (self.rng.below(pages) * PAGE, PAGE),
        };
        self.submit(kind, first, count, stamp)
    }

    fn submit(&mut self, kind: Kind, first: u64, count: u64, stamp: u32) -> bool {
        let pages = (first / PAGE) as usize..(first + count).div_ceil(PAGE) as usize;
        if self.busy[pages.clone()].contains(&true) {
            return false;
        }
        self.busy[pages].fill(true);
        let sectors = &mut self.stamps[first as usize..(first + count) as usize];
        match kind {
            Kind::Write => sectors.fill(stamp),
            Kind::Trim => sectors.fill(0),
            _ => {}
        }
        let id = self.world.sim.submit(kind, first * SECTOR, (count * SECTOR) as u32);
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
        let (first, count) = (request.offset / SECTOR, u64::from(request.length) / SECTOR);
        if request.kind == Kind::Read {
            let stamps = &self.stamps[first as usize..(first + count) as usize];
            let alike = stamps.iter().all(|stamp| *stamp == stamps[0]);
            let expected = if alike { stamps[0] } else { Request::TORN };
            assert_eq!(request.stamp, expected, "seed {seed}: {request:?}");
        }
        self.busy[(first / PAGE) as usize..(first + count).div_ceil(PAGE) as usize].fill(false);
        self.in_flight -= 1;
        self.world.sim.release(id);
    }
}
