//! Where does a page of a zone lie, and how far is each zone written?
//!
//! ```text
//!   zone:   | row 0 | row 1 | .. | row k-1 | row k | ..     a row is what one program of a die takes
//!   die:        0       1    ..      k-1       0            of the `zones.dies` that the zone lies on
//! ```
//!
//! A zone has blocks of its own on its dies. It is written from its start on, a row at a time as the write buffer has it
//! whole, and is emptied as a whole: nothing is ever moved. What the drive does with it is in `zoned.rs`.

use std::collections::VecDeque;

use iostack_model::{Bytes, FlashUse, Gauge};

use super::layout::Layout;
use super::spec::Spec;
use super::zone_spec::ZonesSpec;
use crate::engine::{RequestId, Time};

/// A zone, as far as it is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Zone {
    /// The write pointer: where the next write must begin, from the start of the zone.
    pub(super) pointer: u64,
    /// Bytes of writes that are in the buffer or on flash.
    pub(super) taken: u64,
    /// Bytes of a row in the buffer that is not whole.
    pub(super) partial: u64,
    /// Writes whose turn has come and that are not all in the buffer.
    pub(super) accepting: u32,
    /// Writes that came before those that lie before them, or while the zone is reset.
    pub(super) held: Vec<RequestId>,
    /// Writes that the host keeps back until the one that is in the drive is answered.
    pub(super) kept_back: VecDeque<RequestId>,
    pub(super) busy: bool,
    /// Rows that are all programmed, and which of those behind them are.
    base: u32,
    done: VecDeque<bool>,
    /// Trims that wait for the reset.
    pub(super) resets: Vec<RequestId>,
    /// Dies that still have blocks of it to erase, and the moment before which the reset is not through.
    pub(super) erasing: u32,
    pub(super) until: Time,
    pub(super) resetting: bool,
    /// Number of resets so far.
    pub(super) generation: u32,
}

/// Something that a die does for a zone.
#[derive(Clone, Copy, Debug)]
pub(super) enum ZoneWork {
    /// Programs a row, which came into the buffer whole at that moment.
    Row { zone: u32, row: u32, generation: u32, since: Time },
    /// Erases in so many steps.
    Erase { zone: u32, left: u32 },
}

/// All zones, and what dies do for them.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    pub(super) spec: ZonesSpec,
    pub(super) all: Vec<Zone>,
    /// Work of each die, in order, and what it does at present.
    pub(super) queues: Vec<VecDeque<ZoneWork>>,
    pub(super) current: Vec<Option<ZoneWork>>,
    /// Writes whose turn has come, in order, and bytes that the buffer has and may have.
    pub(super) waiting: VecDeque<RequestId>,
    pub(super) used: u64,
    pub(super) room: u64,
    /// Zones that are partly written, and those that wait until there are fewer.
    pub(super) active: u32,
    pub(super) starved: VecDeque<u32>,
    /// Dies in the order of allocation, and planes of each.
    order: Vec<u16>,
    planes: Vec<u32>,
    plane_count: u32,
    together: bool,
    unit: u32,
    page_shift: u32,
    pages_per_block: u32,
    blocks_per_plane: u32,
    /// Stamp of each physical page, where stamps are kept.
    stamps: Vec<u32>,
    /// Pages programmed and blocks erased since the beginning of measuring, and erases ever.
    pub(super) programmed: u64,
    pub(super) erases: u64,
    wear: u64,
}

impl Zones {
    pub(super) fn new(spec: &Spec, zones: &ZonesSpec) -> Zones {
        let Layout { order, counts, .. } = &spec.layout;
        let dies = order.len();
        let geometry = &spec.ftl.geometry;
        let mut all = Zones {
            all: vec![Zone::default(); zones.count as usize],
            queues: vec![VecDeque::new(); dies],
            current: vec![None; dies],
            waiting: VecDeque::new(),
            used: 0,
            room: u64::from(spec.buffer.unwrap_or(0)) << spec.page_shift,
            active: 0,
            starved: VecDeque::new(),
            order: order.clone(),
            planes: (0..dies as u32).flat_map(|die| spec.layout.planes_of(die).to_vec()).collect(),
            plane_count: counts.planes,
            together: spec.die.writes_together,
            unit: spec.unit,
            page_shift: spec.page_shift,
            pages_per_block: spec.pages_per_block,
            blocks_per_plane: geometry.blocks_per_plane,
            stamps: vec![0; if spec.ftl.stamps { geometry.pages() as usize } else { 0 }],
            programmed: 0,
            erases: 0,
            wear: 0,
            spec: zones.clone(),
        };
        if spec.state != crate::ftl::StartState::Fresh {
            let (capacity, rows) = (all.capacity(), all.rows());
            let full = Zone { pointer: capacity, taken: capacity, base: rows, ..Zone::default() };
            all.all.fill(full);
        }
        all
    }

    pub(super) fn capacity(&self) -> u64 {
        self.spec.shape.capacity.0
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> u64 {
        u64::from(self.row_pages()) << self.page_shift
    }

    fn row_pages(&self) -> u32 {
        self.unit * if self.together { self.plane_count } else { 1 }
    }

    fn rows(&self) -> u32 {
        (self.capacity() / self.row_bytes()) as u32
    }

    /// The zone of an offset, and the place in it.
    pub(super) fn split(&self, offset: u64) -> (u32, u64) {
        let size = self.spec.shape.size.0;
        ((offset / size) as u32, offset % size)
    }

    /// The die of a row.
    pub(super) fn die_of(&self, zone: u32, row: u32) -> u32 {
        let dies = self.spec.dies;
        let groups = self.order.len() as u32 / dies;
        u32::from(self.order[(zone % groups * dies + row % dies) as usize])
    }

    /// The physical page of a mapped page and its die; `None` behind the capacity of its zone.
    pub(super) fn place(&self, lpn: u32) -> Option<(u32, u32)> {
        let (zone, within) = self.split(u64::from(lpn) << self.page_shift);
        if within >= self.capacity() {
            return None;
        }
        let page = (within >> self.page_shift) as u32;
        let row = page / self.row_pages();
        let (die, turn) = (self.die_of(zone, row), row / self.spec.dies);
        // Rows of one plane go round the planes.
        let (plane, number) = if self.together {
            (page / self.unit % self.plane_count, turn)
        } else {
            (turn % self.plane_count, turn / self.plane_count)
        };
        let groups = self.order.len() as u32 / self.spec.dies;
        let in_block = self.pages_per_block / self.unit;
        let block = zone / groups * self.spec.blocks + number / in_block;
        let plane = self.planes[(die * self.plane_count + plane) as usize];
        let first = (plane * self.blocks_per_plane + block) * self.pages_per_block;
        Some((first + number % in_block * self.unit + page % self.unit, die))
    }

    /// The same of a page that is on flash and not in the buffer.
    pub(super) fn programmed_place(&self, lpn: u32) -> Option<(u32, u32)> {
        let (zone, within) = self.split(u64::from(lpn) << self.page_shift);
        let zone = &self.all[zone as usize];
        let row = (within / self.row_bytes()) as u32;
        let behind = row.checked_sub(zone.base);
        let done = behind.is_none_or(|behind| zone.done.get(behind as usize) == Some(&true));
        if done { self.place(lpn) } else { None }
    }

    /// A row is programmed.
    pub(super) fn row_done(&mut self, zone: u32, row: u32, generation: u32) {
        self.used -= self.row_bytes();
        self.programmed += u64::from(self.row_pages());
        let zone = &mut self.all[zone as usize];
        if zone.generation != generation {
            return;
        }
        let behind = (row - zone.base) as usize;
        zone.done.resize(zone.done.len().max(behind + 1), false);
        zone.done[behind] = true;
        while zone.done.front() == Some(&true) {
            zone.done.pop_front();
            zone.base += 1;
        }
    }

    /// Stamp of a physical page; 0 without stamps.
    pub(super) fn stamp(&self, place: u32) -> u32 {
        self.stamps.get(place as usize).copied().unwrap_or(0)
    }

    /// Sets it, of a mapped page.
    pub(super) fn set_stamp(&mut self, lpn: u32, stamp: u32) {
        if let Some((place, _)) = self.place(lpn)
            && let Some(kept) = self.stamps.get_mut(place as usize)
        {
            *kept = stamp;
        }
    }

    /// The zone is empty from now on: the die and the steps of each erase that it takes. What waits in the buffer for the rest
    /// of its row goes.
    pub(super) fn empty(&mut self, number: u32, now: Time) -> Vec<(u32, u32)> {
        let row_bytes = self.row_bytes();
        let Zone { taken, partial, pointer, .. } = self.all[number as usize];
        if !self.stamps.is_empty() {
            let first = u64::from(number) * self.spec.shape.size.0;
            for offset in (first..first + taken).step_by(1 << self.page_shift) {
                self.set_stamp((offset >> self.page_shift) as u32, 0);
            }
        }
        if pointer > 0 && pointer < self.capacity() {
            self.active -= 1;
        }
        self.used -= partial;
        let until = now + if taken > 0 { self.spec.reset_time(taken) } else { 0 };
        let rows = (taken / row_bytes) as u32;
        let dies = self.spec.dies.min(rows);
        let erases = (0..dies).map(|first| {
            (self.die_of(number, first), self.erase_steps((rows - first).div_ceil(self.spec.dies)))
        });
        let erases: Vec<(u32, u32)> = erases.collect();
        let zone = &mut self.all[number as usize];
        (zone.pointer, zone.taken, zone.partial, zone.base) = (0, 0, 0, 0);
        zone.done.clear();
        zone.generation += u32::from(rows > 0);
        (zone.resetting, zone.erasing, zone.until) = (true, dies, until);
        erases
    }

    /// Erases of a die that has so many rows of a zone.
    fn erase_steps(&self, rows: u32) -> u32 {
        let in_block = self.pages_per_block / self.unit;
        if self.together {
            return rows.div_ceil(in_block);
        }
        let of_plane = |plane| (rows.saturating_sub(plane)).div_ceil(self.plane_count).div_ceil(in_block);
        (0..self.plane_count).map(of_plane).sum()
    }

    /// A die has erased: blocks of all its planes, or one.
    pub(super) fn erased(&mut self) {
        let blocks = u64::from(if self.together { self.plane_count } else { 1 });
        self.erases += blocks;
        self.wear += blocks;
    }

    /// Zones that nobody writes are full from now on: those who write next begin each with its start.
    pub(super) fn finish(&mut self) {
        let capacity = self.capacity();
        for zone in &mut self.all {
            let partly = zone.pointer > 0 && zone.pointer < capacity;
            if partly && !zone.resetting && zone.accepting == 0 && zone.held.is_empty() {
                self.used -= std::mem::take(&mut zone.partial);
                self.active -= 1;
                zone.pointer = capacity;
            }
        }
    }

    /// Pages that hold data, and blocks that hold none.
    fn mapped(&self) -> (u64, u64) {
        let mut blocks = self.order.len() as u64 * u64::from(self.plane_count * self.blocks_per_plane);
        let mut bytes = 0;
        for zone in &self.all {
            let rows = (zone.taken / self.row_bytes()) as u32;
            let dies = self.spec.dies;
            let steps = |first: u32| u64::from(self.erase_steps((rows - first).div_ceil(dies)));
            let each = if self.together { u64::from(self.plane_count) } else { 1 };
            blocks -= (0..dies.min(rows)).map(steps).sum::<u64>() * each;
            bytes += zone.taken;
        }
        (bytes >> self.page_shift, blocks)
    }

    /// Counts begin anew: measuring starts.
    pub(super) fn begin(&mut self) {
        (self.programmed, self.erases) = (0, 0);
    }

    pub(super) fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        list.push((Gauge::FREE_BLOCKS, self.mapped().1 as f64));
        list.push((Gauge::BUFFERED_PAGES, (self.used >> self.page_shift) as f64));
        list.push(("active zones", f64::from(self.active)));
    }

    /// Counts since the beginning of measuring; the host wrote so many bytes.
    pub(super) fn counts(&self, bytes_host: u64) -> FlashUse {
        let blocks = self.order.len() as u64 * u64::from(self.plane_count * self.blocks_per_plane);
        let usable = (self.all.len() as u64 * self.capacity()) >> self.page_shift;
        let (pages_mapped, blocks_free) = self.mapped();
        let wear_mean = self.wear as f64 / blocks as f64;
        let most = self.all.iter().map(|zone| zone.generation).max().unwrap_or(0);
        FlashUse {
            page: Bytes(1 << self.page_shift),
            bytes_host: Bytes(bytes_host),
            pages_host: self.programmed,
            pages_programmed: self.programmed,
            erases: self.erases,
            over_provisioning: (blocks * u64::from(self.pages_per_block)) as f64 / usable as f64 - 1.0,
            blocks,
            blocks_free,
            pages_mapped,
            wear_mean,
            wear_max: most,
            ..FlashUse::default()
        }
        .with_factors()
    }
}
