//! Where can we write without harm? In a file of our own, which is gone afterwards whatever happens.
//!
//! | the run ends by | the file goes by |
//! | --- | --- |
//! | return, error, panic, Ctrl-C | [`Scratch`]'s drop |
//! | a second Ctrl-C | the signal handler |
//! | kill -9, power cut | [`sweep`] of the next run |
//!
//! The name tells the owner (`.iostack-scratch-PID-START-N`), and the owner holds a lock on the file as long as it
//! lives: the lock also speaks for owners in another container, whose process ids mean nothing here.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostack_model::{Bytes, Effort, Memory};

use crate::emergency::{self, EmergencyAct, Ticket};
use crate::own_name::{new_name, owner_of};
use crate::{Held, HostError, held, marks, sys};

/// A file of our own, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    held: Arc<Held>,
    /// Holds the lock that tells other runs that we live.
    lock: File,
    _ticket: Option<Ticket>,
}

impl Scratch {
    /// Makes an empty file in `directory`, with blocks for `size` bytes reserved where the file system can, so that a
    /// disk too full shows now and not in the middle.
    pub fn create(directory: &Path, size: Bytes) -> Result<Scratch, HostError> {
        let refused = |source| HostError::refused(directory, "make a scratch file in", source);
        held::permit_files_in(directory)?;
        let space = sys::space(directory).map_err(refused)?;
        let too_full =
            || HostError::NoSpace { path: directory.to_owned(), needed: size, free: Bytes(space.free) };
        if space.free < size.0 {
            return Err(too_full());
        }
        let (path, lock) = make(directory).map_err(refused)?;
        let ticket = sys::c_path(&path).ok().and_then(|path| emergency::arm(EmergencyAct::Unlink(path)));
        let held = Held::hold(lock.try_clone().map_err(refused)?, &path)?;
        let scratch = Scratch { held: Arc::new(held), lock, _ticket: ticket };
        // Without locks (some network file systems) the process id in the name must do.
        let _ = scratch.lock.try_lock_shared();
        marks::mark_made(&scratch.held);
        match sys::reserve(&scratch.lock, size.0) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(too_full()),
            Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => Err(refused(error)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(HostError::FileLimit { path: directory.to_owned(), needed: size })
            }
            // Not every file system can reserve; it will show when the file is written.
            _ => Ok(scratch),
        }
    }

    /// Path of the scratch file.
    pub fn path(&self) -> &Path {
        self.held.path()
    }

    /// The file itself.
    pub fn held(&self) -> &Arc<Held> {
        &self.held
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that is gone already is what we want; any other failure the next run's sweep will name.
        let _ = fs::remove_file(self.path());
    }
}

fn make(directory: &Path) -> io::Result<(PathBuf, File)> {
    let directory = fs::canonicalize(directory)?;
    loop {
        let path = directory.join(new_name());
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes what runs that were killed left in `directory`, and returns what it removed.
pub fn sweep(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut removed: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| owner_of(&entry.file_name().to_string_lossy()).is_some_and(|owner| !owner.is_alive()))
        .map(|entry| entry.path())
        .filter(|path| is_left(path) && fs::remove_file(path).is_ok())
        .collect();
    removed.sort();
    removed
}

/// True when we made this file and nobody holds its lock, or the file system knows neither marks nor locks.
fn is_left(path: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return false };
    let Ok(data) = file.metadata() else { return false };
    let is_locked = || matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    if !data.is_file() || data.uid() != sys::effective_user() || is_locked() {
        return false;
    }
    // A run that was killed before it could mark its file had not written to it.
    let Ok(clone) = file.try_clone() else { return false };
    data.len() == 0 || Held::hold(clone, path).is_ok_and(|held| !marks::lacks_mark(&held))
}

const SCRATCH_MIN: Bytes = Bytes::mib(256);

/// The size of a check's scratch file and the reason for it in words, or that there is no room for one.
pub fn scratch_size(free: Bytes, memory: &Memory, effort: Effort) -> Result<(Bytes, String), HostError> {
    let twice = (memory.total * 2).max(Bytes::gib(4));
    let (wanted, share, wish) = match effort {
        Effort::Quick => (Bytes::gib(1), 4, "1 GiB".to_owned()),
        Effort::Default => (Bytes::gib(4), 10, "4 GiB".to_owned()),
        Effort::Full => (twice, 4, format!("twice the memory ({twice})")),
    };
    // The smallest file must leave at least as much free again.
    let needed = SCRATCH_MIN * 2;
    if free < needed {
        return Err(HostError::TooFull { needed, free });
    }
    let whole_mib = |bytes: u64| Bytes(bytes >> 20 << 20);
    let capped = whole_mib(free.0 / share);
    let size = wanted.min(capped).max(SCRATCH_MIN);
    let why = if size == wanted {
        wish
    } else if size == capped {
        format!("one {} of the {free} free", if share == 4 { "quarter" } else { "tenth" })
    } else {
        format!("the least that means something, {free} being free")
    };
    let beside = if size < memory.total {
        format!("; this machine has {} of memory, so a cache below us could hold it", memory.total)
    } else {
        String::new()
    };
    Ok((whole_mib(size.0), format!("{why}{beside}")))
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
