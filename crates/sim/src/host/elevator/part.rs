//! The way of a request through plug, scheduler and the drive's queue.

use std::collections::BTreeMap;

use iostack_model::Stage;

use super::{NextIo, QueuedIo, Scheduler, SchedulerSpec, order};
use crate::engine::{CALLER_SHIFT, Caller, Kind, Part, PartId, Request, RequestId, Sim, Time, token};

/// The wait for a better I/O is over.
const IDLE: u8 = 0;

/// An I/O in the scheduler or the drive: one request, or several that became one.
#[derive(Clone, Debug)]
struct HeldIo {
    entry: QueuedIo,
    first: RequestId,
    /// Those that were merged into it, in order.
    more: Vec<RequestId>,
}

/// The queue of one drive, in the order of its scheduler.
pub(crate) struct Elevator {
    below: PartId,
    scheduler: Box<dyn Scheduler>,
    merge: u64,
    held: Vec<HeldIo>,
    free: Vec<u32>,
    /// Waiting I/Os by kind and end: what an adjacent one is merged into.
    ends: BTreeMap<(bool, u64), u32>,
    /// Slot of each request in the drive.
    slots: Vec<u32>,
    /// Places of the drive that are free.
    room: u64,
    number: u64,
    /// Somebody waits for the writes of each caller.
    waits: Vec<bool>,
    /// Number of the alarm that counts, and its moment.
    alarm: (u32, Option<Time>),
    merged: u64,
    dispatched: u64,
}

impl Elevator {
    /// Above `below`, which takes `depth` at once.
    pub(crate) fn new(spec: &SchedulerSpec, below: PartId, depth: u64) -> Elevator {
        Elevator {
            below,
            scheduler: order(spec),
            merge: spec.merge,
            held: Vec::new(),
            free: Vec::new(),
            ends: BTreeMap::new(),
            slots: Vec::new(),
            room: depth,
            number: 0,
            waits: Vec::new(),
            alarm: (0, None),
            merged: 0,
            dispatched: 0,
        }
    }

    fn keep(&mut self, held: HeldIo) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.held[slot as usize] = held;
            return slot;
        }
        self.held.push(held);
        self.held.len() as u32 - 1
    }

    /// Joins what ends where this one begins, unless it carries stamps, which belong to each alone.
    fn merges(&mut self, id: RequestId, sim: &Sim) -> bool {
        let request = sim.request(id);
        let write = request.kind == Kind::Write;
        if !matches!(request.kind, Kind::Read | Kind::Write) || sim.keeps_stamps() {
            return false;
        }
        let Some(&slot) = self.ends.get(&(write, request.offset)) else { return false };
        let held = &mut self.held[slot as usize];
        let end = request.offset + u64::from(request.length);
        if end - held.entry.offset > self.merge || sim.request(held.first).stream != request.stream {
            return false;
        }
        held.more.push(id);
        self.ends.remove(&(write, held.entry.end));
        held.entry.end = end;
        self.ends.insert((write, end), slot);
        self.merged += 1;
        true
    }

    fn add(&mut self, id: RequestId, sim: &Sim) {
        let Request { kind, offset, length, user, .. } = *sim.request(id);
        let owner = user >> CALLER_SHIFT;
        let write = kind != Kind::Read;
        let entry = QueuedIo {
            slot: 0,
            number: self.number,
            owner,
            write,
            sync: !write || self.waits.get(owner as usize).copied().unwrap_or(true),
            offset,
            end: offset + u64::from(length),
            since: sim.now(),
        };
        self.number += 1;
        let slot = self.keep(HeldIo { entry, first: id, more: Vec::new() });
        let entry = &mut self.held[slot as usize].entry;
        entry.slot = slot;
        if matches!(kind, Kind::Read | Kind::Write) {
            self.ends.insert((write, entry.end), slot);
        }
        self.scheduler.add(*entry, sim.now());
    }

    fn dispatch(&mut self, sim: &mut Sim) {
        while self.room > 0 {
            match self.scheduler.next(sim.now()) {
                NextIo::Go(slot) => self.go(slot, sim),
                NextIo::Idle(until) => return self.wake_me(until, sim),
                NextIo::Nothing => return,
            }
        }
    }

    fn wake_me(&mut self, until: Time, sim: &mut Sim) {
        if self.alarm.1 != Some(until) {
            self.alarm = ((self.alarm.0 + 1) & 0xFF_FFFF, Some(until));
            sim.wake_at(until.max(sim.now()), token(IDLE, self.alarm.0));
        }
    }

    fn go(&mut self, slot: u32, sim: &mut Sim) {
        self.room -= 1;
        self.dispatched += 1;
        let held = &self.held[slot as usize];
        let key = (held.entry.write, held.entry.end);
        if self.ends.get(&key) == Some(&slot) {
            self.ends.remove(&key);
        }
        sim.spend(held.first, Stage::Schedule);
        let mut goes = held.first;
        if !held.more.is_empty() {
            held.more.iter().for_each(|&id| sim.spend(id, Stage::Schedule));
            let Request { kind, user, scratch, stream, .. } = *sim.request(held.first);
            goes = sim.spawn(kind, held.entry.offset, (held.entry.end - held.entry.offset) as u32);
            let carrier = sim.request_mut(goes);
            (carrier.user, carrier.scratch, carrier.stream) = (user, scratch, stream);
        }
        let index = goes.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, 0);
        }
        self.slots[index] = slot;
        sim.send(self.below, goes);
    }

    /// The time of those that went as one is the time of the one.
    fn share(&self, slot: u32, carrier: RequestId, sim: &mut Sim) {
        let held = &self.held[slot as usize];
        let spent: Vec<(usize, u64)> = sim.request(carrier).stages().collect();
        let mut until = sim.request(carrier).submitted;
        for stage in Stage::WAY {
            let Some(&(_, ns)) = spent.iter().find(|(index, _)| *index == stage as usize) else { continue };
            until += ns;
            for &id in std::iter::once(&held.first).chain(&held.more) {
                sim.spend_until(id, stage, until);
            }
        }
        std::iter::once(&held.first).chain(&held.more).for_each(|&id| sim.finish(id));
        sim.release(carrier);
    }
}

impl Part for Elevator {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn meet(&mut self, callers: &[Caller]) {
        self.waits = callers.iter().map(|caller| caller.direct).collect();
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let more_come = sim.request(id).followers > 0;
        if sim.request(id).kind == Kind::Flush {
            // No order holds a flush back.
            return sim.send(self.below, id);
        }
        if !self.merges(id, sim) {
            self.add(id, sim);
        }
        if !more_come {
            self.dispatch(sim);
        }
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        if token & 0xFF_FFFF == self.alarm.0 {
            self.alarm.1 = None;
            self.dispatch(sim);
        }
    }

    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        if sim.request(id).kind == Kind::Flush {
            return sim.finish(id);
        }
        let slot = self.slots[id.0 as usize];
        self.room += 1;
        let entry = self.held[slot as usize].entry;
        self.scheduler.completed(&entry, sim.now());
        if self.held[slot as usize].first == id {
            sim.finish(id);
        } else {
            self.share(slot, id, sim);
        }
        self.free.push(slot);
        self.dispatch(sim);
    }

    fn begin(&mut self, _: Time) {
        (self.merged, self.dispatched) = (0, 0);
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        let sent = (self.dispatched + self.merged).max(1);
        list.push(("merged share", self.merged as f64 / sent as f64));
    }
}
