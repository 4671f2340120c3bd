//! Which devices may a test do with as it likes? Its own, gone at its end.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::{Folder, tool};

/// A loop device, such as `/dev/loop5`. The kernel takes it apart when nobody has it open any more, so that a test that is
/// killed leaves none.
#[derive(Debug)]
pub struct Loop {
    path: PathBuf,
    _open: fs::File,
}

impl Loop {
    /// Makes a loop device over a file; an error says why none is to be had.
    pub fn over(file: &Path) -> Result<Loop, String> {
        Loop::with(file, &[])
    }

    /// The same with further words for losetup.
    pub fn with(file: &Path, options: &[&str]) -> Result<Loop, String> {
        let mut words = vec!["--find".as_ref(), "--show".as_ref(), file.as_os_str()];
        words.extend(options.iter().map(OsStr::new));
        let path = PathBuf::from(tool("losetup", &words)?);
        let open = fs::File::open(&path).map_err(|error| format!("{}: {error}", path.display()));
        // While it is open, this says only that it goes with the last who has it open.
        tool("losetup", &["--detach".as_ref(), path.as_os_str()])?;
        Ok(Loop { path, _open: open? })
    }
}

impl Deref for Loop {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
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
    /// Mounts a file system of a kind that `mkfs` knows; an error says why that cannot be.
    pub fn new(kind: &str, device: D, place: Folder) -> Result<Mounted<D>, String> {
        let force = if kind == "ext4" { "-F" } else { "-f" };
        tool(&format!("mkfs.{kind}"), &["-q".as_ref(), force.as_ref(), device.as_os_str()])?;
        let words = ["-t".as_ref(), kind.as_ref(), device.as_os_str(), place.as_os_str()];
        tool("mount", &words)?;
        Ok(Mounted { place, device })
    }

    /// Device that it is on.
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
        if tool("umount", &[self.place.as_os_str()]).is_err() {
            // Somebody still has a file there: it goes with him, and the device with it.
            let _gone_already = tool("umount", &["--lazy".as_ref(), self.place.as_os_str()]);
        }
    }
}
