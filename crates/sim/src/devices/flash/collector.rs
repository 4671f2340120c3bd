//! How does a die win back blocks?
//!
//! ```text
//!   choose a victim in each plane ──► sense, leave ──► program elsewhere in the plane ──┐
//!                                        ▲──────────── until nothing valid is left ◄────┤
//!                                                                             erase ◄───┘
//! ```
//!
//! One step at a time: after each the die decides anew, so that reads and writes come between. Planes that may work together
//! (`flash.multi_plane`) sense, program and erase together. Data passes through the controller (no copy-back).
//!
//! Writes that wait for blocks are not held up until a whole block is won: moving `v` valid pages of a block of `n` wins room
//! for `n - v`, so that for each page moved `(n - v) / v` may be written there: by the host, or when the SLC cache is folded. A
//! program that takes more than is left owes the rest. Without this (`gc.pacing = "block"`) the dies, which run out of blocks
//! at about the same time, would all stop for seconds on a drive whose victims are nearly full. It takes three free blocks
//! (`gc.free_low`): one that the host may open, one that moved pages may open, one that is being won.

use super::die::Phase;
use super::mapping::Mapping;
use super::spec::ReadsTogether;
use super::ssd::{DIE, Ssd};
use super::work::{Collector, PAGE, PlaneWork};
use crate::engine::{Sim, token};
use crate::ftl::Urgency;

impl Ssd {
    /// Goes on collecting in a die; false when there is nothing to do.
    pub(super) fn collect(&mut self, number: u32, sim: &mut Sim) -> bool {
        loop {
            if self.move_sense(number, sim) || self.move_program(number, sim) || self.erase(number, sim) {
                return true;
            }
            if !self.choose(number) {
                return false;
            }
        }
    }

    /// Chooses victims where blocks are few.
    fn choose(&mut self, number: u32) -> bool {
        let count = self.layout.counts.planes as usize;
        let by_urgency = [Urgency::Foreground, Urgency::Background].into_iter();
        let mut any = false;
        for (urgency, at) in by_urgency.flat_map(|urgency| (0..count).map(move |at| (urgency, at))) {
            let plane = self.layout.planes_of(number)[at];
            if self.ftl.urgency(plane) != urgency {
                continue;
            }
            if any && !self.spec.die.writes_together {
                break;
            }
            let Some(victim) = self.ftl.victim(plane) else { continue };
            let (pages, valid) = (self.ftl.block_pages(), i64::from(self.ftl.valid_pages(victim)));
            let Collector { planes: works, earned, .. } = &mut self.dies[number as usize].collector;
            // A block without valid pages is won by an erase alone.
            let won = if valid == 0 { pages * PAGE } else { 0 };
            *earned = (*earned + won).min(pages * PAGE);
            let work = &mut works[at];
            (work.victim, work.cursor, work.ahead, work.drained) = (Some(victim), 0, None, false);
            work.gain = ((pages - valid) * PAGE).checked_div(valid).unwrap_or(0);
            any = true;
        }
        any
    }

    /// Senses the next flash page with valid data, in each plane that has no flash page full of them yet.
    fn move_sense(&mut self, number: u32, sim: &mut Sim) -> bool {
        // The valid pages of two victims have different numbers.
        let (unit, together) = (self.spec.unit, self.spec.die.reads_together == ReadsTogether::Any);
        let collector = &mut self.dies[number as usize].collector;
        collector.sensed = 0;
        for work in &mut collector.planes {
            let Some(victim) = work.victim.filter(|_| !work.drained && work.held.len() < unit as usize)
            else {
                continue;
            };
            let mut sensed = None;
            loop {
                let ahead = work.ahead.take().filter(|&ahead| self.ftl.is_valid(ahead));
                let Some((lpn, place)) = ahead.or_else(|| self.ftl.next_valid(victim, &mut work.cursor))
                else {
                    work.drained = true;
                    break;
                };
                let page = self.spec.by_unit.quotient(place.0);
                if *sensed.get_or_insert(page) != page {
                    work.ahead = Some((lpn, place));
                    break;
                }
                work.held.push_back((lpn, place));
                collector.sensed += 1;
            }
            if !together && collector.sensed > 0 {
                break;
            }
        }
        if collector.sensed == 0 {
            return false;
        }
        self.work(number, Phase::MoveSensing, sim.now(), self.spec.die.cells.read, sim.now(), sim);
        true
    }

    /// Sensed pages, to be moved or folded, leave for the controller.
    pub(super) fn pages_sensed(&mut self, number: u32, sim: &mut Sim) {
        let die = &self.dies[number as usize];
        let folds = die.phase == Phase::FoldSensing;
        let pages = if folds { die.fold.held.len() as u64 } else { die.collector.sensed };
        let until = self.transfer(number, pages, sim.now());
        let die = &mut self.dies[number as usize];
        die.turn_to(if folds { Phase::FoldLeaving } else { Phase::MoveLeaving }, sim.now());
        die.until = until;
        die.account.extend(until);
        sim.wake_at(until, token(DIE, number));
    }

    /// Programs a flash page of moved data in each plane, less what was overwritten meanwhile.
    fn move_program(&mut self, number: u32, sim: &mut Sim) -> bool {
        let die = &mut self.dies[number as usize];
        let most = self.ftl.block_pages() * PAGE;
        let Collector { planes, programming, earned, .. } = &mut die.collector;
        for work in planes {
            let mut count = 0;
            while count < self.spec.unit
                && let Some((lpn, from)) = work.held.pop_front()
            {
                *earned = (*earned + work.gain).min(most);
                if let Some(place) = self.ftl.relocate(lpn, from) {
                    programming.push(place.0);
                    Mapping::note(&mut self.mapping, lpn);
                    count += 1;
                }
            }
            if count > 0 && !self.spec.die.writes_together {
                break;
            }
        }
        if programming.is_empty() {
            return false;
        }
        let pages = programming.len() as u64;
        self.program_moved(number, Phase::MoveProgramming, pages, sim)
    }

    /// Programs so many moved or folded pages.
    pub(super) fn program_moved(&mut self, number: u32, phase: Phase, pages: u64, sim: &mut Sim) -> bool {
        let loaded = self.transfer(number, pages, sim.now());
        self.work(number, phase, loaded, self.spec.die.cells.program, sim.now(), sim);
        self.keep_up(sim);
        true
    }

    /// Moved pages are on flash.
    pub(super) fn move_programmed(&mut self, number: u32, sim: &mut Sim) {
        self.dies[number as usize].collector.programming.clear();
        self.worked(number, sim);
    }

    /// Erases the victims that hold nothing any more.
    fn erase(&mut self, number: u32, sim: &mut Sim) -> bool {
        let die = &mut self.dies[number as usize];
        let done = |work: &PlaneWork| work.victim.is_some() && work.drained && work.held.is_empty();
        if !die.collector.planes.iter().any(done) {
            return false;
        }
        die.erases = die.erases.wrapping_add(1);
        self.work(number, Phase::Erasing, sim.now(), self.spec.die.cells.erase, sim.now(), sim);
        true
    }

    /// They are erased.
    pub(super) fn erased(&mut self, number: u32, sim: &mut Sim) {
        for work in &mut self.dies[number as usize].collector.planes {
            if work.drained && work.held.is_empty() {
                let victim = work.victim.take();
                work.drained = false;
                self.ftl.erase(victim.expect("what is drained is a victim"));
            }
        }
        self.worked(number, sim);
    }
}
