//! What was fetched and built, kept for the next time.
//!
//! Each entry is a folder that appears whole or not at all: it is filled under another name and renamed. One process at
//! a time fills; the others wait for its lock.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, process};

use crate::LabError;
use crate::sys::host::free_bytes;

const PARTIAL: &str = ".partial-";

/// The folder.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$IOSTACK_CACHE`, else `$XDG_CACHE_HOME/iostack`, else `~/.cache/iostack`; in it `lab`.
    pub fn open() -> Result<Cache, LabError> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = set("IOSTACK_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("iostack")))
            .or_else(|| Some(set("HOME")?.join(".cache/iostack")))
            .unwrap_or_else(|| env::temp_dir().join("iostack"));
        Cache::at(&base.join("lab"))
    }

    /// The cache in this folder.
    pub fn at(root: &Path) -> Result<Cache, LabError> {
        fs::create_dir_all(root).map_err(LabError::file("make", root))?;
        let root = root.canonicalize().map_err(LabError::file("find", root))?;
        Ok(Cache { root })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The entry of this name, such as `kernel/6.1.0-53-amd64`, once it is there.
    pub fn entry(&self, name: &str) -> Option<PathBuf> {
        let path = self.root.join(name);
        path.is_dir().then_some(path)
    }

    /// The entry of this name, filled by `fill` when it is not there yet.
    pub fn place(
        &self,
        name: &str,
        needed_mib: u64,
        fill: impl FnOnce(&Path) -> Result<(), LabError>,
    ) -> Result<PathBuf, LabError> {
        if let Some(path) = self.entry(name) {
            return Ok(path);
        }
        let _lock = self.lock()?;
        if let Some(path) = self.entry(name) {
            return Ok(path);
        }
        self.sweep();
        self.require(needed_mib)?;
        let partial = self.root.join(format!("{PARTIAL}{}", process::id()));
        fs::create_dir_all(&partial).map_err(LabError::file("make", &partial))?;
        let path = self.root.join(name);
        let filled = fill(&partial).and_then(|()| {
            let parent = path.parent().expect("a name below the root");
            fs::create_dir_all(parent).map_err(LabError::file("make", parent))?;
            fs::rename(&partial, &path).map_err(LabError::file("rename to", &path))
        });
        if filled.is_err() {
            let _ = fs::remove_dir_all(&partial);
        }
        filled.map(|()| path)
    }

    /// What a killed process left half done. Only under the lock.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn lock(&self) -> Result<File, LabError> {
        let path = self.root.join("lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(LabError::file("open", &path))?;
        file.lock().map_err(LabError::file("lock", &path))?;
        Ok(file)
    }

    fn require(&self, needed_mib: u64) -> Result<(), LabError> {
        let free_mib =
            free_bytes(&self.root).map_err(LabError::file("find the free space of", &self.root))? >> 20;
        if free_mib < needed_mib {
            return Err(LabError::Space { path: self.root.clone(), free_mib, needed_mib });
        }
        Ok(())
    }
}
