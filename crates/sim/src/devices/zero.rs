//! What does everything but the device cost? This one answers at once.

use crate::sheet::{Sheet, SheetError};
use iostack_model::{Bytes, Stage};

use crate::engine::{Part, PartId, RequestId, Shape, Sim, Stamps, World};

struct Zero {
    capacity: Bytes,
    latency: u64,
    stamps: Stamps,
}

pub(super) fn build(sheet: &Sheet, world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    let zero = Zero {
        capacity: sheet.bytes("zero.capacity")?,
        latency: sheet.time("zero.latency")?.0,
        stamps: Stamps::of_device(&world.sim),
    };
    Ok(world.add(Box::new(zero)))
}

impl Part for Zero {
    fn name(&self) -> &'static str {
        "zero"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        self.stamps.keep(sim.request_mut(id));
        if self.latency == 0 {
            return sim.finish(id);
        }
        sim.wake_at(sim.now() + self.latency, id.0);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token);
        sim.spend(id, Stage::Medium);
        sim.finish(id);
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: Bytes(512) })
    }
}
