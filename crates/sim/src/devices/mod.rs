//! Which kinds of device are there? One line each; a new kind adds one file and one line.

mod bucket;
mod dram;
mod flash;
mod hdd;
pub(crate) mod parameter;
mod raid0;
mod zero;

use crate::engine::{PartId, World};
use crate::sheet::{Parameter, Sheet, SheetError};
use crate::{adapter, host};

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// `kind = "flash"` in the file.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The numbers it has.
    pub parameters: &'static [Parameter],
    /// Makes the device, in its state at the start, and adds its parts to the world.
    pub build: fn(&Sheet, &mut World, u64) -> Result<PartId, SheetError>,
}

/// Kinds that are parts of platforms.
const PARTS: [&str; 4] = ["os", "adapter", "fs", "scheduler"];

impl DeviceKind {
    /// It is part of a platform, and answers no I/O by itself.
    pub fn is_part(&self) -> bool {
        PARTS.contains(&self.name)
    }

    /// It may stand at the end of a platform or behind a controller.
    pub(crate) fn is_drive(&self) -> bool {
        !self.is_part() && self.name != host::KIND.name
    }
}

/// All kinds.
pub const KINDS: &[DeviceKind] = &[
    host::KIND,
    host::SYSTEM_KIND,
    host::SCHEDULER_KIND,
    host::FILE_SYSTEM_KIND,
    adapter::KIND,
    zero::KIND,
    flash::KIND,
    dram::KIND,
    hdd::KIND,
    raid0::KIND,
    bucket::KIND,
];

/// Adds the device of a sheet to the world; `seed` decides whatever chance does in it.
pub fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    (sheet.kind.build)(sheet, world, seed)
}
