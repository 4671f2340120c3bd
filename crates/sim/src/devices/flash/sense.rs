//! How long does a sense for the host take? As long as the bit of the cell needs, and again while its data cannot be corrected.
//!
//! Pages of a block are of the first to the last bit of its cells in turn (`flash.bits`). A retry takes as long as the sense did. What
//! collection senses is of all kinds of pages: `flash.read`, and no retries.

use iostack_workload::Rng;

use super::buffer::NONE;
use super::die::{Die, Phase};
use super::ssd::{DIE, Ssd};
use crate::devices::parameter::{count_within, time_or};
use crate::engine::{Sim, token};
use crate::ftl::{Ftl, PhysicalPage};
use crate::sheet::{Sheet, SheetError};

/// Stream of the seed for retries.
const RETRIES: u64 = 0x7265_7472;
/// Days for which `flash.retry_retention` is given.
const MONTH: f64 = 30.0;

/// Times of senses that differ.
#[derive(Clone, Debug)]
pub(super) struct Senses {
    /// Times by the bit of the cell, ns.
    times: Vec<u64>,
    /// Share of senses that are made again; more of them for each erase, and for data that was there at the start.
    retry: f64,
    retry_wear: f64,
    retry_old: f64,
    retries_most: u32,
    wear: u32,
    /// Places of each block that were written at the start, and its erases then; empty when age does not matter.
    old: Vec<(u32, u32)>,
    rng: Rng,
}

impl Senses {
    /// `None` when all senses are alike.
    pub(super) fn from_sheet(sheet: &Sheet, seed: u64) -> Result<Option<Senses>, SheetError> {
        let bits = count_within(sheet, "flash.bits", 1, 8)? as usize;
        let usual = sheet.time("flash.read")?.0;
        let mut times = vec![usual; bits];
        for (key, bit) in [("flash.read_last", bits - 1), ("flash.read_first", 0)] {
            times[bit] = time_or(sheet, key, times[bit])?;
            if times[bit] == 0 {
                return Err(sheet.refuse(key, "cells take time", "write it like 25us"));
            }
        }
        let (retry, retry_wear) = (sheet.share("flash.retry")?, sheet.share("flash.retry_wear")? / 1000.0);
        let retry_old = sheet.share("flash.retry_retention")? * sheet.number("flash.retention")? / MONTH;
        if times.iter().all(|&time| time == usual) && retry + retry_wear + retry_old <= 0.0 {
            return Ok(None);
        }
        Ok(Some(Senses {
            times,
            retry,
            retry_wear,
            retry_old,
            retries_most: count_within(sheet, "flash.retry_most", 0, 1 << 10)? as u32,
            wear: count_within(sheet, "flash.wear", 0, 1 << 30)? as u32,
            old: Vec::new(),
            rng: Rng::stream(seed, RETRIES),
        }))
    }

    /// The device starts with this.
    pub(super) fn start(mut self, ftl: &Ftl) -> Senses {
        if self.retry_old > 0.0 {
            self.old = ftl.written_places();
        }
        self
    }

    /// Time of a sense of a page of the flash with this number in its block, for what is at this place.
    fn time(&mut self, number: u32, place: PhysicalPage, ftl: &Ftl) -> u64 {
        let time = self.times[number as usize % self.times.len()];
        let (block, at) = ftl.within_block(place);
        let erases = ftl.erases_of(block);
        let mut share = self.retry + self.retry_wear * (f64::from(self.wear) + f64::from(erases));
        let then = self.old.get(block.0 as usize);
        if then.is_some_and(|&(written, before)| at < written && erases == before) {
            share += self.retry_old;
        }
        let mut senses = 1;
        while share > 0.0 && senses <= u64::from(self.retries_most) && self.rng.unit() < share {
            senses += 1;
        }
        time * senses
    }
}

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
