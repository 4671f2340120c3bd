//! Where does an I/O go, of a job whose zones are written from their start on?
//!
//! ```text
//!   zone 0         zone 1         zone 2         a write goes to the pointer of the zone that was drawn,
//!   |######^       |^             |##########^   a read below it
//! ```
//!
//! As fio's `zonemode=zbd` on a target without zones of its own: all are empty when the job starts, and one that is full is
//! emptied by the next write to it, where nothing is to be verified. Each thread keeps its own pointers.

use iostack_model::{Access, Direction, Job, Mix, WritePointers};

use crate::{Op, Region};

/// The zones of all files of one thread.
#[derive(Clone, Debug)]
pub(super) struct Pointers {
    asked: WritePointers,
    region: Region,
    /// Least bytes of an I/O.
    block: u64,
    in_order: bool,
    mixed: bool,
    /// Data that was written stays: it is to be read back.
    keeps: bool,
    files: Vec<Zones>,
}

/// Those of one file, from that in which the region begins.
#[derive(Clone, Debug)]
struct Zones {
    /// Bytes written of each.
    written: Vec<u64>,
    /// Those that may be written, where their number has a limit.
    open: Vec<usize>,
    /// Anything is written.
    begun: bool,
}

/// The region cut to whole zones, which a job that writes works on, as in fio.
pub(super) fn whole_zones(job: &Job, region: Region) -> Region {
    let Some(asked) = job.write_pointers.filter(|_| job.mix != Mix::READ) else { return region };
    let zone = asked.zone.0.max(1);
    let first = region.offset.next_multiple_of(zone);
    let end = region.offset.saturating_add(region.length) / zone * zone;
    Region { offset: first, length: end.saturating_sub(first), ..region }
}

impl Pointers {
    pub(super) fn new(job: &Job, region: Region, files: u16, smallest: u32) -> Option<Pointers> {
        let asked = job.write_pointers?;
        let zone = asked.zone.0.max(1);
        let count = (region.offset + region.length).div_ceil(zone) - region.offset / zone;
        let zones = Zones { written: vec![0; count as usize], open: Vec::new(), begun: false };
        Some(Pointers {
            asked,
            region,
            block: u64::from(smallest),
            in_order: !matches!(job.access, Access::Random { .. }),
            mixed: job.mix.read > 0 && job.mix.write > 0,
            keeps: job.verify.is_some(),
            files: vec![zones; usize::from(files)],
        })
    }

    /// True when an I/O in order comes to what its zone has no room for.
    pub(super) fn passes_over(&self, op: &Op) -> bool {
        let writes = op.direction == Direction::Write as u8;
        self.in_order && writes && op.offset % self.asked.zone.0 >= self.asked.capacity.0
    }

    /// True when a job that also writes would read where there is nothing yet.
    pub(super) fn must_write(&self, op: &Op) -> bool {
        let reads = op.direction == Direction::Read as u8;
        reads && self.mixed && !self.asked.reads_beyond && !self.files[usize::from(op.file)].begun
    }

    /// The operation where its zone takes it; `None` when none does.
    pub(super) fn place(&mut self, op: Op) -> Option<Op> {
        match op.direction {
            direction if direction == Direction::Write as u8 => self.write(op),
            _ if self.asked.reads_beyond => Some(op),
            _ => self.read(op),
        }
    }

    fn start_of(&self, zone: usize) -> u64 {
        (self.region.offset / self.asked.zone.0 + zone as u64) * self.asked.zone.0
    }

    fn zone_at(&self, offset: u64) -> usize {
        (offset / self.asked.zone.0 - self.region.offset / self.asked.zone.0) as usize
    }

    fn write(&mut self, mut op: Op) -> Option<Op> {
        let zone = self.opened(&op)?;
        let (start, capacity, block) = (self.start_of(zone), self.asked.capacity.0, self.block);
        let zones = &mut self.files[usize::from(op.file)];
        let written = &mut zones.written[zone];
        if *written + block > capacity {
            *written = 0;
        }
        zones.begun = true;
        op.offset = start + *written;
        op.length = op.length.min(((capacity - *written) / block * block) as u32);
        *written += u64::from(op.length);
        if *written + block > capacity {
            zones.open.retain(|&open| open != zone);
        }
        Some(op)
    }

    /// The zone that a write goes to: the one that was drawn, or one of those that are open.
    fn opened(&mut self, op: &Op) -> Option<usize> {
        let (drawn, most) = (self.zone_at(op.offset), self.asked.open_most as usize);
        let place = u128::from(op.offset - self.region.offset);
        let region = u128::from(self.region.length);
        let (keeps, room) = (self.keeps, self.asked.capacity.0.saturating_sub(self.block));
        let zones = &mut self.files[usize::from(op.file)];
        let taken = |zone: usize| keeps && zones.written[zone] > room;
        if most > 0 && !zones.open.contains(&drawn) && (zones.open.len() >= most || taken(drawn)) {
            let picked = (place * zones.open.len() as u128 / region) as usize;
            if let Some(&open) = zones.open.get(picked) {
                return Some(open);
            }
        }
        let count = zones.written.len();
        let zone = (0..count).map(|step| (drawn + step) % count).find(|&zone| !taken(zone))?;
        if most > 0 && !zones.open.contains(&zone) {
            zones.open.push(zone);
        }
        Some(zone)
    }

    fn read(&self, mut op: Op) -> Option<Op> {
        let written = &self.files[usize::from(op.file)].written;
        let drawn = self.zone_at(op.offset);
        let within = op.offset - self.start_of(drawn);
        let (has, block) = (|zone: &usize| written[*zone] >= self.block, self.block);
        let behind_it = self.in_order && within + block > written[drawn];
        let zone = if has(&drawn) && !behind_it {
            drawn
        } else {
            // The nearest that has something; in order, the next.
            let near = (1..written.len()).flat_map(|far| {
                let before = drawn.checked_sub(far).filter(|_| !self.in_order);
                [Some(drawn + far).filter(|&zone| zone < written.len()), before]
            });
            let found = near.flatten().find(has)?;
            op.offset = self.start_of(found);
            found
        };
        let (start, range, length) = (self.start_of(zone), written[zone], u64::from(op.length));
        if range <= length {
            op.offset = start;
        } else if !self.in_order {
            op.offset = start + within % (range - length) / block * block;
        }
        op.length = length.min((start + range - op.offset) / block * block) as u32;
        Some(op)
    }
}
