//! What does a file system add? Clocks, and I/O of its own: metadata, a journal, and the size and order of write-back.
//!
//! The file is as large as the drive and lies on it in one piece, less an area at the end for the journal and metadata. What a
//! file system does elsewhere (where it allocates, copy on write) shows in its clocks and its own writes, not in places.

use crate::sheet::{Sheet, SheetError};

/// The numbers of a file system.
#[derive(Clone, Debug)]
pub(crate) struct FileSystem {
    pub(crate) clocks: f64,
    pub(crate) write: f64,
    pub(crate) page: f64,
    pub(crate) allocate: f64,
    pub(crate) is_delayed: bool,
    /// Pages of the largest request.
    pub(crate) request: u32,
    pub(crate) is_sorted: bool,
    pub(crate) metadata: Option<u64>,
    /// Pages that one block tells of.
    pub(crate) map: Option<u32>,
    pub(crate) journal: u64,
    pub(crate) logged: u64,
    pub(crate) commit: u64,
    pub(crate) is_ordered: bool,
    pub(crate) barrier: bool,
    /// Bytes at the end of the drive that files do not use.
    pub(crate) area: u64,
}

impl FileSystem {
    /// No file system: the drive itself, through the page cache.
    pub(crate) fn none() -> FileSystem {
        FileSystem {
            clocks: 0.0,
            write: 0.0,
            page: 0.0,
            allocate: 0.0,
            is_delayed: false,
            request: 128,
            is_sorted: true,
            metadata: None,
            map: None,
            journal: 0,
            logged: 0,
            commit: 5_000_000_000,
            is_ordered: false,
            barrier: true,
            area: 0,
        }
    }

    /// Of a sheet, on a drive of so many bytes.
    pub(crate) fn of(sheet: &Sheet, capacity: u64) -> Result<FileSystem, SheetError> {
        let pages = |key: &str| -> Result<u32, SheetError> {
            let bytes = sheet.bytes(key)?.0;
            if bytes >= 4096 && bytes.is_multiple_of(4096) && bytes < 1 << 40 {
                return Ok((bytes / 4096) as u32);
            }
            Err(sheet.refuse(key, "it is no count of pages", "write a multiple of 4KiB"))
        };
        let clocks = |key: &str| match sheet.number(key)? {
            clocks if clocks >= 0.0 => Ok(clocks),
            _ => Err(sheet.refuse(key, "clocks are not less than 0", "write 0 or more")),
        };
        let yes = |key: &str| -> Result<bool, SheetError> { Ok(sheet.word(key)? == "yes") };
        Ok(FileSystem {
            clocks: clocks("fs.clocks")?,
            write: clocks("fs.write")?,
            page: clocks("fs.page")?,
            allocate: clocks("fs.allocate")?,
            is_delayed: yes("fs.delayed")?,
            request: pages("fs.request")?,
            is_sorted: sheet.word("fs.order")? == "sorted",
            metadata: if sheet.has("fs.metadata") {
                Some(sheet.bytes("fs.metadata")?.0.max(1))
            } else {
                None
            },
            map: if sheet.has("fs.map") { Some(pages("fs.map")?) } else { None },
            journal: sheet.bytes("fs.journal")?.0.next_multiple_of(4096),
            logged: sheet.bytes("fs.logged")?.0,
            commit: sheet.time("fs.commit")?.0.max(1_000_000),
            is_ordered: yes("fs.ordered")?,
            barrier: yes("fs.barrier")?,
            // A journal and tables, as `mkfs` sets them aside: a 32nd, at least 4 MiB where there is that much.
            area: (capacity / 32).max((4 << 20).min(capacity / 4)).next_multiple_of(4096),
        })
    }
}
