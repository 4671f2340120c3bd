//! Before: a loop of preads, one sleep of the thread for each block. `group.rs` is after.
//!
//!     cargo run --package iostack-merge --example loop_of_preads

mod table;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use table::{BLOCK, Table, report, wanted};

fn load(file: &File, numbers: &[u64]) -> io::Result<Vec<[u8; BLOCK]>> {
    let mut blocks = vec![[0; BLOCK]; numbers.len()];
    for (block, number) in blocks.iter_mut().zip(numbers) {
        file.read_exact_at(block, number * BLOCK as u64)?;
    }
    Ok(blocks)
}

fn main() -> io::Result<()> {
    let table = Table::new("loop_of_preads")?;
    let blocks = load(&File::open(table.path())?, &wanted())?;
    report("a loop of preads", blocks.iter().map(<[u8; BLOCK]>::as_slice));
    Ok(())
}
