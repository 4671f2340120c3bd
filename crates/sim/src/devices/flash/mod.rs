//! What does an SSD do? A command queue, a link, a controller, channels, dies, and flash management on top.

mod parameters;

use super::DeviceKind;
use crate::engine::{PartId, World};
use crate::sheet::{Sheet, SheetError};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "flash",
    about: "an SSD: link, controller, channels and dies under a page-mapped translation layer",
    parameters: parameters::PARAMETERS,
    build,
};

fn build(sheet: &Sheet, _world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    Err(sheet.refuse("flash.capacity", "flash devices do not run yet", "wait"))
}
