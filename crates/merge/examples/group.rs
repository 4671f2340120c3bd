//! After: the same blocks as one group, one sleep of the thread for all. `loop_of_preads.rs` is before.
//!
//!     cargo run --package iostack-merge --example group

mod table;

use std::io;

use iostack_merge::File;
use table::{BLOCK, Table, report, wanted};

fn load(file: &File, numbers: &[u64]) -> io::Result<Vec<[u8; BLOCK]>> {
    let mut blocks = vec![[0; BLOCK]; numbers.len()];
    let places = numbers.iter().map(|number| number * BLOCK as u64);
    let mut list: Vec<(u64, &mut [u8])> =
        places.zip(blocks.iter_mut().map(<[u8; BLOCK]>::as_mut_slice)).collect();
    // The error says which failed; all others are filled.
    file.read_many(&mut list)?;
    Ok(blocks)
}

fn main() -> io::Result<()> {
    let table = Table::new("group")?;
    let blocks = load(&File::open(table.path())?, &wanted())?;
    report("one group", blocks.iter().map(<[u8; BLOCK]>::as_slice));
    Ok(())
}
