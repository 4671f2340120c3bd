//! Who is there, and whose turn is it?

use iostack_model::{FlashUse, HostUse, RaidUse, ResourceUse};

use super::sim::{DRIVER, Message};
use super::{Caller, Part, PartId, RequestId, Shape, Sim, Time, ZoneShape};

/// News for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A request is through; read it from [`World::sim`], then [`Sim::release`] it.
    Completed(RequestId),
    /// An alarm of the driver's.
    Alarm(u32),
    /// Nothing will ever happen again.
    Quiet,
}

/// All parts, and the simulation they live in.
#[derive(Default)]
pub struct World {
    /// Time, requests, the future.
    pub sim: Sim,
    parts: Vec<Box<dyn Part>>,
    events: u64,
}

impl World {
    /// An empty world.
    pub fn new() -> World {
        World::default()
    }

    /// Adds a part. Parts below come first: a part is made with the numbers of those it sends to.
    pub fn add(&mut self, part: Box<dyn Part>) -> PartId {
        assert!(self.parts.len() < usize::from(DRIVER), "a world has at most {DRIVER} parts");
        self.parts.push(part);
        PartId(self.parts.len() as u16 - 1)
    }

    /// The part to which requests are submitted.
    pub fn set_root(&mut self, part: PartId) {
        self.sim.root = part.0;
    }

    /// Part to which requests are submitted.
    pub fn root(&self) -> PartId {
        PartId(self.sim.root)
    }

    /// Goes on until the driver has something to do.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator would keep the world borrowed")]
    pub fn next(&mut self) -> Happened {
        self.go(Time::MAX)
    }

    /// Goes on until then.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "without an end there is nothing to compare")]
    fn go(&mut self, until: Time) -> Happened {
        loop {
            while let Some(message) = self.sim.messages.pop() {
                match message {
                    Message::Arrive(part, id) => {
                        self.sim.me = part;
                        self.parts[usize::from(part)].arrive(id, &mut self.sim);
                    }
                    Message::Return(part, id) => {
                        self.sim.me = part;
                        self.parts[usize::from(part)].returned(id, &mut self.sim);
                    }
                    Message::Completed(id) => return Happened::Completed(id),
                }
            }
            if let Some(part) = self.sim.settles.take() {
                self.sim.me = part;
                self.parts[usize::from(part)].settled(&mut self.sim);
                continue;
            }
            if until != Time::MAX && self.due().is_none_or(|due| due > until) {
                return Happened::Quiet;
            }
            let Some(event) = self.sim.calendar.pop() else { return Happened::Quiet };
            debug_assert!(event.time >= self.sim.now);
            self.sim.now = event.time;
            self.events += 1;
            if event.part() == DRIVER {
                return Happened::Alarm(event.token());
            }
            self.sim.me = event.part();
            self.parts[usize::from(event.part())].wake(event.token(), &mut self.sim);
        }
    }

    /// Moment of the next event; `None` when there is none. All that happens at once has happened ([`World::next_by`]).
    pub fn due(&mut self) -> Option<Time> {
        self.sim.calendar.next()
    }

    /// The next request that is through by `until`, for a driver whose clock goes on by itself and that sets no alarms.
    pub fn next_by(&mut self, until: Time) -> Option<RequestId> {
        match self.go(until) {
            Happened::Completed(id) => Some(id),
            Happened::Alarm(_) | Happened::Quiet => None,
        }
    }

    /// It is `moment` now, unless it is later already; the driver may submit. [`World::next_by`] has been asked for all until
    /// then.
    pub fn pass(&mut self, moment: Time) {
        debug_assert!(self.due().is_none_or(|due| due >= moment));
        self.sim.now = self.sim.now.max(moment);
    }

    /// These threads submit from now on.
    pub fn meet(&mut self, callers: &[Caller]) {
        self.parts.iter_mut().for_each(|part| part.meet(callers));
    }

    /// Clocks that the host spent on so many I/Os; `None` of a device alone.
    pub fn host(&self, ios: u64) -> Option<HostUse> {
        let mut host = self.parts().find_map(|part| part.host(self.sim.now, ios))?;
        self.parts().for_each(|part| part.amend(ios, &mut host));
        Some(host)
    }

    /// Begins to measure: accounts and counts begin anew.
    pub fn begin(&mut self) {
        let now = self.sim.now;
        self.parts.iter_mut().for_each(|part| part.begin(now));
    }

    /// Events that happened so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The parts, from the last that was added (the nearest to the host) to the first.
    pub fn parts(&self) -> impl Iterator<Item = &dyn Part> {
        self.parts.iter().rev().map(|part| &**part)
    }

    /// A part's name.
    pub fn name(&self, part: PartId) -> &str {
        self.parts[usize::from(part.0)].name()
    }

    /// All resources until now, those of the same name together.
    pub fn resources(&self) -> Vec<ResourceUse> {
        let mut list = Vec::new();
        self.parts().for_each(|part| part.resources(self.sim.now, &mut list));
        alike(list)
    }

    /// Gauges, those of the same name added up.
    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut list = Vec::new();
        self.parts().for_each(|part| part.gauges(&mut list));
        let mut sums: Vec<(&'static str, f64)> = Vec::new();
        for (name, value) in list {
            match sums.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => *sum += value,
                None => sums.push((name, value)),
            }
        }
        sums
    }

    /// Work of flash management, of each part that has some.
    pub fn flash(&self) -> Vec<FlashUse> {
        self.parts().filter_map(Part::flash).collect()
    }

    /// I/Os of the members of all arrays.
    pub fn raid(&self) -> Option<RaidUse> {
        self.parts().filter_map(Part::raid).reduce(|all, each| all.with(&each))
    }

    /// Size of the part that requests are submitted to.
    pub fn shape(&self) -> Option<Shape> {
        self.parts[usize::from(self.sim.root)].shape()
    }

    /// Size of this part.
    pub fn shape_of(&self, part: PartId) -> Option<Shape> {
        self.parts[usize::from(part.0)].shape()
    }

    /// Zones of this part.
    pub fn zones_of(&self, part: PartId) -> Option<ZoneShape> {
        self.parts[usize::from(part.0)].zones()
    }

    /// Zones of the part that requests are submitted to.
    pub fn zones(&self) -> Option<ZoneShape> {
        self.zones_of(self.root())
    }

    /// The present moment.
    pub fn now(&self) -> Time {
        self.sim.now
    }
}

/// Resources, those of the same name merged into one.
pub fn alike(list: Vec<ResourceUse>) -> Vec<ResourceUse> {
    let mut merged: Vec<ResourceUse> = Vec::new();
    for each in list {
        match merged.iter_mut().find(|other| other.name == each.name) {
            Some(other) => merge(other, &each),
            None => merged.push(each),
        }
    }
    merged
}

fn merge(into: &mut ResourceUse, other: &ResourceUse) {
    let count = f64::from(into.count + other.count).max(1.0);
    let visits = (into.visits + other.visits).max(1) as f64;
    let by_count = |a: f64, b: f64| (a * f64::from(into.count) + b * f64::from(other.count)) / count;
    let by_visits = |a: f64, b: f64| (a * into.visits as f64 + b * other.visits as f64) / visits;
    into.busy = by_count(into.busy, other.busy);
    into.service_ns = by_visits(into.service_ns, other.service_ns);
    into.wait_ns = by_visits(into.wait_ns, other.wait_ns);
    into.busiest = into.busiest.max(other.busiest);
    into.waiting += other.waiting;
    into.count += other.count;
    into.visits += other.visits;
}
