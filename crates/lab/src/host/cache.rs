//! What was fetched and built, kept for the next time.
//!
//! Each entry is a folder that appears whole or not at all: it is filled under another name and renamed. One process at
//! a time fills; the others wait for its lock.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, process};

use iostack_host::{effective_user, free_bytes};

use super::private;
use crate::{LabError, ensure};

const PARTIAL: &str = ".partial-";

/// Folder of the lab's cache.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$IOSTACK_CACHE`, else the first that is private of `$XDG_CACHE_HOME/iostack`, `~/.cache/iostack` and, for root,
    /// `/var/cache/iostack`; in it `lab`.
    pub fn open() -> Result<Cache, LabError> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = set("IOSTACK_CACHE") {
            return Cache::at(&folder.join("lab"));
        }
        let places = [
            set("XDG_CACHE_HOME").map(|folder| folder.join("iostack")),
            set("HOME").map(|folder| folder.join(".cache/iostack")),
            (effective_user() == 0).then(|| PathBuf::from("/var/cache/iostack")),
        ];
        let mut opened = places.into_iter().flatten().map(|folder| Cache::at(&folder.join("lab")));
        let nowhere = || {
            LabError::Asked("there is no HOME to keep a cache in; name a folder in IOSTACK_CACHE".to_owned())
        };
        let first = opened.next().ok_or_else(nowhere)?;
        first.or_else(|error| opened.find_map(Result::ok).ok_or(error))
    }

    /// The cache in this folder.
    pub fn at(root: &Path) -> Result<Cache, LabError> {
        Ok(Cache { root: private::folder(root)? })
    }

    /// Path of the cache.
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

    /// Removes the leftovers of a killed process. Only under the lock.
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
        let root = self.root.display();
        ensure(free_mib >= needed_mib, || {
            LabError::Lacks(format!(
                "`{root}` has {free_mib} MiB free, and the lab needs {needed_mib} MiB there; make room, or name another \
                 folder in IOSTACK_CACHE"
            ))
        })
    }
}
