//! Which part is made for which kind of device? One line each; a new kind adds one file, one line, and its table in
//! `sheet/kinds.toml`.

mod bucket;
mod dram;
mod flash;
mod hdd;
pub(crate) mod parameter;
mod raid;
mod zero;

use crate::sheet::{Sheet, SheetError};

use crate::engine::{PartId, World};

/// Makes the device, in its state at the start, and adds its parts to the world.
type Build = fn(&Sheet, &mut World, u64) -> Result<PartId, SheetError>;

/// Builders by the name of the kind. Other kinds are parts of platforms.
const BUILDS: &[(&str, Build)] = &[
    ("zero", zero::build),
    ("flash", flash::build),
    ("dram", dram::build),
    ("hdd", hdd::build),
    ("raid0", raid::build),
    ("raid", raid::build),
    ("cloud", bucket::build),
];

/// Adds the device of a sheet, which is no platform, to the world; `seed` decides whatever chance does in it.
pub fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let kind = sheet.kind.name;
    let found = BUILDS.iter().find(|(name, _)| *name == kind);
    let (_, build) = found.ok_or_else(|| SheetError {
        place: format!("sim:{}", sheet.name),
        what: format!("a sheet of kind `{kind}` is part of a platform and answers no I/O"),
        remedy: "name a platform or a drive of `iostack sim list`".to_owned(),
    })?;
    build(sheet, world, seed)
}
