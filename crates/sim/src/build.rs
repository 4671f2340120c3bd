//! What is made of a sheet? A machine with drives, or a drive alone.

use crate::sheet::{Sheet, SheetError};

use crate::engine::{PartId, World};
use crate::{devices, host};

/// Adds what the sheet describes to the world; `seed` decides whatever chance does in it.
pub fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let build = if sheet.kind.name == "platform" { host::build } else { devices::build };
    build(sheet, world, seed)
}
