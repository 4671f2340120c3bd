//! How long does a thread wait for locks? Of the I/O scheduler, one for each drive; of the driver, one for each adapter.

use iostack_model::ResourceUse;

use super::elevator::Lock;
use super::machine::{Drives, Machine};
use super::system::System;
use crate::adapter::Driver;
use crate::engine::{Time, usage};

/// All locks that a submission takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    pub(super) schedulers: Vec<Lock>,
    pub(super) drivers: Vec<Lock>,
    /// Time more of a turn under the scheduler's that was waited for, ns.
    pub(super) contention: u64,
    /// The same when the lock was on another socket.
    pub(super) contention_remote: u64,
    /// There are locks of a scheduler, of a driver.
    pub(super) has: [bool; 2],
}

impl Locks {
    pub(super) fn new(machine: &Machine, system: &System, software: &Driver, drives: &Drives) -> Locks {
        let contention = (machine.contention * machine.ns_per_clock).round() as u64;
        Locks {
            schedulers: vec![Lock::default(); drives.count],
            drivers: vec![Lock::default(); drives.adapters.len()],
            contention,
            contention_remote: contention,
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
