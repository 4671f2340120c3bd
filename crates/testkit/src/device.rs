//! Which devices may a test do with as it likes? Its own, gone at its end.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::{Folder, tool};

/// A loop device, such as `/dev/loop5`.
#[derive(Debug)]
pub struct Loop(PathBuf);

impl Loop {
    /// Over a file; why not, where none is to be had.
    pub fn over(file: &Path) -> Result<Loop, String> {
        let device = tool("losetup", &["--find".as_ref(), "--show".as_ref(), file.as_os_str()])?;
        let device = Loop(PathBuf::from(device));
        fs::File::open(&device.0).map_err(|error| format!("{}: {error}", device.display()))?;
        Ok(device)
    }
}

impl Deref for Loop {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _gone_already = tool("losetup", &["--detach".as_ref(), self.as_os_str()]);
    }
}

/// A compressed disk in memory, such as `/dev/zram0`.
#[derive(Debug)]
pub struct Zram {
    number: String,
    device: PathBuf,
}

impl Zram {
    /// One of so many bytes; why not, where none is to be had.
    pub fn new(bytes: u64) -> Result<Zram, String> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")
            .map_err(|error| format!("a zram device cannot be added: {error}"))?
            .trim()
            .to_owned();
        let device = PathBuf::from(format!("/dev/zram{number}"));
        let zram = Zram { number, device };
        fs::write(format!("/sys/block/zram{}/disksize", zram.number), bytes.to_string())
            .map_err(|error| format!("a zram device cannot be sized: {error}"))?;
        Ok(zram)
    }
}

impl Deref for Zram {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.device
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _empty = fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _gone = fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}

/// A new file system on a device, mounted. It derefs to the folder where it is.
#[derive(Debug)]
pub struct Mounted<D: Deref<Target = Path>> {
    place: Folder,
    device: D,
}

impl<D: Deref<Target = Path>> Mounted<D> {
    /// Of a kind that `mkfs` knows; why not, where that cannot be.
    pub fn new(kind: &str, device: D, place: Folder) -> Result<Mounted<D>, String> {
        let force = if kind == "ext4" { "-F" } else { "-f" };
        tool(&format!("mkfs.{kind}"), &["-q".as_ref(), force.as_ref(), device.as_os_str()])?;
        let words = ["-t".as_ref(), kind.as_ref(), device.as_os_str(), place.as_os_str()];
        tool("mount", &words)?;
        Ok(Mounted { place, device })
    }

    /// What it is on.
    pub fn device(&self) -> &Path {
        &self.device
    }
}

impl<D: Deref<Target = Path>> Deref for Mounted<D> {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.place
    }
}

/// The folder and the device go after this.
impl<D: Deref<Target = Path>> Drop for Mounted<D> {
    fn drop(&mut self) {
        let _gone_already = tool("umount", &[self.place.as_os_str()]);
    }
}
