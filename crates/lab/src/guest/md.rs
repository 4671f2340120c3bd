//! Several disks are one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::near_side::failed;
use crate::Raid;
use crate::sys::guest as sys;

/// The disk that comes of it.
const NAME: &str = "md0";
const MAKE: &str = "/sys/module/md_mod/parameters/new_array";

/// An array of these disks, without a superblock and in step; gives its name.
pub(super) fn build(raid: Raid, disks: &[String]) -> Result<String, String> {
    fs::write(MAKE, NAME).map_err(failed("write to", MAKE))?;
    let path = Path::new("/dev").join(NAME);
    let array = File::open(&path).map_err(failed("open", &path))?;
    let made = |done: io::Result<()>| done.map_err(failed("make a RAID of", &path));
    let count = disks.len() as u32;
    made(sys::array_shape(&array, raid.level, count, raid.layout(), raid.chunk_bytes()))?;
    for (number, disk) in (0..).zip(disks) {
        let path = Path::new("/dev").join(disk);
        let device = fs::metadata(&path).map_err(failed("look at", &path))?.rdev();
        sys::array_disk(&array, number, device).map_err(failed("add", &path))?;
    }
    made(sys::array_run(&array))?;
    Ok(NAME.to_owned())
}
