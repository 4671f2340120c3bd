//! What does a file system add? Clocks, and I/O of its own: metadata, a journal, and the size and order of write-back.
//!
//! The file is as large as the drive and lies on it in one piece, less an area at the end for the journal and metadata. What a
//! file system does elsewhere (where it allocates, copy on write) shows in its clocks and its own writes, not in places.

use serde::Deserialize;

use super::buffered::PAGE;
use crate::numbers::clocks_of;
use crate::sheet::{Sheet, SheetError};

/// Numbers of a file system by their keys in its sheet.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct FileSystem {
    pub(crate) clocks: f64,
    pub(crate) write: f64,
    pub(crate) page: f64,
    pub(crate) allocate: f64,
    pub(crate) delayed: bool,
    /// Largest request of write-back, pages; bytes in the sheet.
    pub(crate) request: u64,
    pub(crate) order: WriteOrder,
    pub(crate) metadata: Option<u64>,
    /// Pages whose places one block tells; bytes in the sheet.
    pub(crate) map: Option<u64>,
    pub(crate) journal: u64,
    pub(crate) logged: u64,
    /// Time between two commits, ns.
    pub(crate) commit: u64,
    pub(crate) ordered: bool,
    pub(crate) barrier: bool,
    /// Bytes at the end of the drive that files do not use.
    #[serde(skip)]
    pub(crate) area: u64,
}

/// Order in which dirty pages are written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WriteOrder {
    #[default]
    Sorted,
    Dirtied,
}

impl FileSystem {
    /// The drive itself through the page cache, without a file system.
    pub(crate) fn none() -> Result<FileSystem, SheetError> {
        FileSystem::read(&Sheet::from_values("fs", &[("fs.barrier", "yes")])?, 0, 1.0)
    }

    /// The file system of a sheet, on a drive of so many bytes and a core that takes so many clocks for what a number of it is.
    pub(crate) fn read(sheet: &Sheet, capacity: u64, cpi: f64) -> Result<FileSystem, SheetError> {
        let mut fs: FileSystem = clocks_of(sheet, cpi)?;
        for (key, bytes) in [("fs.request", Some(&mut fs.request)), ("fs.map", fs.map.as_mut())] {
            let Some(bytes) = bytes else { continue };
            if *bytes < PAGE || !bytes.is_multiple_of(PAGE) || *bytes >= 1 << 40 {
                return Err(sheet.refuse(key, "it is no count of pages", "write a multiple of 4KiB"));
            }
            *bytes /= PAGE;
        }
        Ok(FileSystem {
            metadata: fs.metadata.map(|bytes| bytes.max(1)),
            journal: fs.journal.next_multiple_of(PAGE),
            commit: fs.commit.max(1_000_000),
            // A journal and tables, as `mkfs` sets them aside: a 32nd, at least 4 MiB where there is that much.
            area: (capacity / 32).max((4 << 20).min(capacity / 4)).next_multiple_of(PAGE),
            ..fs
        })
    }
}
