//! Is the entry of the mapping table that a command needs at hand, or on flash?
//!
//! A drive with no DRAM for its whole table keeps the pages of it that were used last in a cache (`map.cache`), and more of them in the
//! memory of the host (`map.host_buffer`), a read over the link away. A read whose entry is in neither senses that page of the
//! table first.
//!
//! What changes an entry (a program, a move, a trim) does so in the cache. A page that is not there is read, and one that must make
//! room is programmed when it was changed, each by its die and before that programs what the host wrote; as many changed pages at
//! once as a program takes. Reading for a change keeps the die busy, but not its channel. DFTL (Gupta et al., ASPLOS 2009) is the
//! scheme; entries are 4 bytes long.

use iostack_model::{Bytes, MapUse, Stage};

use super::buffer::NONE;
use super::die::Phase;
use super::spec::Spec;
use super::ssd::{CHORE, MAPPED, Ssd};
use crate::devices::parameter::whole_bytes;
use crate::engine::{RequestId, Sim, token};
use crate::sheet::{Sheet, SheetError};

/// Bytes of an entry.
const ENTRY: u64 = 4;

/// Numbers of a table that is not all in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapSpec {
    /// Pages of it in the cache, and in the host's memory.
    room: [u32; 2],
    host_read: u64,
    pub(super) read: u64,
    program: u64,
    pub(super) bytes: u64,
    entries: u32,
    /// Pages of it that one program takes.
    together: u32,
}

impl MapSpec {
    pub(super) fn from_sheet(sheet: &Sheet, spec: &Spec) -> Result<Option<MapSpec>, SheetError> {
        if !sheet.has("map.cache") {
            return Ok(None);
        }
        let bytes = whole_bytes(sheet, "map.page", 512)?;
        let room = |key: &str| {
            let pages = if sheet.has(key) { sheet.bytes(key)?.0 / bytes } else { 0 };
            Ok::<u32, SheetError>(pages.min(u64::from(u32::MAX >> 1)) as u32)
        };
        let room = [room("map.cache")?, room("map.host_buffer")?];
        if room[0] == 0 {
            return Err(sheet.refuse("map.cache", "it holds no page of the table", "give at least map.page"));
        }
        let time = |key: &str, usual: u64| if sheet.has(key) { Ok(sheet.time(key)?.0) } else { Ok(usual) };
        let cells = spec.die.cells;
        Ok(Some(MapSpec {
            room,
            host_read: sheet.time("map.host_read")?.0,
            read: time("map.read", cells.read)?,
            program: time("map.program", cells.program)?,
            bytes,
            entries: (bytes / ENTRY) as u32,
            together: ((u64::from(spec.group()) << spec.page_shift) / bytes).max(1) as u32,
        }))
    }
}

/// Place of a page of the table: its newest copy, or one that is as new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Cache = 0,
    Host = 1,
    Flash = 2,
}

#[derive(Clone, Copy, Debug)]
struct TablePage {
    links: [u32; 2],
    held: Held,
    changed: bool,
}

/// Pages in order of their last use: the last used, that used longest ago, and how many.
#[derive(Clone, Copy, Debug)]
struct Recent {
    ends: [u32; 2],
    count: u32,
}

/// The part of the table that is at hand.
pub(super) struct Mapping {
    spec: MapSpec,
    pages: Vec<TablePage>,
    recent: [Recent; 2],
    /// Pages whose entries have changed, and of which the table does not know yet.
    noted: Vec<u32>,
    /// Dies that were given something to do.
    kicked: Vec<u32>,
    counts: MapUse,
}

impl Mapping {
    /// A table whose first pages are there at the start: under reads of any, these are as good as others.
    pub(super) fn new(spec: MapSpec, capacity: u64, page_shift: u32) -> Mapping {
        let count = (capacity >> page_shift).div_ceil(u64::from(spec.entries)) as usize;
        let page = TablePage { links: [NONE; 2], held: Held::Flash, changed: false };
        let recent = [Recent { ends: [NONE; 2], count: 0 }; 2];
        let counts = MapUse { page: Bytes(spec.bytes), ..MapUse::default() };
        let mut mapping =
            Mapping { spec, pages: vec![page; count], recent, noted: Vec::new(), kicked: Vec::new(), counts };
        let known = u64::from(spec.room[0]) + u64::from(spec.room[1]);
        for page in 0..known.min(count as u64) as u32 {
            mapping.take(page, false);
        }
        mapping
    }

    pub(super) fn begin(&mut self) {
        self.counts = MapUse { page: self.counts.page, ..MapUse::default() };
    }

    /// The entry of a page changes, in the table of a drive that has not all of it in memory.
    #[inline]
    pub(super) fn note(mapping: &mut Option<Mapping>, lpn: u32) {
        if let Some(mapping) = mapping {
            mapping.noted.push(lpn);
        }
    }

    pub(super) fn counts(&self) -> MapUse {
        self.counts.clone()
    }

    /// The page is used: now it is in the cache. Another that was changed and is nowhere now.
    fn take(&mut self, page: u32, changed: bool) -> Option<u32> {
        self.pages[page as usize].changed |= changed;
        if self.recent[0].ends[0] == page {
            return None;
        }
        let mut comes = page;
        for (to, room) in [(Held::Cache, self.spec.room[0]), (Held::Host, self.spec.room[1])] {
            self.leave(comes);
            if room == 0 {
                break;
            }
            self.enter(comes, to);
            let recent = self.recent[to as usize];
            if recent.count <= room {
                return None;
            }
            comes = recent.ends[1];
        }
        self.leave(comes);
        std::mem::take(&mut self.pages[comes as usize].changed).then_some(comes)
    }

    fn enter(&mut self, page: u32, to: Held) {
        let recent = &mut self.recent[to as usize];
        let next = std::mem::replace(&mut recent.ends[0], page);
        recent.count += 1;
        match next {
            NONE => recent.ends[1] = page,
            next => self.pages[next as usize].links[0] = page,
        }
        let entry = &mut self.pages[page as usize];
        (entry.links, entry.held) = ([NONE, next], to);
    }

    fn leave(&mut self, page: u32) {
        let TablePage { links: [before, next], held, .. } = self.pages[page as usize];
        let Some(recent) = self.recent.get_mut(held as usize) else { return };
        recent.count -= 1;
        match before {
            NONE => recent.ends[0] = next,
            before => self.pages[before as usize].links[1] = next,
        }
        match next {
            NONE => recent.ends[1] = before,
            next => self.pages[next as usize].links[0] = before,
        }
        self.pages[page as usize].held = Held::Flash;
    }
}

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
