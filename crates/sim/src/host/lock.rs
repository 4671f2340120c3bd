//! How long does a thread wait for the lock of the I/O scheduler?

use iostack_model::Stage;

use super::part::Host;
use crate::engine::{Sim, Time};

impl Host {
    /// The thread takes the lock of its drive for each I/O of its batch; when the last is through.
    pub(super) fn take_lock(&mut self, index: u32, sim: &mut Sim) -> Time {
        let now = sim.now();
        let (mut end, mut held_ns) = (now, 0);
        for at in 0..self.threads[index as usize].batch.len() {
            let id = self.threads[index as usize].batch[at];
            sim.spend(id, Stage::Submit);
            let drive = self.drive_of(index, id, sim);
            let lock = &mut self.locks[drive];
            let behind = lock.free_at().saturating_sub(now);
            let hold = self.paths.hold.once();
            let waiters = if hold == 0 { 0.0 } else { (behind as f64 / hold as f64).ceil() };
            let held = (hold as f64 * (1.0 + self.contention * waiters)).round() as u64;
            let through = lock.serve(now, held);
            end = end.max(through);
            held_ns += hold;
        }
        self.lock_ns += (end - now).saturating_sub(held_ns);
        end
    }
}
