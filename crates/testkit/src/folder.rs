//! Where does a test write?

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder of one test, on a real file system, gone at its end. [`folder!`](crate::folder) makes it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder of this process below `room`.
    pub fn below(room: &str, name: &str) -> Folder {
        let path = Path::new(room).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the build folder can be written");
        Folder(path)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

/// A [`Folder`] of a test, by its name. It is beside the build, because temporary folders are often in memory, which is no
/// storage.
#[macro_export]
macro_rules! folder {
    ($name:expr) => {
        $crate::Folder::below(env!("CARGO_TARGET_TMPDIR"), $name)
    };
}
