//! What would the drive answer, and when? The simulation, for a clock that goes on by itself.
//!
//! ```text
//!   submit(moment, asked, tag) ──► World ──► next_by(now) ──► (tag, when it was through)
//!                                    └────► due: look again then
//! ```

use iostack_model::Bytes;
use iostack_sim::engine::{Kind, Shape, Time, World};
use iostack_sim::sheet::{Sheet, SheetError};

use crate::DiskRequest;
use crate::volatile::SECTOR;

/// Longest piece that is submitted as one: a trim may be of the whole drive.
const PIECE: u64 = 1 << 30;

/// Pieces of what a store holds already, and how many are under way.
const FILL: u64 = 1 << 20;
const FILL_DEPTH: usize = 32;

/// Bytes that a power cut leaves whole where no number of the sheet says it: a page, in which kernels write.
const ATOM: u64 = 4096;

/// A simulated drive.
pub struct Drive {
    world: World,
    shape: Shape,
    atom: u64,
}

impl Drive {
    /// Builds the drive of a sheet; `seed` decides whatever chance does in it.
    pub fn open(sheet: &Sheet, seed: u64) -> Result<Drive, SheetError> {
        let mut world = World::new();
        let root = iostack_sim::build(sheet, &mut world, seed)?;
        world.set_root(root);
        if world.zones().is_some() {
            let what = "who is served writes anywhere, and zones do not take that";
            return Err(sheet.refuse("zones.size", what, "serve a drive without zones"));
        }
        let shape = world.shape().expect("the first part of a device says its shape");
        world.begin();
        let atom = atom_of(sheet)?.0.max(SECTOR);
        Ok(Drive { world, shape, atom })
    }

    /// Capacity, and smallest unit.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bytes, aligned to themselves, of which a power cut leaves a write whole or undone.
    pub fn atom(&self) -> u64 {
        self.atom
    }

    /// Writes what a store holds already, as fast as the drive takes it; what that did is not counted. Time goes on meanwhile.
    /// `stop` is asked before each piece; false when it ended the filling.
    pub fn fill(&mut self, ranges: &[(u64, u64)], mut stop: impl FnMut() -> bool) -> bool {
        for &(offset, length) in ranges {
            for from in (offset..offset + length).step_by(FILL as usize) {
                if stop() {
                    return false;
                }
                let length = FILL.min(offset + length - from);
                self.submit(0, &DiskRequest { kind: Kind::Write, offset: from, length }, 0);
                while self.world.sim.under_way() > FILL_DEPTH && self.next_by(Time::MAX).is_some() {}
            }
        }
        while self.next_by(Time::MAX).is_some() {}
        self.world.begin();
        true
    }

    /// Submits it at `moment`, or at once if the simulation is beyond that. Gives when that was, and the number of pieces that
    /// will be through, each with this tag. What does not fill its blocks is rounded outwards, as a kernel would read and write them.
    pub fn submit(&mut self, moment: Time, asked: &DiskRequest, tag: u32) -> (Time, u32) {
        self.world.pass(moment);
        if asked.kind == Kind::Flush {
            let id = self.world.sim.submit(Kind::Flush, 0, 0);
            self.world.sim.request_mut(id).user = tag;
            return (self.world.now(), 1);
        }
        let block = self.shape.block.0;
        let (mut offset, end) = (asked.offset / block * block, asked.end().next_multiple_of(block));
        let mut pieces = 0;
        while offset < end {
            let length = (end - offset).min(PIECE);
            let id = self.world.sim.submit(asked.kind, offset, length as u32);
            self.world.sim.request_mut(id).user = tag;
            offset += length;
            pieces += 1;
        }
        (self.world.now(), pieces)
    }

    /// The next piece that is through by `until`: its tag, and when.
    pub fn next_by(&mut self, until: Time) -> Option<(u32, Time)> {
        let id = self.world.next_by(until)?;
        let tag = self.world.sim.request(id).user;
        self.world.sim.release(id);
        Some((tag, self.world.now()))
    }

    /// Moment at which something happens next.
    pub fn due(&mut self) -> Option<Time> {
        self.world.due()
    }

    /// Time has gone on until then, as far as nothing is due before.
    pub fn pass(&mut self, moment: Time) {
        let until = self.world.due().map_or(moment, |due| due.min(moment));
        self.world.pass(until);
    }

    /// Counting starts anew, at this moment.
    pub fn begin(&mut self, moment: Time) {
        self.pass(moment);
        self.world.begin();
    }

    /// All of it, to look at.
    pub fn world(&self) -> &World {
        &self.world
    }
}

/// Bytes that the medium writes whole: flash puts a unit of its mapping elsewhere and then maps it; a disk writes
/// sectors.
fn atom_of(sheet: &Sheet) -> Result<Bytes, SheetError> {
    match sheet.kind.name {
        "flash" => sheet.bytes("flash.mapping"),
        "hdd" => sheet.bytes("hdd.sector"),
        "dram" => sheet.bytes("dram.page"),
        "raid0" => Ok(atom_of(&sheet.device("raid0.member")?)?.min(sheet.bytes("raid0.stripe")?)),
        _ => Ok(Bytes(ATOM)),
    }
}
