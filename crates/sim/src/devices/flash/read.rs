//! Where is the page, and when does the die read it?

use iostack_model::Stage;

use super::buffer::{NONE, PageStep};
use super::die::{Moves, Phase, ReadSlot};
use super::ssd::{DIE, INNER, LEFT, MERGED, Ssd};
use crate::engine::{RequestId, Sim, Time, token};
use crate::ftl::PhysicalPage;

impl Ssd {
    /// A read of a page, or of a piece of it.
    #[inline]
    pub(super) fn read(&mut self, id: RequestId, sim: &mut Sim) {
        let lpn = (sim.request(id).offset >> self.spec.page_shift) as u32;
        if let Some(page) = self.buffer.find(lpn) {
            return self.read_buffer(id, page, sim);
        }
        if self.mapping.is_none() || !self.awaits_entry(id, lpn, sim) {
            self.read_mapped(id, lpn, sim);
        }
    }

    /// The same, now that the entry of the mapping table is there.
    #[inline]
    pub(super) fn read_mapped(&mut self, id: RequestId, lpn: u32, sim: &mut Sim) {
        if let Some(die) = self.look_up(id.0, lpn) {
            return self.enqueue(die, id.0, sim);
        }
        // Nothing was ever written there, or the buffer of a zone has it: the firmware answers, cells are not read.
        self.stamp_of_zone(id, lpn, sim);
        self.deliver(id, sim);
    }

    /// The page is in the buffer, whole or soon to be.
    fn read_buffer(&mut self, id: RequestId, page: u32, sim: &mut Sim) {
        let kept = self.buffer.page(page);
        if kept.step == PageStep::Merging {
            let readers = std::mem::replace(&mut kept.readers, id.0);
            self.slot(id.0).next = readers;
            return;
        }
        let stamp = kept.stamp;
        self.stamp_read(id, stamp, sim);
        self.deliver(id, sim);
    }

    /// Answers reads that waited for a merge.
    pub(super) fn answer_readers(&mut self, page: u32, sim: &mut Sim) {
        let kept = self.buffer.page(page);
        let (mut reader, stamp) = (std::mem::replace(&mut kept.readers, NONE), kept.stamp);
        while reader != NONE {
            let next = self.slot(reader).next;
            sim.spend(RequestId(reader), Stage::Die);
            self.stamp_read(RequestId(reader), stamp, sim);
            self.deliver(RequestId(reader), sim);
            reader = next;
        }
    }

    /// Finds a page on flash: its die; the place goes to the slot.
    #[inline]
    pub(super) fn look_up(&mut self, id: u32, lpn: u32) -> Option<u32> {
        if let Some(place) = self.slc.as_ref().and_then(|slc| slc.find(lpn)) {
            let die = self.slc.as_ref().expect("it has the page").die_of(place);
            let slot = self.slot(id);
            (slot.place, slot.slc, slot.die) = (place, true, die as u16);
            return Some(die);
        }
        if let Some(zones) = &self.zones {
            let (place, die) = zones.programmed_place(lpn)?;
            let slot = self.slot(id);
            (slot.place, slot.slc, slot.die) = (place, false, die as u16);
            return Some(die);
        }
        let place = self.ftl.lookup(lpn)?;
        let die = self.layout.die[self.ftl.plane_of(place) as usize];
        let slot = self.slot(id);
        (slot.place, slot.slc, slot.die) = (place.0, false, die);
        Some(u32::from(die))
    }

    /// A read has come to its die.
    #[inline]
    pub(super) fn enqueue(&mut self, number: u32, id: u32, sim: &mut Sim) {
        let now = sim.now();
        let die = &mut self.dies[number as usize];
        let (phase, rank, erases, moved) = (die.phase, die.rank, die.erases, die.moved(now));
        if phase == Phase::Idle {
            self.idle.remove(rank);
        }
        if phase == Phase::Idle && !self.patrols(number, true, sim) {
            let slot = self.slot(id);
            (slot.next, slot.since, slot.moved) = (NONE, now, moved);
            self.dies[number as usize].active = id;
            return self.sense(number, now, sim);
        }
        if self.joins(number, id, now) {
            if self.senses.is_some() {
                self.sense_longer(number, id, sim);
            }
            return;
        }
        let slot = self.slot_of(id);
        if !slot.slc && !slot.table && self.dies[number as usize].collector.holds(slot.place) {
            return self.answer_from_collector(id, sim);
        }
        let slot = self.slot(id);
        (slot.next, slot.since, slot.moved, slot.erases) = (NONE, now, moved, erases);
        let die = &mut self.dies[number as usize];
        let last = std::mem::replace(&mut die.reads.1, id);
        match last {
            NONE => die.reads.0 = id,
            last => self.slot(last).next = id,
        }
        self.suspend(number, sim);
    }

    /// Copy of an entry.
    #[inline]
    pub(super) fn slot_of(&self, id: u32) -> ReadSlot {
        if id & INNER == 0 { self.slots[id as usize] } else { self.inner[(id & !INNER) as usize] }
    }

    /// The page is being moved at this moment: the controller has it.
    fn answer_from_collector(&mut self, id: u32, sim: &mut Sim) {
        let place = self.slot(id).place;
        if id & INNER != 0 {
            return self.merged(id & !INNER, self.stamp_at(place, false), sim);
        }
        self.stamp_from(RequestId(id), place, false, sim);
        self.deliver(RequestId(id), sim);
    }

    /// Takes the reads that a die serves next: the first that waits, and others that share its sense.
    pub(super) fn start_reads(&mut self, number: u32, sim: &mut Sim) -> bool {
        let Some(first) = self.first_read(number, sim) else { return false };
        let slot = self.slot(first);
        slot.next = NONE;
        let since = slot.since;
        let die = &mut self.dies[number as usize];
        die.active = first;
        let (moved, more) = (die.moved(sim.now()), die.reads.0 != NONE);
        if more && self.shares {
            self.gather(number, first);
        }
        self.charge_die_wait(first, moved, sim);
        self.sense(number, since, sim);
        true
    }

    /// The first read that waits. One whose page was moved while it did goes where the page is now.
    fn first_read(&mut self, number: u32, sim: &mut Sim) -> Option<u32> {
        loop {
            let die = &mut self.dies[number as usize];
            let (id, erases) = (die.reads.0, die.erases);
            if id == NONE {
                return None;
            }
            let slot = self.slot_of(id);
            let die = &mut self.dies[number as usize];
            die.reads.0 = slot.next;
            if slot.next == NONE {
                die.reads.1 = NONE;
            }
            if slot.erases == erases {
                return Some(id);
            }
            self.look_again(id, sim);
        }
    }

    /// Blocks were erased while the read waited.
    fn look_again(&mut self, id: u32, sim: &mut Sim) {
        if id & INNER != 0 {
            let lpn = self.buffer.page(id & !INNER).lpn;
            return match self.look_up(id, lpn) {
                Some(die) => self.enqueue(die, id, sim),
                None => self.merged(id & !INNER, 0, sim),
            };
        }
        sim.spend(RequestId(id), Stage::DieWait);
        self.read(RequestId(id), sim);
    }

    /// Charges the wait of reads: to collection and folding as long as they had the die, else to other requests.
    #[inline]
    fn charge_die_wait(&mut self, mut id: u32, moved: Moves, sim: &mut Sim) {
        while id != NONE {
            let slot = self.slot_of(id);
            if id & INNER == 0 {
                let mut until = slot.since;
                for (stage, time) in moved.since(slot.moved) {
                    if time > 0 {
                        until += time;
                        sim.spend_until(RequestId(id), stage, until);
                    }
                }
                sim.spend(RequestId(id), Stage::DieWait);
            }
            id = slot.next;
        }
    }

    /// The die senses what its active reads want.
    #[inline]
    fn sense(&mut self, number: u32, since: Time, sim: &mut Sim) {
        let now = sim.now();
        let time = if self.alike {
            self.spec.die.cells.read
        } else {
            self.sense_time(self.dies[number as usize].active)
        };
        let die = &mut self.dies[number as usize];
        die.turn_to(Phase::Sensing, now);
        die.sensing_since = now;
        die.until = now + time;
        die.account.book(since, now, die.until);
        sim.wake_at(die.until, token(DIE, number));
        self.heat_by(Phase::Sensing, now, time as f64);
    }

    /// The cells are sensed.
    #[inline]
    pub(super) fn sensed(&mut self, number: u32, sim: &mut Sim) {
        let mut id = self.dies[number as usize].active;
        while id != NONE {
            let slot = self.slot_of(id);
            if id & INNER == 0 {
                sim.spend(RequestId(id), Stage::Die);
                if self.mixed.is_some() && !slot.table {
                    self.stamp_from(RequestId(id), slot.place, slot.slc, sim);
                }
            }
            id = slot.next;
        }
        let now = sim.now();
        let die = &mut self.dies[number as usize];
        if die.register_until > now {
            die.phase = Phase::Register;
            die.until = die.register_until;
            die.account.extend(die.until);
            return sim.wake_at(die.until, token(DIE, number));
        }
        self.leave(number, sim);
    }

    /// The data of the die's reads sets out for the controller.
    #[inline]
    pub(super) fn leave(&mut self, number: u32, sim: &mut Sim) {
        let die = &mut self.dies[number as usize];
        let (id, channel) = (die.active, usize::from(die.channel));
        let alone = id & INNER == 0 && {
            let slot = &self.slots[id as usize];
            slot.next == NONE && !slot.table
        };
        let (until, left) = if alone {
            let time = self.spec.channel.time(u64::from(sim.request(RequestId(id)).length));
            let until = self.channels[channel].serve(sim.now(), time);
            sim.wake_at(until, token(LEFT, id));
            (until, 1)
        } else {
            self.leave_together(id, channel, sim)
        };
        let die = &mut self.dies[number as usize];
        die.active = NONE;
        if self.spec.die.cache_register {
            die.register_until = until;
            return self.next(number, sim);
        }
        die.phase = Phase::Leaving;
        die.left = left;
        die.account.extend(until);
    }

    /// Data of a list of reads: when the last has left, and how many there are.
    fn leave_together(&mut self, mut id: u32, channel: usize, sim: &mut Sim) -> (Time, u32) {
        let (mut until, mut left, mut page) = (sim.now(), 0, NONE);
        while id != NONE {
            let slot = self.slot_of(id);
            let host = id & INNER == 0;
            let bytes = match self.spec.mapping {
                Some(mapping) if slot.table => mapping.bytes,
                _ if host => u64::from(sim.request(RequestId(id)).length),
                _ => 1 << self.spec.page_shift,
            };
            // One command for all of a flash page.
            let with_command = std::mem::replace(&mut page, self.spec.by_unit.quotient(slot.place)) != page;
            let command = if with_command { self.spec.channel.command } else { 0 };
            until = self.channels[channel].serve(sim.now(), command + self.spec.channel.data(bytes));
            left += 1;
            let (kind, index) = if host { (LEFT, id) } else { (MERGED, id & !INNER) };
            sim.wake_at(until, token(kind, index));
            id = slot.next;
        }
        (until, left)
    }

    /// Data of a read is out of its die.
    #[inline]
    pub(super) fn left(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Channel);
        let ReadSlot { die, table, .. } = self.slots[id.0 as usize];
        if table {
            self.entry_came(id, sim);
        } else {
            self.deliver(id, sim);
        }
        self.freed(die, sim);
    }

    /// The rest of a page that was written in part is out of its die.
    pub(super) fn piece_left(&mut self, page: u32, sim: &mut Sim) {
        let slot = self.slot_of(page | INNER);
        self.merged(page, self.stamp_at(slot.place, slot.slc), sim);
        self.freed(slot.die, sim);
    }

    /// One less in the die's page register.
    #[inline]
    fn freed(&mut self, number: u16, sim: &mut Sim) {
        if self.spec.die.cache_register {
            return;
        }
        let die = &mut self.dies[usize::from(number)];
        die.left -= 1;
        if die.left == 0 {
            self.next(u32::from(number), sim);
        }
    }

    /// The stamp of the page at a place.
    pub(super) fn stamp_at(&self, place: u32, slc: bool) -> u32 {
        match &self.slc {
            Some(cache) if slc => cache.stamp(place),
            _ if self.zones.is_some() => self.zones.as_ref().map_or(0, |zones| zones.stamp(place)),
            _ => self.ftl.stamp(PhysicalPage(place)),
        }
    }

    /// Sets the stamp of a read that finds its page in the buffer of a zone.
    fn stamp_of_zone(&mut self, id: RequestId, lpn: u32, sim: &mut Sim) {
        if let Some((place, _)) = self.zones.as_ref().and_then(|zones| zones.place(lpn)) {
            self.stamp_from(id, place, false, sim);
        }
    }

    fn stamp_from(&mut self, id: RequestId, place: u32, slc: bool, sim: &mut Sim) {
        let stamp = self.stamp_at(place, slc);
        self.stamp_read(id, stamp, sim);
    }

    /// Sets the stamp that a read finds, where stamps are kept.
    fn stamp_read(&mut self, id: RequestId, stamp: u32, sim: &mut Sim) {
        let Some(mixed) = &self.mixed else { return };
        let start = sim.request(id).offset & ((1 << self.spec.page_shift) - 1);
        let request = sim.request_mut(id);
        request.stamp = mixed.read(stamp, start as u32, request.length);
    }
}
