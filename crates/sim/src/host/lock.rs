//! How long does a thread wait for locks? Of the I/O scheduler, one for each drive; of the driver, one for each adapter.

use iostack_model::{ResourceUse, Stage};

use super::elevator::Lock;
use super::part::{Drives, Host, Machine};
use super::system::System;
use crate::adapter::Driver;
use crate::engine::{Sim, Time, usage};

/// All locks that a submission takes.
#[derive(Clone, Debug)]
pub(super) struct Locks {
    schedulers: Vec<Lock>,
    drivers: Vec<Lock>,
    /// Under the scheduler's, for each that waits, ns.
    contention: u64,
    /// Which of the two there are.
    has: [bool; 2],
}

impl Locks {
    pub(super) fn new(machine: &Machine, system: &System, software: &Driver, drives: &Drives) -> Locks {
        Locks {
            schedulers: vec![Lock::default(); drives.count],
            drivers: vec![Lock::default(); drives.adapters.len()],
            contention: (machine.contention * machine.ns_per_clock).round() as u64,
            has: [system.scheduler_hold > 0.0, software.lock > 0.0],
        }
    }

    pub(super) fn begin(&mut self, now: Time) {
        let Locks { schedulers, drivers, .. } = self;
        schedulers.iter_mut().chain(drivers).for_each(|lock| lock.account.begin(now));
    }

    pub(super) fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        let all = [("lock", &self.schedulers), ("driver lock", &self.drivers)];
        for ((name, locks), has) in all.into_iter().zip(self.has) {
            if has {
                list.push(usage(name, locks.iter().map(|lock| &lock.account), now));
            }
        }
    }
}

impl Host {
    /// The thread takes the locks of its drive for each I/O of its batch, one after the other; when the last is through.
    pub(super) fn take_lock(&mut self, index: u32, sim: &mut Sim) -> Time {
        let mut at = sim.now();
        for place in 0..self.threads[index as usize].batch.len() {
            let id = self.threads[index as usize].batch[place];
            sim.spend(id, Stage::Submit);
            let drive = self.drive_of(id, sim);
            let adapter = drive % self.drives.adapters.len();
            let Locks { schedulers, drivers, contention, has } = &mut self.locks;
            let mut lost = 0;
            if has[0] {
                (at, lost) = schedulers[drive].take(at, self.paths.hold.once(), *contention);
            }
            self.lock_ns += lost;
            if has[1] {
                (at, lost) = drivers[adapter].take(at, self.paths.driver_hold.once(), 0);
                self.lock_ns += lost;
            }
        }
        at
    }
}
