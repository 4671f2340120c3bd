//! A file whose block i is full of i, as the small examples' table; removed at the end.

use std::io;
use std::path::{Path, PathBuf};

pub(crate) const BLOCK: usize = 4096;
pub(crate) const BLOCKS: u64 = 200;

pub(crate) struct Table(PathBuf);

impl Table {
    pub(crate) fn new(name: &str) -> io::Result<Table> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let bytes: Vec<u8> = (0..BLOCKS).flat_map(|block| [block as u8; BLOCK]).collect();
        std::fs::write(&path, bytes)?;
        Ok(Table(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // What a temporary folder keeps, it loses at the next boot.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The numbers of some blocks, as an index would give them for some keys.
pub(crate) fn wanted() -> Vec<u64> {
    (0..32).map(|key| key * 77 % BLOCKS).collect()
}

/// Says which blocks came, after all are the right ones.
pub(crate) fn report<'a>(way: &str, blocks: impl IntoIterator<Item = &'a [u8]>) {
    let mut count = 0;
    for (block, number) in blocks.into_iter().zip(wanted()) {
        assert!(block.len() == BLOCK && block.iter().all(|byte| *byte == number as u8), "block {number}");
        count += 1;
    }
    println!("{way}: {count} blocks, each the right one");
}
