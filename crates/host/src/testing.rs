//! Stored trees and the skipping of tests, for this crate's tests only.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::roots::Root;

/// A directory of its own, removed with everything in it when dropped.
pub(crate) struct Tree {
    path: PathBuf,
}

impl Tree {
    /// A tree of `(path, content)`; content `-> TARGET` makes a symbolic link, a path ending in `/` a directory.
    pub(crate) fn new(files: &[(&str, &str)]) -> Tree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("iostack-host-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        let tree = Tree { path: fs::canonicalize(path).unwrap() };
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn root(&self) -> Root {
        Root::stored(&self.path)
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let full = self.at(path);
        if path.ends_with('/') {
            return fs::create_dir_all(full).unwrap();
        }
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        match content.strip_prefix("-> ") {
            Some(target) => std::os::unix::fs::symlink(target, full).unwrap(),
            None => fs::write(full, content).unwrap(),
        }
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_dir_all(self.at(path)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Says aloud that a test did not run, in the form that `cargo xtask` counts.
pub(crate) fn skipped(test: &str, why: &str) {
    println!("SKIPPED {test}: {why}");
}
