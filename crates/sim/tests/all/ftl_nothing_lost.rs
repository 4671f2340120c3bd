//! Whatever is written, trimmed and collected in whatever order: every page is where its last write left it.
//!
//! Random geometries, policies, stripes and occupancies, a table of what must be there beside them, and a collector that
//! goes page by page with writes and trims of the host's in between.

use iostack_model::Bytes;
use iostack_sim::ftl::{
    Block, Ftl, FtlSpec, Geometry, Making, PhysicalPage, StartState, Stream, Urgency, Victim,
};
use iostack_workload::Rng;

const CASES: u64 = 300;
const STEPS: u64 = 3000;

#[test]
fn every_page_is_where_its_last_write_left_it() {
    for seed in 0..CASES {
        println!("seed {seed}");
        let mut world = Model::of_seed(seed);
        for _ in 0..STEPS {
            world.step();
        }
        world.check();
    }
}

/// A translation layer, what it must hold, and a collector for each plane.
struct Model {
    rng: Rng,
    ftl: Ftl,
    /// `None`: nothing; else the stamp, 0 of what was laid out.
    expected: Vec<Option<u32>>,
    stamp: u32,
    collectors: Vec<Option<Collector>>,
    trims: bool,
    host: u64,
}

struct Collector {
    victim: Block,
    cursor: u32,
    /// Pages that are being read.
    reading: Vec<(u32, PhysicalPage)>,
}

fn spec_of(rng: &mut Rng) -> FtlSpec {
    let victims = [
        Victim::Greedy,
        Victim::Choices(2),
        Victim::Choices(5),
        Victim::Fifo,
        Victim::Random,
        Victim::CostBenefit,
    ];
    let hot_cold = rng.below(2) == 0;
    let (streams, isolated) = (if hot_cold { 1 } else { 1 + rng.below(4) as u8 }, rng.below(2) == 0);
    let open = if hot_cold { 4 } else { u32::from(streams + if isolated { streams } else { 1 }) };
    let (planes, unit) = (1 + rng.below(5) as u32, [1, 1, 2, 4][rng.below(4) as usize]);
    let pages_per_block = unit * (1 + rng.below(20) as u32);
    let free_low = 1 + rng.below(3) as u32;
    let free_high = free_low.max(2) + rng.below(4) as u32;
    let blocks_per_plane = free_high + open + 1 + rng.below(30) as u32;
    let fits = (blocks_per_plane - free_high - open) * pages_per_block / unit * unit;
    let most = u64::from(fits) * u64::from(planes);
    let geometry = Geometry {
        planes,
        blocks_per_plane,
        pages_per_block,
        page: Bytes(4096),
        logical_pages: (most * (1 + rng.below(10)) / 10).max(1),
    };
    FtlSpec {
        geometry,
        victim: victims[rng.below(6) as usize],
        hot_cold,
        streams,
        isolated,
        stripe_unit: unit,
        fixed: rng.below(2) == 0,
        free_low,
        free_high,
        wear_spread: (rng.below(3) == 0).then_some(4),
        seed: rng.next_u64(),
        stamps: true,
    }
}

impl Model {
    fn of_seed(seed: u64) -> Model {
        let mut rng = Rng::from_seed(seed);
        let spec = spec_of(&mut rng);
        let mut ftl = Ftl::new(&spec).unwrap_or_else(|error| panic!("{error}: {spec:?}"));
        let state = [StartState::Fresh, StartState::Filled, StartState::Steady][rng.below(3) as usize];
        let how = [Making::Auto, Making::Formula][rng.below(2) as usize];
        ftl.precondition(state, how);
        ftl.audit();
        let before = (state != StartState::Fresh).then_some(0);
        Model {
            expected: vec![before; spec.geometry.logical_pages as usize],
            collectors: (0..spec.geometry.planes).map(|_| None).collect(),
            trims: rng.below(2) == 0,
            stamp: 0,
            host: 0,
            rng,
            ftl,
        }
    }

    /// One thing that may happen: the host writes or trims, a page is read or moved, a block is erased.
    fn step(&mut self) {
        let plane = self.rng.below(self.collectors.len() as u64) as u32;
        match self.rng.below(10) {
            0 if self.trims => self.trim(),
            0..5 => self.write(),
            5..9 => self.collect(plane, false),
            _ => {
                let lpn = self.page();
                self.verify(lpn);
            }
        }
    }

    fn page(&mut self) -> u32 {
        let pages = self.expected.len() as u64;
        // Half of the accesses go to a tenth of the pages.
        if self.rng.below(2) == 0 {
            self.rng.below(pages) as u32
        } else {
            self.rng.below(pages.div_ceil(10)) as u32
        }
    }

    fn trim(&mut self) {
        let lpn = self.page();
        self.ftl.trim(lpn);
        self.expected[lpn as usize] = None;
    }

    fn write(&mut self) {
        let lpn = self.page();
        let stream = match self.ftl.spec().streams {
            1 => self.ftl.temperature(lpn),
            streams => Stream::Placed(self.rng.below(u64::from(streams)) as u8),
        };
        let fixed = self.ftl.spec().fixed;
        let planes = self.collectors.len() as u32;
        let first = if fixed { self.ftl.home(lpn) } else { self.rng.below(u64::from(planes)) as u32 };
        let candidates: Vec<u32> =
            (first..first + if fixed { 1 } else { planes }).map(|plane| plane % planes).collect();
        let plane = loop {
            if let Some(&plane) = candidates.iter().find(|&&plane| self.ftl.room(plane, stream)) {
                break plane;
            }
            self.make_room(&candidates);
        };
        self.stamp += 1;
        self.host += 1;
        let to = self.ftl.write(lpn, plane, stream, self.stamp);
        assert_eq!(self.ftl.plane_of(to), plane);
        self.expected[lpn as usize] = Some(self.stamp);
        self.verify(lpn);
    }

    /// No room in any of these planes: one must have a victim.
    fn make_room(&mut self, candidates: &[u32]) {
        let able = candidates.iter().find(|&&plane| self.ftl.victim(plane).is_some());
        self.collect(*able.expect("no room, and nothing to collect"), true);
    }

    /// The collector of a plane goes on by one step.
    fn collect(&mut self, plane: u32, urgent: bool) {
        let collector = match &mut self.collectors[plane as usize] {
            Some(collector) => collector,
            none => {
                if self.ftl.urgency(plane) == Urgency::None && !urgent {
                    return;
                }
                let Some(victim) = self.ftl.victim(plane) else { return };
                none.insert(Collector { victim, cursor: 0, reading: Vec::new() })
            }
        };
        if collector.reading.len() < 4
            && let Some(read) = self.ftl.next_valid(collector.victim, &mut collector.cursor)
        {
            collector.reading.push(read);
            return;
        }
        if collector.reading.is_empty() {
            self.ftl.erase(collector.victim);
            self.collectors[plane as usize] = None;
            return;
        }
        let (lpn, from) = collector.reading.remove(0);
        let was_there = self.ftl.lookup(lpn) == Some(from);
        assert_eq!(self.ftl.relocate(lpn, from).is_some(), was_there);
        self.verify(lpn);
    }

    fn verify(&self, lpn: u32) {
        let found = self.ftl.lookup(lpn).map(|place| self.ftl.stamp(place));
        assert_eq!(found, self.expected[lpn as usize], "page {lpn} of {:?}", self.ftl.spec());
    }

    fn check(&self) {
        self.ftl.audit();
        (0..self.expected.len() as u32).for_each(|lpn| self.verify(lpn));
        let counts = self.ftl.counts();
        assert_eq!(counts.pages_host, self.host);
        assert_eq!(counts.pages_mapped, self.expected.iter().flatten().count() as u64);
    }
}

#[test]
fn the_quick_collector_does_what_the_one_by_pages_does() {
    // With stamps, pages are moved one by one; without, sixteen at once.
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rng = Rng::from_seed(seed);
        let spec = spec_of(&mut rng);
        let places = |stamps| {
            let mut ftl = Ftl::new(&FtlSpec { stamps, ..spec.clone() }).expect("possible");
            ftl.precondition(
                StartState::Steady,
                if seed % 2 == 0 { Making::Formula } else { Making::Written },
            );
            let mut rng = Rng::from_seed(seed);
            for _ in 0..2000 {
                let lpn = rng.below(spec.geometry.logical_pages) as u32;
                ftl.write_timeless(lpn, ftl.temperature(lpn), 1);
            }
            ftl.audit();
            (0..spec.geometry.logical_pages as u32).map(|lpn| ftl.lookup(lpn)).collect::<Vec<_>>()
        };
        assert_eq!(places(true), places(false), "{spec:?}");
    }
}
