//! What does an SSD do? A command queue, a link, firmware, channels and dies, under a translation layer.
//!
//! Start reading at `ssd.rs`.

mod buffer;
mod collector;
mod company;
mod die;
mod fold;
mod heat;
mod layout;
mod lookup;
mod mapping;
mod mixed;
mod patrol;
mod read;
mod retry;
mod schedule;
mod sense;
mod slc;
mod spec;
mod ssd;
mod way;
mod work;
mod write;
mod zone_spec;
mod zoned;
mod zones;

use crate::sheet::{Sheet, SheetError};

use crate::engine::{PartId, World};
use crate::ftl::{Ftl, Making};
use spec::Spec;
use ssd::Ssd;

pub(super) fn build(sheet: &Sheet, world: &mut World, seed: u64) -> Result<PartId, SheetError> {
    let spec = Spec::from_sheet(sheet, seed, world.sim.keeps_stamps())?;
    let mut ftl = Ftl::new(&spec.ftl)
        .map_err(|remedy| sheet.refuse("flash.over_provisioning", "this flash cannot work", &remedy))?;
    // Zones keep account of their own pages.
    let mapped = spec.zones.is_none();
    let formula = mapped.then(|| ftl.precondition(spec.state, Making::Auto)).flatten();
    Ok(world.add(Box::new(Ssd::new(spec, ftl, formula))))
}
