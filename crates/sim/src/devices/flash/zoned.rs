//! What does a drive with zones do with writes and resets?
//!
//! ```text
//!   write ──► its turn? (the zone's write pointer) ──► buffer: answered ──► a whole row ──► its die programs it
//!   trim of whole zones ──► each zone's dies erase what is written ──► answered, not before `zones.reset`
//! ```
//!
//! A host sends writes of a zone in order, one at a time (`zones.append = no`, as Linux does: mq-deadline, since 6.10 zone
//! write plugging), or several, which the drive puts in order (zone append). A write that comes before its turn is held,
//! as is one that would begin a zone more than `zones.open` and `zones.active` allow: neither has a place in the command queue. A write at the start of a zone
//! that is full resets it first: the reset that a load in zoned mode sends before it.
//!
//! The buffer must survive a loss of power, as it holds what does not fill a row: a flush has nothing to wait for.

use iostack_model::Stage;

use super::die::Phase;
use super::ssd::{RESET, Ssd, ZONE_NEXT};
use super::zones::{ZoneWork, Zones};
use crate::engine::{Kind, RequestId, Sim, token};

/// Mark of a write that is held, where bytes in the buffer are counted afterwards.
const HELD: u64 = u64::MAX;

impl Ssd {
    fn zones(&mut self) -> &mut Zones {
        self.zones.as_mut().expect("only a drive with zones asks")
    }

    /// The host keeps a write back while another of its zone is in the drive.
    pub(super) fn kept_back(&mut self, id: RequestId, sim: &Sim) -> bool {
        let request = sim.request(id);
        let (kind, offset) = (request.kind, request.offset);
        let zones = self.zones();
        if kind != Kind::Write || zones.spec.append {
            return false;
        }
        let zone = zones.split(offset).0 as usize;
        let busy = std::mem::replace(&mut zones.all[zone].busy, true);
        if busy {
            zones.all[zone].kept_back.push_back(id);
        }
        busy
    }

    /// The host sends the next write of a zone.
    pub(super) fn next_of_zone(&mut self, number: u32, sim: &mut Sim) {
        let zone = &mut self.zones().all[number as usize];
        let Some(id) = zone.kept_back.pop_front() else {
            zone.busy = false;
            return;
        };
        sim.spend(id, Stage::Admit);
        self.take_in(id, sim);
    }

    /// The firmware knows of a command that is no read.
    pub(super) fn for_zones(&mut self, kind: Kind, id: RequestId, sim: &mut Sim) {
        match kind {
            Kind::Write => self.zone_write(id, sim),
            Kind::Trim => self.zone_trim(id, sim),
            _ => self.complete(id, sim),
        }
    }

    fn zone_write(&mut self, id: RequestId, sim: &mut Sim) {
        let zones = self.zones();
        let (zone, _) = zones.split(sim.request(id).offset);
        zones.all[zone as usize].held.push(id);
        self.advance(zone, sim);
        let held = self.zones().all[zone as usize].held.contains(&id);
        if held {
            // It goes back to the host: what it waits for needs its place.
            sim.request_mut(id).scratch = HELD;
            self.give_place(sim);
        }
    }

    /// Takes the writes of a zone whose turn it is.
    fn advance(&mut self, number: u32, sim: &mut Sim) {
        loop {
            let zones = self.zones.as_mut().expect("only a drive with zones asks");
            let (capacity, most) = (zones.capacity(), zones.spec.shape.written_most);
            let size = zones.spec.shape.size.0;
            let zone = &mut zones.all[number as usize];
            if zone.resetting {
                return;
            }
            let (full, next) = (zone.pointer == capacity, zone.pointer % capacity);
            let Some(at) = zone.held.iter().position(|&id| sim.request(id).offset % size == next) else {
                break;
            };
            if full {
                if zone.accepting == 0 {
                    self.reset(number, sim);
                }
                break;
            }
            if zone.pointer == 0 {
                if zones.active == most {
                    if !zones.starved.contains(&number) {
                        zones.starved.push_back(number);
                    }
                    break;
                }
                zones.active += 1;
            }
            let id = zone.held.swap_remove(at);
            zone.pointer += u64::from(sim.request(id).length);
            zone.accepting += 1;
            let filled = zone.pointer == capacity;
            sim.spend(id, Stage::Admit);
            if std::mem::take(&mut sim.request_mut(id).scratch) == HELD {
                self.admitted += 1;
            }
            zones.waiting.push_back(id);
            if filled {
                zones.active -= 1;
                self.feed(sim);
            }
        }
        self.take(sim);
    }

    /// Zones that waited may begin, as far as the limit allows.
    fn feed(&mut self, sim: &mut Sim) {
        while self.zones().active < self.zones().spec.shape.written_most
            && let Some(next) = self.zones().starved.pop_front()
        {
            self.advance(next, sim);
        }
    }

    /// Takes writes into the buffer, in order, as long as there is room.
    fn take(&mut self, sim: &mut Sim) {
        loop {
            let zones = self.zones.as_mut().expect("only a drive with zones asks");
            let Some(&id) = zones.waiting.front() else { return };
            let (offset, length) = (sim.request(id).offset, u64::from(sim.request(id).length));
            let before = sim.request(id).scratch;
            let count = (zones.room - zones.used).min(length - before);
            if count == 0 {
                return;
            }
            let (number, row) = (zones.split(offset).0, zones.row_bytes());
            let zone = &mut zones.all[number as usize];
            let first = zone.taken / row;
            zones.used += count;
            zone.taken += count;
            zone.partial = zone.taken % row;
            let (last, generation) = (zone.taken / row, zone.generation);
            self.counts.bytes_host += count;
            sim.request_mut(id).scratch += count;
            if self.mixed.is_some() {
                self.stamp_pages(offset + before, count, sim.request(id).stamp);
            }
            for row in first..last {
                let (row, since) = (row as u32, sim.now());
                let die = self.zones().die_of(number, row);
                self.give(die, ZoneWork::Row { zone: number, row, generation, since }, sim);
            }
            if before + count == length {
                self.zones().waiting.pop_front();
                sim.spend(id, Stage::Buffer);
                self.complete(id, sim);
                self.taken_of_zone(number, sim);
            }
        }
    }

    /// A write is in the buffer.
    fn taken_of_zone(&mut self, number: u32, sim: &mut Sim) {
        let append = self.zones().spec.append;
        let zone = &mut self.zones().all[number as usize];
        zone.accepting -= 1;
        let (idle, asked) = (zone.accepting == 0, !zone.resets.is_empty());
        let again =
            zone.pointer == self.zones().capacity() && !self.zones().all[number as usize].held.is_empty();
        if !append {
            sim.wake_at(sim.now(), token(ZONE_NEXT, number));
        }
        if idle && asked {
            self.reset(number, sim);
        } else if idle && again {
            self.advance(number, sim);
        }
    }

    /// Sets the stamps of so many bytes from `offset` on.
    fn stamp_pages(&mut self, offset: u64, count: u64, stamp: u32) {
        let shift = self.spec.page_shift;
        let end = offset + count;
        for lpn in offset >> shift..(end + (1 << shift) - 1) >> shift {
            let (page, mixed) = (lpn << shift, self.mixed.as_mut().expect("it was asked for"));
            let (from, until) = (offset.max(page), end.min(page + (1 << shift)));
            let zones = self.zones.as_mut().expect("only a drive with zones asks");
            let old = zones.place(lpn as u32).map_or(0, |(place, _)| zones.stamp(place));
            let stamp = mixed.write(Some(old), (from - page) as u32, (until - from) as u32, stamp);
            zones.set_stamp(lpn as u32, stamp);
        }
    }

    /// Something for a die to do.
    fn give(&mut self, number: u32, work: ZoneWork, sim: &mut Sim) {
        self.zones().queues[number as usize].push_back(work);
        let die = &mut self.dies[number as usize];
        die.dirty = true;
        if die.phase == Phase::Idle {
            self.next(number, sim);
        }
    }

    /// The die does what is next in its queue.
    pub(super) fn zone_work(&mut self, number: u32, sim: &mut Sim) -> bool {
        let row = self.zones().row_bytes() >> self.spec.page_shift;
        let Some(work) = self.zones().queues[number as usize].pop_front() else { return false };
        self.zones().current[number as usize] = Some(work);
        let now = sim.now();
        match work {
            ZoneWork::Row { since, .. } => {
                let loaded = self.transfer(number, row, now);
                self.work(number, Phase::Programming, loaded, self.spec.die.cells.program, since, sim);
            }
            ZoneWork::Erase { .. } => {
                let die = &mut self.dies[number as usize];
                die.erases = die.erases.wrapping_add(1);
                self.work(number, Phase::Resetting, now, self.spec.die.cells.erase, now, sim);
            }
        }
        true
    }

    /// It has done it.
    pub(super) fn zone_worked(&mut self, number: u32, sim: &mut Sim) {
        self.ended(number, sim);
        let zones = self.zones();
        match zones.current[number as usize].take().expect("it did something") {
            ZoneWork::Row { zone, row, generation, .. } => {
                zones.row_done(zone, row, generation);
                self.take(sim);
            }
            ZoneWork::Erase { zone, left } => {
                zones.erased();
                if left > 1 {
                    zones.queues[number as usize].push_front(ZoneWork::Erase { zone, left: left - 1 });
                } else {
                    zones.all[zone as usize].erasing -= 1;
                    self.through_with_reset(zone, Stage::Die, sim);
                }
            }
        }
        self.next(number, sim);
    }

    /// A trim resets the zones that it covers as a whole.
    fn zone_trim(&mut self, id: RequestId, sim: &mut Sim) {
        let (offset, length) = (sim.request(id).offset, u64::from(sim.request(id).length));
        let size = self.zones().spec.shape.size.0;
        let covered = offset.div_ceil(size) as u32..((offset + length) / size) as u32;
        // The trim itself is one more, so that it ends here if all are empty.
        sim.request_mut(id).scratch = covered.len() as u64 + 1;
        for number in covered {
            let zone = &mut self.zones().all[number as usize];
            zone.resets.push(id);
            if !zone.resetting && zone.accepting == 0 {
                self.reset(number, sim);
            }
        }
        self.reset_for(id, sim);
    }

    /// One zone less that a trim waits for.
    fn reset_for(&mut self, id: RequestId, sim: &mut Sim) {
        let left = &mut sim.request_mut(id).scratch;
        *left -= 1;
        if *left == 0 {
            self.complete(id, sim);
        }
    }

    fn reset(&mut self, number: u32, sim: &mut Sim) {
        let now = sim.now();
        let zone = &self.zones().all[number as usize];
        zone.held.iter().for_each(|&id| sim.spend(id, Stage::Admit));
        zone.resets.iter().for_each(|&id| sim.spend(id, Stage::DieWait));
        let erases = self.zones().empty(number, now);
        let until = self.zones().all[number as usize].until;
        if until > now {
            sim.wake_at(until, token(RESET, number));
        }
        let none = erases.is_empty();
        for (die, left) in erases {
            self.give(die, ZoneWork::Erase { zone: number, left }, sim);
        }
        if none {
            self.through_with_reset(number, Stage::Die, sim);
        }
        self.feed(sim);
        self.take(sim);
    }

    /// A reset is through when its erases and its time are.
    pub(super) fn through_with_reset(&mut self, number: u32, stage: Stage, sim: &mut Sim) {
        let zone = &mut self.zones().all[number as usize];
        if !zone.resetting || zone.erasing > 0 {
            return;
        }
        for &id in &zone.resets {
            sim.spend(id, stage);
        }
        if sim.now() < zone.until {
            return;
        }
        zone.resetting = false;
        let resets = std::mem::take(&mut zone.resets);
        for &id in &zone.held {
            sim.spend(id, Stage::DieWait);
        }
        for id in resets {
            self.reset_for(id, sim);
        }
        self.advance(number, sim);
    }
}
