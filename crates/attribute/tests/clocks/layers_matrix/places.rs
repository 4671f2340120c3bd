//! Where loads run: file systems on loop devices of our own, a zram device of our own, the disk below.

use std::ops::Deref;
use std::path::Path;

use iostack_testkit::{Folder, Loop, Mounted, folder};

/// A loop device over a new file. It is dropped before the folder.
pub(crate) struct Image {
    device: Loop,
    _folder: Folder,
}

impl Image {
    pub(crate) fn new(name: &str, size: u64) -> Result<Image, String> {
        let folder = folder!(name);
        let file = folder.join("image");
        let made = std::fs::File::create(&file).and_then(|file| file.set_len(size));
        made.map_err(|error| error.to_string())?;
        Ok(Image { device: Loop::over(&file)?, _folder: folder })
    }
}

impl Deref for Image {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.device
    }
}

/// A new file system on a loop device.
pub(crate) fn mounted(kind: &str) -> Result<Mounted<Image>, String> {
    // XFS refuses less than 300 MB.
    let image = Image::new(&format!("layers-{kind}"), 512 << 20)?;
    Mounted::new(kind, image, folder!(&format!("layers-{kind}-mounted")))
}
