//! Which source file is a function defined in?
//!
//! The table is made by `data/functions.sh` from a distribution's kernel source: one line per file, its path and then its
//! functions. Names that several files define are left out; [`super::neighbours`] places them, and what the table's
//! kernel did not have yet.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::packed::{FUNCTIONS, unpacked};

/// A source file, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u16);

/// Functions and the files that define them.
#[derive(Debug, Default)]
pub struct FunctionTable {
    files: Vec<&'static str>,
    functions: HashMap<&'static str, FileId>,
}

impl FunctionTable {
    /// The table that iostack brings.
    pub fn built_in() -> &'static FunctionTable {
        static TABLE: OnceLock<FunctionTable> = OnceLock::new();
        TABLE.get_or_init(|| {
            let text = String::from_utf8(unpacked(FUNCTIONS)).expect("names of functions");
            FunctionTable::parse(text.leak())
        })
    }

    /// A table without functions: names and modules alone decide.
    pub fn empty() -> FunctionTable {
        FunctionTable::default()
    }

    /// A table of lines, each with a path and its functions.
    pub fn parse(text: &'static str) -> FunctionTable {
        let mut table = FunctionTable::default();
        table.functions.reserve(text.len() / 20);
        for line in text.lines() {
            let mut words = line.split(' ');
            let Some(path) = words.next().filter(|path| !path.is_empty()) else { continue };
            let file = FileId(u16::try_from(table.files.len()).expect("the table has some thousand files"));
            table.files.push(path);
            table.functions.extend(words.map(|function| (function, file)));
        }
        table
    }

    /// Number of functions in the table.
    pub fn count(&self) -> usize {
        self.functions.len()
    }

    /// The path of the file that defines a function.
    pub fn path(&self, function: &str) -> Option<&'static str> {
        self.file(function).map(|file| self.files[usize::from(file.0)])
    }

    pub(crate) fn file(&self, function: &str) -> Option<FileId> {
        self.functions.get(function).copied()
    }

    /// The paths, by [`FileId`].
    pub(crate) fn files(&self) -> &[&'static str] {
        &self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_in_its_file() {
        let table = FunctionTable::parse("fs/a.c one two\nmm/b.c three\n");
        assert_eq!(table.path("two"), Some("fs/a.c"));
        assert_eq!(table.path("three"), Some("mm/b.c"));
        assert_eq!(table.path("four"), None);
        assert_eq!(table.count(), 3);
    }

    #[test]
    fn the_built_in_table_knows_the_way_of_a_read() {
        let table = FunctionTable::built_in();
        for (function, path) in [
            ("vfs_read", "fs/read_write.c"),
            ("filemap_read", "mm/filemap.c"),
            ("blk_mq_submit_bio", "block/blk-mq.c"),
            ("nvme_queue_rq", "drivers/nvme/host/pci.c"),
            ("scsi_queue_rq", "drivers/scsi/scsi_lib.c"),
            ("ata_qc_issue", "drivers/ata/libata-core.c"),
        ] {
            assert_eq!(table.path(function), Some(path), "{function}");
        }
    }
}
