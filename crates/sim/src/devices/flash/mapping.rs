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

use iostack_model::{Bytes, MapUse};

use super::buffer::NONE;
use crate::devices::parameter::{time_or, whole_bytes};
use crate::sheet::{Sheet, SheetError};

/// Bytes of an entry.
const ENTRY: u64 = 4;

/// Numbers of a table that is not all in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapSpec {
    /// Pages of it in the cache, and in the host's memory.
    room: [u32; 2],
    pub(super) host_read: u64,
    pub(super) read: u64,
    pub(super) program: u64,
    pub(super) bytes: u64,
    pub(super) entries: u32,
    /// Pages of it that one program takes.
    pub(super) together: u32,
}

impl MapSpec {
    /// Reads them for a drive whose pages take so long to sense and to program, and whose programs take so many bytes.
    pub(super) fn from_sheet(
        sheet: &Sheet,
        cells: [u64; 2],
        program: u64,
    ) -> Result<Option<MapSpec>, SheetError> {
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
        Ok(Some(MapSpec {
            room,
            host_read: sheet.time("map.host_read")?.0,
            read: time_or(sheet, "map.read", cells[0])?,
            program: time_or(sheet, "map.program", cells[1])?,
            bytes,
            entries: (bytes / ENTRY) as u32,
            together: (program / bytes).max(1) as u32,
        }))
    }
}

/// Place of a page of the table: its newest copy, or one that is as new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Cache = 0,
    Host = 1,
    Flash = 2,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TablePage {
    links: [u32; 2],
    pub(super) held: Held,
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
    pub(super) spec: MapSpec,
    pub(super) pages: Vec<TablePage>,
    recent: [Recent; 2],
    /// Pages whose entries have changed, and of which the table does not know yet.
    pub(super) noted: Vec<u32>,
    /// Dies that were given something to do.
    pub(super) kicked: Vec<u32>,
    pub(super) counts: MapUse,
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
    pub(super) fn take(&mut self, page: u32, changed: bool) -> Option<u32> {
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
