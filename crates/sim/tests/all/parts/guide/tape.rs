//! What does a tape do? It winds to the place, then it streams.

use iostack_model::{Bytes, ResourceUse, Stage};
use iostack_sim::engine::{Kind, Part, PartId, RequestId, Server, Shape, Sim, Stamps, Time, World, usage};
use iostack_sim::sheet::{DeviceKind, Parameter, Sheet, SheetError, Unit};

pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "tape",
    about: "one reel: winding takes time by distance, then data stream",
    parameters: &[
        Parameter { key: "tape.capacity", unit: Unit::Bytes, default: None, meaning: "the reel", only: None },
        Parameter { key: "tape.rate", unit: Unit::Rate, default: None, meaning: "of streaming", only: None },
        Parameter { key: "tape.wind", unit: Unit::Time, default: None, meaning: "end to end", only: None },
        Parameter { key: "tape.start", unit: Unit::Time, default: Some("2s"), meaning: "before", only: None },
    ],
};

struct Tape {
    capacity: u64,
    bytes_per_second: f64,
    wind: u64,
    start: u64,
    /// Place of the tape when all that came so far is done.
    at: u64,
    motor: Server,
    stamps: Stamps,
}

pub(crate) fn build(sheet: &Sheet, world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    let tape = Tape {
        capacity: sheet.bytes("tape.capacity")?.0,
        bytes_per_second: sheet.rate("tape.rate")?,
        wind: sheet.time("tape.wind")?.0,
        start: sheet.time("tape.start")?.0,
        at: 0,
        motor: Server::default(),
        stamps: Stamps::of_device(&world.sim),
    };
    Ok(world.add(Box::new(tape)))
}

impl Tape {
    fn winding(&self, to: u64) -> u64 {
        let share = self.at.abs_diff(to) as f64 / self.capacity as f64;
        if self.at == to { 0 } else { self.start + (self.wind as f64 * share).round() as u64 }
    }

    fn streaming(&self, length: u32) -> u64 {
        (f64::from(length) * 1e9 / self.bytes_per_second).round() as u64
    }

    fn done(&mut self, id: RequestId, sim: &mut Sim) {
        self.stamps.keep(sim.request_mut(id));
        sim.finish(id);
    }
}

impl Part for Tape {
    fn name(&self) -> &'static str {
        "tape"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let request = sim.request_mut(id);
        let (winding, streaming) = match request.kind {
            Kind::Read | Kind::Write => (self.winding(request.offset), self.streaming(request.length)),
            Kind::Trim | Kind::Flush | Kind::Compute => return self.done(id, sim),
        };
        self.at = request.offset + u64::from(request.length);
        request.scratch = winding;
        sim.wake_at(self.motor.serve(sim.now(), winding + streaming), id.0);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token);
        let streams = sim.now() - self.streaming(sim.request(id).length);
        sim.spend_until(id, Stage::ArmWait, streams - sim.request(id).scratch);
        sim.spend_until(id, Stage::Seek, streams);
        sim.spend(id, Stage::Medium);
        self.done(id, sim);
    }

    fn begin(&mut self, now: Time) {
        self.motor.account.begin(now);
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        list.push(usage("motor", [&self.motor.account], now));
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: Bytes(self.capacity), block: Bytes(512) })
    }
}
