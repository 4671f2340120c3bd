//! How long does a sense for the host take? As long as the bit of the cell needs, and again while its data cannot be corrected.
//!
//! Pages of a block are of the first to the last bit of its cells in turn (`flash.bits`). A retry takes as long as the sense did. What
//! collection senses is of all kinds of pages: `flash.read`, and no retries.

use iostack_workload::Rng;

use crate::devices::parameter::{count_within, time_or};
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
    pub(super) fn time(&mut self, number: u32, place: PhysicalPage, ftl: &Ftl) -> u64 {
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
