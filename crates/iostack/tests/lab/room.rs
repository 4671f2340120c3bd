//! Where one test works.

use std::path::{Path, PathBuf};

/// A directory of one test, removed at its end.
pub(crate) struct Room(pub(crate) PathBuf);

impl Room {
    pub(crate) fn new(test: &str) -> Room {
        let name = format!("{}-{test}-{}", env!("CARGO_CRATE_NAME"), std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("the target directory is ours");
        Room(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
