//! What if the host puts small requests together? A part in front of a device.

use iostack_model::Stage;
use iostack_sim::engine::{Part, PartId, RequestId, Sim};

/// Holds requests back for a while, then hands them over as one extended command.
pub(crate) struct Gatherer {
    pub(crate) below: PartId,
    pub(crate) window: u64,
    pub(crate) held: Vec<RequestId>,
}

impl Part for Gatherer {
    fn name(&self) -> &'static str {
        "gatherer"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        if self.held.is_empty() {
            sim.wake_at(sim.now() + self.window, 0);
        }
        self.held.push(id);
    }

    fn wake(&mut self, _token: u32, sim: &mut Sim) {
        for &id in &self.held {
            sim.spend(id, Stage::Queue);
        }
        sim.send_together(self.below, &self.held);
        self.held.clear();
    }
}
