//! What must be known of the machine?

use crate::sheet::{Sheet, SheetError};
use iostack_model::Bytes;

use super::PAGE;
use crate::engine::Shape;

/// Sizes and limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// Pages that memory holds.
    pub(crate) pages: usize,
    /// Oldest pages among which a clean one goes first.
    pub(crate) window: usize,
    /// Largest window of read-ahead, pages.
    pub(crate) ahead: u32,
    /// Dirty pages at which the flusher begins, and at which writers wait.
    pub(crate) background: usize,
    pub(crate) limit: usize,
    /// The file begins empty.
    pub(crate) is_new: bool,
    /// Requests that a flusher keeps in flight.
    pub(crate) depth: u32,
    /// Drives that are spaces of their own; 1 when they follow each other.
    pub(crate) spaces: u32,
    pub(crate) space_pages: u32,
    /// Bytes of a space that files use.
    pub(crate) files: u64,
    pub(crate) block: Bytes,
}

impl Config {
    /// Reads a platform's sheet with memory; `shape` is what the host shows, `area` what the file system takes of each space.
    pub(crate) fn read(sheet: &Sheet, shape: Shape, spaces: u32, area: u64) -> Result<Config, SheetError> {
        let pages = sheet.bytes("platform.memory")?.0 / PAGE;
        if !(16..1 << 30).contains(&pages) {
            return Err(sheet.refuse("platform.memory", "no cache of that size", "write 64KiB to 4TiB"));
        }
        let pages_of = |key: &str| Ok::<usize, SheetError>((pages as f64 * sheet.share(key)?) as usize);
        let all = shape.capacity.0 / PAGE * u64::from(spaces);
        if all >= 1 << 31 {
            return Err(sheet.refuse(
                "platform.drive",
                "buffered I/O is for 8 TiB at most",
                "name a smaller drive",
            ));
        }
        let cflru = sheet.word("platform.replacement")? == "cflru";
        Ok(Config {
            pages: pages as usize,
            window: if cflru { pages_of("platform.clean_first")? } else { 0 },
            ahead: (sheet.bytes("platform.read_ahead")?.0 / PAGE).min(1 << 16) as u32,
            background: pages_of("platform.dirty_background")?,
            limit: pages_of("platform.dirty")?.max(1),
            is_new: sheet.word("platform.file")? == "new",
            depth: sheet.count("platform.flush_depth")?.clamp(1, 1 << 16) as u32,
            spaces,
            space_pages: (shape.capacity.0 / PAGE) as u32,
            files: (shape.capacity.0 - area) / PAGE * PAGE,
            block: shape.block,
        })
    }
}
