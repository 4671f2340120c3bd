//! When does a command wait for its entry of the mapping table, and when does a die read or program pages of that? What is at hand:
//! `mapping`.

use iostack_model::Stage;

use super::die::Phase;
use super::mapping::Held;
use super::ssd::{CHORE, MAPPED, Ssd};
use crate::engine::{RequestId, Sim, token};

impl Ssd {
    /// True when a read must wait for its entry of the table.
    pub(super) fn awaits_entry(&mut self, id: RequestId, lpn: u32, sim: &mut Sim) -> bool {
        let Some(mapping) = &mut self.mapping else { return false };
        let (page, spec) = (lpn / mapping.spec.entries, mapping.spec);
        mapping.counts.lookups += 1;
        match mapping.pages[page as usize].held {
            Held::Cache => {
                let gone = mapping.take(page, false);
                debug_assert!(gone.is_none(), "nothing must make room");
                return false;
            }
            Held::Host => {
                mapping.counts.host_hits += 1;
                sim.wake_at(sim.now() + spec.host_read, token(MAPPED, id.0));
            }
            Held::Flash => {
                mapping.counts.misses += 1;
                mapping.counts.pages_read += 1;
                let die = self.die_of_table(page);
                let row = page / self.dies.len() as u32 * self.spec.unit % self.spec.pages_per_block;
                let place = self.ftl.first_of(self.layout.planes_of(die)[0]) + row;
                let slot = self.slot(id.0);
                (slot.place, slot.table, slot.slc, slot.die) = (place, true, false, die as u16);
                self.enqueue(die, id.0, sim);
            }
        }
        true
    }

    /// The entry of a read has come.
    pub(super) fn entry_came(&mut self, id: RequestId, sim: &mut Sim) {
        let lpn = (sim.request(id).offset >> self.spec.page_shift) as u32;
        self.slot(id.0).table = false;
        self.use_entry(lpn, false);
        self.keep_up(sim);
        self.read_mapped(id, lpn, sim);
    }

    /// The entry of a page has changed.
    fn changed(&mut self, lpn: u32) {
        let Some(mapping) = &mut self.mapping else { return };
        let page = lpn / mapping.spec.entries;
        if mapping.pages[page as usize].held == Held::Flash {
            mapping.counts.pages_read += 1;
            let die = self.die_of_table(page);
            self.dies[die as usize].chores.reads += 1;
            self.busy_with_table(die);
        }
        self.use_entry(lpn, true);
    }

    fn use_entry(&mut self, lpn: u32, changed: bool) {
        let Some(mapping) = &mut self.mapping else { return };
        if let Some(gone) = mapping.take(lpn / mapping.spec.entries, changed) {
            mapping.counts.pages_programmed += 1;
            let die = self.die_of_table(gone);
            self.dies[die as usize].chores.programs += 1;
            self.busy_with_table(die);
        }
    }

    fn die_of_table(&self, page: u32) -> u32 {
        page % self.dies.len() as u32
    }

    fn busy_with_table(&mut self, die: u32) {
        self.dies[die as usize].dirty = true;
        self.mapping.iter_mut().for_each(|mapping| mapping.kicked.push(die));
    }

    /// Brings what was noted into the table. Dies that have got something to do for that begin, unless they do something else.
    pub(super) fn keep_up(&mut self, sim: &mut Sim) {
        while let Some(lpn) = self.mapping.as_mut().and_then(|mapping| mapping.noted.pop()) {
            self.changed(lpn);
        }
        let Some(mapping) = &mut self.mapping else { return };
        for die in mapping.kicked.drain(..) {
            sim.wake_at(sim.now(), token(CHORE, die));
        }
    }

    /// Reads or programs pages of the table; false when there is nothing to do.
    pub(super) fn keep_table(&mut self, number: u32, sim: &mut Sim) -> bool {
        let Some(spec) = self.mapping.as_ref().map(|mapping| mapping.spec) else { return false };
        let chores = &mut self.dies[number as usize].chores;
        if chores.reads > 0 {
            chores.reads -= 1;
            let time = spec.read + self.spec.channel.time(spec.bytes);
            self.work(number, Phase::Table, sim.now(), time, sim.now(), sim);
            return true;
        }
        if chores.programs < spec.together {
            return false;
        }
        chores.programs -= spec.together;
        let time = self.spec.channel.time(spec.bytes * u64::from(spec.together));
        let channel = usize::from(self.dies[number as usize].channel);
        let loaded = self.channels[channel].serve(sim.now(), time);
        self.work(number, Phase::Table, loaded, spec.program, sim.now(), sim);
        true
    }

    /// A die that rests looks at what is to be done for the table.
    pub(super) fn chore(&mut self, number: u32, sim: &mut Sim) {
        if self.dies[number as usize].phase == Phase::Idle {
            self.next(number, sim);
        }
    }

    /// The host's memory has answered.
    pub(super) fn mapped(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Link);
        self.entry_came(id, sim);
    }
}
