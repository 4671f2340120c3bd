//! Which reads share a sense? Those of the same flash page, and those of other planes that `flash.multi_plane` allows.
//!
//! A die whose planes are not `independent` takes one page number for all of them: unrelated reads then wait for each other,
//! while neighbours, which were programmed together, still come together if it is `matching`.

use super::buffer::NONE;
use super::die::{Phase, ReadSlot};
use super::spec::ReadsTogether;
use super::ssd::Ssd;
use crate::engine::Time;
use crate::ftl::PhysicalPage;

/// So many reads that wait are looked at for company.
const LOOK_AT: usize = 64;

impl Ssd {
    /// A read may come along with the one that the die has begun: until it ends for the same flash page, and at the same
    /// moment for other planes. True when it did.
    pub(super) fn joins(&mut self, number: u32, id: u32, now: Time) -> bool {
        let die = &self.dies[number as usize];
        if die.phase != Phase::Sensing || !self.shares {
            return false;
        }
        let planes =
            if die.sensing_since == now { self.spec.die.reads_together } else { ReadsTogether::None };
        let Some(last) = self.company(die.active, self.slot_of(id), planes) else { return false };
        self.slot(id).next = NONE;
        self.slot(last).next = id;
        true
    }

    /// Moves reads that share the sense of the first from the queue to those that are served.
    pub(super) fn gather(&mut self, number: u32, first: u32) {
        let erases = self.dies[number as usize].erases;
        let (mut before, mut id) = (NONE, self.dies[number as usize].reads.0);
        for _ in 0..LOOK_AT {
            if id == NONE {
                break;
            }
            let slot = self.slot_of(id);
            let last =
                self.company(first, slot, self.spec.die.reads_together).filter(|_| slot.erases == erases);
            match last {
                Some(last) => {
                    self.unlink_read(number, before, id);
                    self.slot(last).next = id;
                    self.slot(id).next = NONE;
                }
                None => before = id,
            }
            id = slot.next;
        }
    }

    /// The last of a list of reads, if another one may join them: of a flash page that is among them, or, as `planes` allows,
    /// of a plane that is not.
    fn company(&self, mut id: u32, slot: ReadSlot, planes: ReadsTogether) -> Option<u32> {
        let (page, plane) = self.flash_page(slot);
        let (mut same_page, mut may_join, mut last) = (false, planes != ReadsTogether::None, NONE);
        while id != NONE {
            let other = self.slot_of(id);
            if (other.slc, other.table) != (slot.slc, slot.table) {
                return None;
            }
            let (other_page, other_plane) = self.flash_page(other);
            same_page |= page == other_page;
            may_join &= plane != other_plane
                && (planes == ReadsTogether::Any
                    || self.number_in_block(slot, page) == self.number_in_block(other, other_page));
            (last, id) = (id, other.next);
        }
        (same_page || may_join).then_some(last)
    }

    /// The number of a page of the flash in its block, which planes that are not independent must share.
    fn number_in_block(&self, slot: ReadSlot, page: u32) -> u32 {
        if slot.slc {
            page / self.layout.counts.planes
        } else {
            page % (self.spec.pages_per_block / self.spec.unit)
        }
    }

    /// A page of the flash, and its plane.
    fn flash_page(&self, slot: ReadSlot) -> (u32, u32) {
        let page = self.spec.by_unit.quotient(slot.place);
        let plane = if slot.slc {
            page % self.layout.counts.planes
        } else {
            self.ftl.plane_of(PhysicalPage(slot.place))
        };
        (page, plane)
    }

    fn unlink_read(&mut self, number: u32, before: u32, id: u32) {
        let next = self.slot(id).next;
        if before == NONE {
            self.dies[number as usize].reads.0 = next;
        } else {
            self.slot(before).next = next;
        }
        let die = &mut self.dies[number as usize];
        if die.reads.1 == id {
            die.reads.1 = before;
        }
    }
}
