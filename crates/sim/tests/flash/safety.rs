//! Does an SSD lose nothing, whatever is asked of it and however it is built?

use std::collections::BTreeMap;

use iostack_sim::devices;
use iostack_sim::engine::{Happened, Kind, Request, RequestId, World};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

/// A random device: every switch of the table is thrown one way or another.
fn device(rng: &mut Rng) -> Vec<(&'static str, String)> {
    let mut pick = |choices: &[&str]| choices[rng.below(choices.len() as u64) as usize].to_owned();
    let page = pick(&["4KiB", "4KiB", "8KiB", "16KiB"]);
    let mapping = if page == "4KiB" { pick(&["4KiB", "2KiB"]) } else { pick(&["4KiB", "8KiB"]) };
    vec![
        ("flash.capacity", pick(&["2MiB", "4MiB", "6MiB"])),
        ("flash.over_provisioning", pick(&["60%", "110%", "200%"])),
        ("flash.channels", pick(&["1", "2"])),
        ("flash.chips", pick(&["1", "2"])),
        ("flash.dies", pick(&["1", "2"])),
        ("flash.planes", pick(&["1", "2"])),
        ("flash.page", page),
        ("flash.mapping", mapping),
        ("flash.pages_per_block", pick(&["2", "4", "8"])),
        ("flash.read", "25us".into()),
        ("flash.program", "200us".into()),
        ("flash.erase", "1500us".into()),
        ("flash.multi_plane", pick(&["none", "writes", "matching", "independent"])),
        ("flash.cache_register", pick(&["no", "yes"])),
        ("flash.read_priority", pick(&["no", "yes"])),
        ("flash.overtake", pick(&["1", "16"])),
        ("flash.suspend", pick(&["none", "erase", "program", "both"])),
        ("flash.suspend_time", pick(&["0", "5us"])),
        ("flash.queue_depth", pick(&["1", "4", "32", "1024"])),
        ("flash.allocation", pick(&["dynamic", "static"])),
        ("flash.order", pick(&["cwdp", "pdwc", "wcpd"])),
        ("flash.state", pick(&["fresh", "filled", "steady"])),
        ("channel.rate", pick(&["40MB/s", "800MB/s"])),
        ("channel.command", pick(&["0", "1us"])),
        ("controller.cores", pick(&["1", "2"])),
        ("controller.read", pick(&["0", "3us"])),
        ("controller.write", pick(&["0", "5us"])),
        ("controller.write_delay", pick(&["0", "7us"])),
        ("link.rate", pick(&["none", "300MB/s"])),
        ("link.latency", pick(&["0", "2us"])),
        ("link.duplex", pick(&["half", "full"])),
        ("buffer.size", pick(&["none", "16KiB", "64KiB", "1MiB"])),
        ("buffer.acknowledge", pick(&["early", "early", "programmed"])),
        ("gc.policy", pick(&["greedy", "choices", "fifo", "random", "cost-benefit"])),
        ("gc.hot_cold", pick(&["no", "yes"])),
        ("slc.size", pick(&["none", "none", "512KiB"])),
        ("slc.read", "20us".into()),
        ("slc.program", "100us".into()),
        ("slc.erase", "1ms".into()),
        ("slc.full", pick(&["direct", "fold"])),
    ]
}

/// Drives a device with a random load and knows what each sector must hold.
struct Driver {
    world: World,
    sectors: BTreeMap<u64, u32>,
    /// Sectors that must not be touched until their request is through: first, last, and what is expected or written.
    under_way: Vec<(RequestId, Kind, u64, u64, u32)>,
    stamp: u32,
    capacity: u64,
    span: u64,
    done: u64,
}

const SECTOR: u64 = 512;

impl Driver {
    fn new(values: &[(&'static str, String)], seed: u64) -> Option<Driver> {
        let values: Vec<_> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let sheet = Sheet::of("flash", &values).expect("a kind");
        let mut world = World::new();
        world.sim.keep_stamps();
        let device = match devices::build(&sheet, &mut world, seed) {
            Ok(device) => device,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("over-provision") || text.contains("give buffer.size"), "{text}");
                return None;
            }
        };
        world.set_root(device);
        let capacity = world.shape().expect("a device").capacity.0;
        Some(Driver {
            world,
            sectors: BTreeMap::new(),
            under_way: Vec::new(),
            stamp: 0,
            capacity,
            span: capacity,
            done: 0,
        })
    }

    fn submit(&mut self, kind: Kind, first: u64, count: u64) {
        let last = first + count - 1;
        if kind == Kind::Flush {
            let id = self.world.sim.submit(kind, 0, 0);
            self.under_way.push((id, kind, u64::MAX, u64::MAX, 0));
            return;
        }
        // Whole pages of 16 KiB: pieces of a page that is being trimmed or written are nobody's to judge.
        let touches = |&(_, _, from, to, _): &(RequestId, Kind, u64, u64, u32)| {
            from != u64::MAX && first / 32 <= to / 32 && from / 32 <= last / 32
        };
        if self.under_way.iter().any(touches) {
            return;
        }
        let id = self.world.sim.submit(kind, first * SECTOR, (count * SECTOR) as u32);
        let mut expected = 0;
        match kind {
            Kind::Write => {
                self.stamp += 1;
                expected = self.stamp;
                self.world.sim.request_mut(id).stamp = expected;
            }
            Kind::Read => expected = self.expected(first, last),
            _ => {}
        }
        self.under_way.push((id, kind, first, last, expected));
    }

    fn expected(&self, first: u64, last: u64) -> u32 {
        let mut stamps = (first..=last).map(|sector| self.sectors.get(&sector).copied().unwrap_or(0));
        let stamp = stamps.next().expect("not empty");
        if stamps.all(|other| other == stamp) { stamp } else { Request::TORN }
    }

    fn step(&mut self) -> bool {
        match self.world.next() {
            Happened::Completed(id) => self.completed(id),
            Happened::Quiet => return false,
            Happened::Alarm(_) => {}
        }
        true
    }

    fn completed(&mut self, id: RequestId) {
        let at = self.under_way.iter().position(|each| each.0 == id).expect("it was submitted");
        let (_, kind, first, last, stamp) = self.under_way.swap_remove(at);
        let request = self.world.sim.request(id);
        let latency = self.world.now() - request.submitted;
        assert_eq!(request.stages().map(|(_, spent)| spent).sum::<u64>(), latency);
        let found = request.stamp;
        self.world.sim.release(id);
        self.done += 1;
        match kind {
            Kind::Read => assert_eq!(found, stamp, "sectors {first}..={last}"),
            Kind::Write => (first..=last).for_each(|sector| {
                self.sectors.insert(sector, stamp);
            }),
            // Only whole pages are forgotten; requests are whole pages where trims are.
            Kind::Trim => (first..=last).for_each(|sector| {
                self.sectors.remove(&sector);
            }),
            Kind::Flush | Kind::Compute => {}
        }
    }

    fn random(&mut self, rng: &mut Rng) {
        let sectors = self.span / SECTOR;
        let kind = match rng.below(100) {
            0..=39 => Kind::Read,
            40..=92 => Kind::Write,
            93..=97 => Kind::Trim,
            _ => Kind::Flush,
        };
        let page = 32;
        let (first, count) = match rng.below(4) {
            0 if kind != Kind::Trim => (rng.below(sectors - 8), 1 + rng.below(8)),
            1 => (rng.below(sectors / page - 8) * page, page * (1 + rng.below(8))),
            _ => (rng.below(sectors / page) * page, page),
        };
        self.submit(kind, first, count);
    }

    /// The load ends; nothing may be left.
    fn finish(&mut self) {
        while self.step() {}
        assert!(self.under_way.is_empty(), "the device is quiet and {} requests wait", self.under_way.len());
        assert_eq!(self.world.sim.under_way(), 0, "parts of requests are left");
    }

    fn read_everything(&mut self) {
        for page in 0..self.capacity / 4096 {
            self.submit(Kind::Read, page * 8, 8);
            while !self.under_way.is_empty() {
                assert!(self.step(), "a read is not answered");
            }
        }
    }
}

#[test]
fn nothing_is_lost_on_random_devices_under_random_loads() {
    let mut refused = 0;
    for seed in 0..150 {
        let mut rng = Rng::from_seed(seed);
        let values = device(&mut rng);
        let Some(mut driver) = Driver::new(&values, seed) else {
            refused += 1;
            continue;
        };
        println!("seed {seed}: {values:?}");
        // Occupancies from a tenth to everything.
        driver.span = driver.capacity / 10 * (1 + rng.below(10));
        let depth = [1, 3, 20, 90][rng.below(4) as usize];
        while driver.done < 3000 {
            while driver.under_way.len() < depth {
                driver.random(&mut rng);
            }
            assert!(driver.step(), "the device is quiet and {} requests wait", driver.under_way.len());
        }
        driver.finish();
        driver.read_everything();
    }
    assert!(refused < 75, "{refused} of 150 were refused");
}
