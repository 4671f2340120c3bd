//! Where are the data? In memory, or in a sparse file that is there again after a restart.
//!
//! Data are written when a write arrives and read when a read does; the drive decides when its program hears of it. Where
//! power may be cut, what was there before is kept until a flush makes the write last ([`crate::volatile`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};
use iostack_host::{Held, memory_file, permit_store};
use iostack_model::Bytes;

use crate::Errno;
use crate::sys;
use crate::volatile::{Cut, Promise, SECTOR, Volatile};

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// Data of a drive.
#[derive(Debug)]
pub struct Store {
    file: File,
    /// It is in a file: a flush is one of the file too.
    lasts: bool,
    /// Data that a power cut may lose; `None` when there will be none.
    volatile: Option<Mutex<Volatile>>,
    /// Bytes that a power cut leaves whole.
    atom: u64,
    /// Bytes written since somebody looked whether the machine has memory left.
    since: AtomicU64,
    is_full: AtomicBool,
}

/// So much is written into memory between two looks at what is left, and so much is left to others.
const LOOK_EVERY: u64 = 32 << 20;
const LEFT: u64 = 512 << 20;

impl Store {
    fn new(file: File, lasts: bool) -> Store {
        Store {
            file,
            lasts,
            volatile: None,
            atom: SECTOR,
            since: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        }
    }

    /// Reason why writes failed, when the machine had no memory left for the data.
    pub fn full(&self) -> Option<&'static str> {
        self.is_full.load(Ordering::Relaxed).then_some(
            "this machine had no memory left for the simulated drive's data: writes failed (ENOSPC); write less",
        )
    }

    /// Refuses to take the last memory of the machine.
    fn grow(&self, bytes: u64, left: impl FnOnce() -> Option<u64>) -> Result<(), Errno> {
        if self.lasts || self.since.fetch_add(bytes, Ordering::Relaxed) + bytes < LOOK_EVERY {
            return Ok(());
        }
        if left().is_some_and(|left| left < LEFT) {
            self.is_full.store(true, Ordering::Relaxed);
            return Err(Errno(libc::ENOSPC));
        }
        self.since.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Makes a store in memory, gone at the end.
    pub fn memory(capacity: Bytes) -> anyhow::Result<Store> {
        let sized = |file: File| file.set_len(capacity.0).map(|()| file);
        let file = memory_file(c"iostack-serve").and_then(sized);
        let file = file.context("there is no memory for the data; keep them in a file with --store FILE")?;
        Ok(Store::new(file, false))
    }

    /// Opens a store in this file: made, or one that an earlier run made, or any with `destroy_data`. It is ours alone
    /// while it is open.
    pub fn file(path: &Path, capacity: Bytes, destroy_data: bool) -> anyhow::Result<Store> {
        let refused = || format!("cannot keep the data in `{}`", path.display());
        let held = match Held::find(path)? {
            Some(held) => held,
            None => Held::make(path)?,
        };
        ensure!(
            held.kind() == iostack_model::TargetKind::File,
            "`{}` is no file; name a file to make, or one that an earlier `iostack serve` made",
            path.display()
        );
        let file = permit_store(&held, destroy_data)?;
        let length = file.metadata().with_context(refused)?.len();
        if length == 0 {
            file.set_len(capacity.0).with_context(refused)?;
        }
        ensure!(
            [0, capacity.0].contains(&length),
            "`{}` has {} and the drive has {capacity}; it is of another drive: name another file",
            path.display(),
            Bytes(length)
        );
        let _where_marks_can_be_kept = held.keep();
        Ok(Store::new(file, true))
    }

    /// Power will be cut: what is written is not safe before a flush.
    #[must_use]
    pub fn volatile(self) -> Store {
        Store { volatile: Some(Mutex::default()), ..self }
    }

    /// Fills `into` from `offset` on.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.file.read_exact_at(into, offset).map_err(|error| errno(&error))
    }

    /// A power cut leaves atoms of so many bytes whole.
    pub(crate) fn tears(&mut self, atom: u64) {
        self.atom = atom;
    }

    /// Writes `data` at `offset`. With `through` it is to be safe when it is answered: gives what [`Store::settle`] is told then.
    pub fn write(&self, offset: u64, data: &[u8], through: bool) -> Result<Option<Promise>, Errno> {
        self.grow(data.len() as u64, memory_left)?;
        let range = (offset, data.len() as u64);
        self.change(range, through, || Ok(vec![range]), || self.file.write_all_at(data, offset))
    }

    /// The range reads as zeros from now on, and takes no room.
    pub fn punch(&self, offset: u64, length: u64, through: bool) -> Result<Option<Promise>, Errno> {
        // Holes stay what they are, and may be as large as the drive.
        let held = || iostack_host::stretches_within(&self.file, offset..offset.saturating_add(length));
        self.change((offset, length), through, held, || sys::punch(&self.file, offset, length))
    }

    /// Changes the range, of which `parts` will be something else.
    fn change(
        &self,
        range: (u64, u64),
        through: bool,
        parts: impl FnOnce() -> io::Result<Vec<(u64, u64)>>,
        change: impl FnOnce() -> io::Result<()>,
    ) -> Result<Option<Promise>, Errno> {
        let change = || match &self.volatile {
            None => change().map(|()| None),
            Some(volatile) => {
                let mut volatile = locked(volatile);
                parts()?.into_iter().try_for_each(|part| volatile.keep(&self.file, part))?;
                change()?;
                Ok(through.then(|| volatile.promise(Some(range))))
            }
        };
        let promise = change().map_err(|error| errno(&error))?;
        if through {
            self.sync()?;
        }
        Ok(promise)
    }

    /// All that was written gets onto its medium, and is to be safe when this is answered.
    pub fn flush(&self) -> Result<Option<Promise>, Errno> {
        let promise = self.volatile.as_ref().map(|volatile| locked(volatile).promise(None));
        self.sync().map(|()| promise)
    }

    /// It is answered, and safe. An error when the power was cut meanwhile.
    pub(crate) fn settle(&self, promise: &Promise) -> Result<(), Errno> {
        let safe = self.volatile.as_ref().is_none_or(|volatile| locked(volatile).settle(promise));
        if safe { Ok(()) } else { Err(Errno(libc::EIO)) }
    }

    /// Power is cut: of what was not flushed, chance decides atom by atom what is there.
    pub fn cut(&self, seed: u64) -> io::Result<Cut> {
        let Some(volatile) = &self.volatile else { return Ok(Cut::default()) };
        locked(volatile).cut(&self.file, self.atom, seed)
    }

    /// Takes what the file holds. Gives the stretches that it was.
    pub(crate) fn take(&self, file: &File) -> io::Result<Vec<(u64, u64)>> {
        let (held, mut piece) = (iostack_host::stretches(file)?, vec![0; PIECE]);
        for &(offset, length) in &held {
            for at in (offset..offset + length).step_by(PIECE) {
                let here = &mut piece[..PIECE.min((offset + length - at) as usize)];
                file.read_exact_at(here, at)?;
                self.file.write_all_at(here, at)?;
            }
        }
        Ok(held)
    }

    /// Stretches that hold data: offset and length.
    pub fn held(&self) -> io::Result<Vec<(u64, u64)>> {
        iostack_host::stretches(&self.file)
    }

    /// Gets the content of a file onto its medium.
    fn sync(&self) -> Result<(), Errno> {
        if !self.lasts {
            return Ok(());
        }
        self.file.sync_data().map_err(|error| errno(&error))
    }
}

fn locked(volatile: &Mutex<Volatile>) -> MutexGuard<'_, Volatile> {
    volatile.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that programs may still have, as the kernel estimates; `None` where it does not say.
fn memory_left() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// Error of the store as a program sees it: a full disk is one.
fn errno(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_memory_of_the_machine_is_left_to_others() {
        let store = Store::memory(Bytes::mib(1)).expect("memory");
        let looked = std::cell::Cell::new(0);
        let with = |left: Option<u64>| {
            let looked = &looked;
            move || {
                looked.set(looked.get() + 1);
                left
            }
        };
        assert!(store.grow(LOOK_EVERY - 1, with(Some(0))).is_ok() && looked.get() == 0, "not looked at yet");
        assert_eq!(store.grow(1, with(Some(LEFT - 1))).map_err(|errno| errno.0), Err(libc::ENOSPC));
        assert!(store.full().is_some_and(|why| why.contains("no memory left")));
        assert!(store.grow(1, with(Some(LEFT))).is_ok() && looked.get() == 2, "others gave some back");
        assert!(store.grow(LOOK_EVERY, with(None)).is_ok(), "where nobody says what is left");
        assert!(memory_left().is_some_and(|left| left > 0), "this machine says");
    }
}
