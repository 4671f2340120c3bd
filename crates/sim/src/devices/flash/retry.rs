//! How long does a die sense for what it was given? As long as the page takes that takes longest; times of single pages: `sense`.

use super::buffer::NONE;
use super::die::{Die, Phase};
use super::ssd::{DIE, Ssd};
use crate::engine::{Sim, token};
use crate::ftl::PhysicalPage;

impl Ssd {
    /// Time of a sense for these reads, of a drive whose senses are not all alike: that of the page which takes longest.
    pub(super) fn sense_time(&mut self, first: u32) -> u64 {
        let slot = self.slot_of(first);
        match (&self.spec.slc, &self.spec.mapping) {
            (Some(slc), _) if slot.slc => slc.cells.read,
            (_, Some(mapping)) if slot.table => mapping.read,
            _ if self.senses.is_none() => self.spec.die.cells.read,
            _ => self.longest_sense(first),
        }
    }

    fn longest_sense(&mut self, first: u32) -> u64 {
        let (mut longest, mut id) = (0, first);
        while id != NONE {
            longest = longest.max(self.sense_of(first, id));
            id = self.slot_of(id).next;
        }
        longest
    }

    /// Time of a sense for one of a list of reads; 0 when one before it wants the same page of the flash.
    fn sense_of(&mut self, first: u32, id: u32) -> u64 {
        let place = self.slot_of(id).place;
        let page = self.spec.by_unit.quotient(place);
        let mut other = first;
        while other != id {
            let slot = self.slot_of(other);
            if self.spec.by_unit.quotient(slot.place) == page {
                return 0;
            }
            other = slot.next;
        }
        let number = page % (self.spec.pages_per_block / self.spec.unit);
        let senses = self.senses.as_mut().expect("senses differ");
        senses.time(number, PhysicalPage(place), &self.ftl)
    }

    /// A read has come along with a sense that begins at this moment: it may make it longer.
    pub(super) fn sense_longer(&mut self, number: u32, id: u32, sim: &mut Sim) {
        let now = sim.now();
        let Die { sensing_since, active, until: before, .. } = self.dies[number as usize];
        let slot = self.slot_of(id);
        if slot.slc || slot.table || sensing_since != now {
            return;
        }
        let until = now + self.sense_of(active, id);
        if until > before {
            let die = &mut self.dies[number as usize];
            die.until = until;
            die.account.extend(until);
            sim.wake_at(until, token(DIE, number));
            self.heat_by(Phase::Sensing, now, (until - before) as f64);
        }
    }
}
