//! How do requests come together before a drive that takes few commands at a time?
//!
//! ```text
//!   thread ─► in line ─► whose turn? ─► takes ─► doorbell ─► drive ─► interrupt, or polled ─► hands out
//!               ▲        policy.rs      steps.rs                                │
//!               └──────────── the next, as soon as the drive has room ◄─────────┘
//! ```
//!
//! | subsystem | a request |
//! | --- | --- |
//! | `async` | waits in a queue where neighbours become one; the next command leaves when the interrupt of the last is handled |
//! | `sync` | is dispatched by its thread, which stands in line for the drive and polls |
//! | `stm` | rides on the command of a winner, which takes all that waits and polls; the others sleep |
//! | `atm` | a write waits plugged until the kernel's thread takes all; a read of an idle drive is dispatched by its thread |
//! | `hybrid` | rides on a command that its winner prepares while the drive works; nothing is plugged |
//!
//! Two more are the drivers of disks in memory: `worker` hands requests to a thread that copies, `caller` copies in the
//! caller's context. Without a limit on the commands outstanding, `async` needs none of this, and the host does without.
//!
//! Start reading at `policy.rs`; `steps.rs` is what threads do for them, `staged.rs` what they do ahead.

mod policy;
mod staged;
mod steps;
pub(super) mod subsystem;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::layer::{Layer, Ledger, Path};
use super::machine::Machine;
use super::system::System;
use crate::adapter::{Copies, Driver};
use crate::engine::{Kind, RequestId, Time};
use policy::{Limits, Policy, Waiting, Waits};
use staged::Lore;
use subsystem::Subsystem;

/// The queue's timer; an interrupt rings a doorbell; a completion is handed out in the softirq of its thread's core.
pub(super) const PLUG: u8 = 40;
pub(super) const DOORBELL: u8 = 41;
pub(super) const SOFTIRQ: u8 = 42;

/// Task of a thread between submission and result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Duty {
    /// Nothing: its program's.
    #[default]
    Free,
    /// Its request waits, and the thread with it.
    Waits,
    /// It takes what waits, and rings.
    Dispatches,
    /// Its command is prepared, and the drive busy.
    Staged,
    /// The drive is free for it.
    Rings,
    /// Its command is in the drive.
    Polls,
    /// So it is; meanwhile it prepares the next one for a caller that sleeps.
    Prepares,
    /// Its command is through.
    Retires,
    /// It hands out the results of its command.
    HandsOut,
}

/// A thread's place in all this.
#[derive(Clone, Debug, Default)]
struct Seat {
    duty: Duty,
    /// Submitted, not in line yet: a thread that waits for its request submits one at a time.
    mine: VecDeque<(usize, RequestId)>,
    /// The command that it dispatched, or what of it is to be handed out; and how much of it is not through.
    command: Vec<RequestId>,
    left: usize,
    /// Requests that the drive has ended and the thread has not seen yet.
    done: Vec<RequestId>,
    gate: usize,
    sleeps: bool,
}

impl Seat {
    /// Next task when results are handed out.
    fn after(&self) -> Duty {
        match (self.left, self.done.is_empty()) {
            (_, false) => Duty::Retires,
            (0, true) => Duty::Free,
            _ => Duty::Polls,
        }
    }
}

/// The queue before a drive.
#[derive(Clone, Debug, Default)]
struct Gate {
    waiting: VecDeque<Waiting>,
    /// Commands that the drive has room for.
    room: u32,
    /// Commands of interrupts that are about to ring.
    ringing: VecDeque<Vec<RequestId>>,
    /// A thread keeps the queue's lock while it polls.
    held: bool,
    timer: Option<Time>,
    /// Thread that polls for the next command, and prepares it unless a deputy does.
    staged: Option<u32>,
    ready: bool,
    /// Thread that polls for the last command; and whether it prepares the next one for a thread that sleeps.
    poller: Option<u32>,
    is_deputy: bool,
    lore: Lore,
}

/// Costs of the steps.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// A command, until its doorbell.
    dispatch: Path,
    /// The look that finds it through, and the driver's end.
    retire: Path,
    /// Each request of it that is polled for.
    end: Path,
    /// Each request of it that the softirq completes.
    complete: Path,
    /// Clocks for each byte that is copied: of reads, of writes.
    copy: [f64; 2],
}

/// The state of the subsystem.
pub(super) struct Merge {
    policy: Policy,
    /// One for each drive.
    gates: Vec<Gate>,
    outstanding: u32,
    /// One for each thread; the workers behind the callers.
    seats: Vec<Seat>,
    callers: usize,
    /// Thread in whose command each request is.
    owners: Vec<u32>,
    costs: Costs,
    ns_per_clock: f64,
    picked: Vec<usize>,
}

/// No thread polls for it; when it is handled, the drive has room, or another of its command says so.
const NOBODY: u32 = u32::MAX;
const FREES: u32 = u32::MAX - 1;

impl Machine {
    /// Costs that are left to a submission: without a queue no scheduler, and whoever dispatches pays for the command.
    pub(super) fn costs_of_submission(&self, system: &System, driver: &Driver) -> (System, Driver) {
        let (mut system, mut driver) = (system.clone(), driver.clone());
        if self.subsystem == Subsystem::Async && self.outstanding.is_none() {
            return (system, driver);
        }
        (driver.command, driver.translation) = (0.0, 0.0);
        if self.subsystem != Subsystem::Worker {
            system.scsi = 0.0;
        }
        if !self.subsystem.queues() {
            (system.scheduler, system.scheduler_hold) = (0.0, 0.0);
        }
        (system, driver)
    }
}

impl Merge {
    /// `None` when requests go straight to the adapters.
    pub(super) fn new(
        machine: &Machine,
        system: &System,
        driver: &Driver,
        gates: usize,
        ledger: &mut Ledger,
    ) -> Option<Merge> {
        let Machine { subsystem, outstanding, ns_per_clock, .. } = *machine;
        let outstanding = match (subsystem, outstanding) {
            (Subsystem::Async, None) => return None,
            (Subsystem::Caller, _) => u32::MAX,
            (_, limit) => limit.unwrap_or(1),
        };
        let mut path = |clocks: &[(Layer, f64)]| ledger.path(clocks);
        // With interrupts, the softirq that dispatches a command also translates it; the thread of a disk in memory
        // translates under the lock of its host.
        let in_queue = subsystem == Subsystem::Async && driver.is_scsi();
        let layered = in_queue || subsystem == Subsystem::Worker && driver.is_scsi();
        let when = |cond: bool, clocks: f64| if cond { clocks } else { 0.0 };
        let copies = driver.copies != Copies::Device;
        let limits = Limits {
            batch: driver.batch,
            merge_bytes: driver.merge_bytes,
            unplug_count: system.unplug_count,
            unplug_ns: system.unplug_time,
        };
        Some(Merge {
            policy: Policy { subsystem, limits },
            gates: vec![Gate { room: outstanding, ..Gate::default() }; gates],
            outstanding,
            seats: Vec::new(),
            callers: 0,
            owners: Vec::new(),
            costs: Costs {
                dispatch: path(&[
                    (Layer::Scsi, when(in_queue, system.scsi)),
                    (Layer::Translation, when(layered, driver.translation)),
                    (Layer::Driver, driver.command),
                ]),
                retire: path(&[(Layer::Poll, when(!copies, system.poll)), (Layer::DriverReturn, driver.end)]),
                end: path(&[(Layer::Block, system.block_end)]),
                complete: path(&[
                    (Layer::Scsi, when(layered, system.scsi_end)),
                    (Layer::Block, system.block_end),
                ]),
                copy: [driver.copy_read, driver.copy_write],
            },
            ns_per_clock,
            picked: Vec::new(),
        })
    }

    /// These many threads submit from now on; how many threads of the kernel's come behind them.
    pub(super) fn meet(&mut self, callers: usize) -> usize {
        let gates = self.gates.len();
        let workers = self.policy.subsystem.workers() * gates;
        self.callers = callers;
        self.seats = vec![Seat::default(); callers + workers];
        let room = self.outstanding;
        self.gates.iter_mut().for_each(|gate| *gate = Gate { room, ..Gate::default() });
        for worker in 0..workers {
            self.seats[callers + worker].gate = worker % gates;
        }
        workers
    }

    /// Somebody polls, or spins in line.
    pub(super) fn polls(&self) -> bool {
        self.policy.subsystem.polls()
    }

    /// A thread of the kernel's that has nothing to do.
    fn free_worker(&self, gate: usize) -> Option<u32> {
        let own = (self.callers + gate..self.seats.len()).step_by(self.gates.len());
        own.into_iter().find(|&index| self.seats[index].duty == Duty::Free).map(|index| index as u32)
    }

    fn set_owner(&mut self, id: RequestId, owner: u32) {
        if self.owners.len() <= id.0 as usize {
            self.owners.resize(id.0 as usize + 1, NOBODY);
        }
        self.owners[id.0 as usize] = owner;
    }

    fn owner(&self, id: RequestId) -> Option<u32> {
        self.owners.get(id.0 as usize).copied().filter(|&owner| owner < FREES)
    }

    /// A policy's view of a gate; nothing when nothing waits there.
    fn view(gate: &Gate, outstanding: u32, now: Time) -> Option<Waits<'_>> {
        let idle = gate.room == outstanding;
        let waits =
            Waits { now, waiting: &gate.waiting, idle, held: gate.held, blocks: false, most: usize::MAX };
        (!gate.waiting.is_empty()).then_some(waits)
    }

    /// The command that `who` takes from the queue.
    fn take(&mut self, gate: usize, who: Option<u32>, now: Time) -> Vec<RequestId> {
        let mut picked = std::mem::take(&mut self.picked);
        picked.clear();
        if let Some(waits) = Merge::view(&self.gates[gate], self.outstanding, now) {
            let most = if self.policy.subsystem.stages() { self.most(gate) } else { usize::MAX };
            self.policy.take(&Waits { most, ..waits }, who, &mut picked);
        }
        let waiting = &mut self.gates[gate].waiting;
        let ids = picked.iter().map(|&index| waiting[index].id).collect();
        for &index in picked.iter().rev() {
            waiting.remove(index);
        }
        self.picked = picked;
        ids
    }

    /// Time to copy the data of a request in memory, page by page.
    fn copy_ns(&self, kind: Kind, offset: u64, length: u32) -> u64 {
        const PAGE: u64 = 4096;
        let clocks = match kind {
            Kind::Read => self.costs.copy[0],
            Kind::Write => self.costs.copy[1],
            _ => return 0,
        };
        let pages = (offset + u64::from(length)).div_ceil(PAGE) - offset / PAGE;
        ((pages * PAGE) as f64 * clocks * self.ns_per_clock).round() as u64
    }
}
