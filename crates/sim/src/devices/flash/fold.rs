//! How do pages get out of the blocks with one bit a cell?
//!
//! ```text
//!   sense some of the log's first pages, leave ──► program them in other blocks ──► erase when a block of the log is through
//! ```
//!
//! Done by dies that have nothing else to do, and with `slc.full = fold` also when a write finds the log full. Writes then
//! get the room of its last block as it is won: one page for each page that was folded.

use super::die::Phase;
use super::mapping::Mapping;
use super::spec::{PLANES_MAX, ReadsTogether};
use super::ssd::Ssd;
use super::work::PAGE;
use crate::engine::Sim;
use crate::ftl::Stream;

impl Ssd {
    /// Writes wait for the die's log.
    pub(super) fn must_fold(&self, number: u32) -> bool {
        let queue = self.queue_at(number);
        self.slc.is_some() && self.slc_room(number) == 0 && self.writable(queue)
    }

    /// Pages that the die's log takes now: of its last block only as many as were folded.
    pub(super) fn slc_room(&self, number: u32) -> u32 {
        let (Some(slc), Some(spec)) = (&self.slc, &self.spec.slc) else { return 0 };
        let room = slc.room(number, self.ftl.mapped());
        let paced = room <= spec.paced && self.dies[number as usize].fold.earned < PAGE;
        if paced { 0 } else { room }
    }

    /// Goes on folding in a die; false when there is nothing to do, or no room for it.
    pub(super) fn fold(&mut self, number: u32, sim: &mut Sim) -> bool {
        if self.slc.is_none() {
            return false;
        }
        self.fold_program(number, sim) || self.fold_erase(number, sim) || self.fold_sense(number, sim)
    }

    /// Senses what is valid among the next pages of the log.
    fn fold_sense(&mut self, number: u32, sim: &mut Sim) -> bool {
        let slc = self.slc.as_ref().expect("only what is there is folded");
        // Neighbours in the log: their numbers match.
        let alone = self.spec.die.reads_together == ReadsTogether::None;
        let planes = if alone { 1 } else { self.layout.counts.planes };
        let fold = &mut self.dies[number as usize].fold;
        if !fold.held.is_empty() {
            return false;
        }
        while fold.held.is_empty() {
            let block = i64::from(self.spec.slc.expect("it is there").block);
            fold.earned = (fold.earned + i64::from(fold.taken) * PAGE).min(block * PAGE);
            fold.folded += std::mem::take(&mut fold.taken);
            fold.taken = (slc.count(number) - fold.folded).min(self.spec.unit * planes);
            if fold.taken == 0 {
                return self.fold_erase(number, sim);
            }
            let taken = fold.folded..fold.folded + fold.taken;
            fold.held.extend(taken.filter_map(|at| slc.page(number, at)));
        }
        let read = self.spec.slc.expect("it is there").cells.read;
        self.work(number, Phase::FoldSensing, sim.now(), read, sim.now(), sim);
        true
    }

    /// Programs what was read, as far as there is room and it was not overwritten meanwhile.
    fn fold_program(&mut self, number: u32, sim: &mut Sim) -> bool {
        let mut held = std::mem::take(&mut self.dies[number as usize].fold.held);
        let mut filled = [0; PLANES_MAX];
        held.retain(|&(lpn, place)| !self.fold_page(number, lpn, place, &mut filled));
        let planes = self.layout.counts.planes;
        let die = &mut self.dies[number as usize];
        die.fold.held = held;
        let count = u64::from(filled.iter().sum::<u32>());
        if count == 0 {
            return false;
        }
        die.turn = (die.turn + 1) % planes;
        die.collector.spend(count as u32);
        self.program_moved(number, Phase::FoldProgramming, count, sim)
    }

    /// Gives a page of the log a place in another block; false when there is no room for it now.
    fn fold_page(&mut self, number: u32, lpn: u32, place: u32, filled: &mut [u32; PLANES_MAX]) -> bool {
        let slc = self.slc.as_ref().expect("only what is there is folded");
        if slc.find(lpn) != Some(place) {
            return true;
        }
        let stamp = slc.stamp(place);
        let (planes, turn) = (self.layout.planes_of(number), self.dies[number as usize].turn as usize);
        let mut in_turn = (0..planes.len()).map(|step| (step + turn) % planes.len());
        let Some(at) = in_turn.find(|&at| {
            let alone = filled.iter().enumerate().all(|(other, &count)| other == at || count == 0);
            (alone || self.spec.die.writes_together)
                && filled[at] < self.spec.unit
                && (!self.spec.fixed || planes[at] == self.ftl.home(lpn))
                && self.ftl.room(planes[at], Stream::Host)
        }) else {
            return false;
        };
        filled[at] += 1;
        self.slc.as_mut().expect("it was there").forget(lpn);
        let to = self.ftl.write(lpn, planes[at], Stream::Host, stamp);
        self.dies[number as usize].collector.programming.push(to.0);
        Mapping::note(&mut self.mapping, lpn);
        self.counts.folded += 1;
        true
    }

    /// Erases a block of the log that is folded.
    fn fold_erase(&mut self, number: u32, sim: &mut Sim) -> bool {
        let block = self.spec.slc.expect("only what is there is folded").block;
        let die = &mut self.dies[number as usize];
        if !die.fold.held.is_empty() || die.fold.folded < block {
            return false;
        }
        die.erases = die.erases.wrapping_add(1);
        let erase = self.spec.slc.expect("it is there").cells.erase;
        self.work(number, Phase::FoldErasing, sim.now(), erase, sim.now(), sim);
        true
    }

    /// It is erased.
    pub(super) fn fold_erased(&mut self, number: u32, sim: &mut Sim) {
        let block = self.spec.slc.expect("only what is there is folded").block;
        self.dies[number as usize].fold.folded -= block;
        self.slc.as_mut().expect("it is there").release(number, block);
        self.counts.slc_erases += 1;
        self.worked(number, sim);
    }
}
