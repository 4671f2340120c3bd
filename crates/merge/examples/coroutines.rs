//! Instead of a pool with a thread for each request in flight: coroutines, whose code stays as it was.
//!
//!     cargo run --package iostack-merge --example coroutines

mod sys;
mod table;

use std::io;

use iostack_merge::File;
use sys::scope;
use table::{BLOCK, Table, report, wanted};

/// A query: it reads when it must, and knows nothing of coroutines.
fn query(file: &File, number: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; BLOCK];
    file.read_exact_at(&mut block, number * BLOCK as u64)?;
    Ok(block)
}

fn main() -> io::Result<()> {
    let table = Table::new("coroutines")?;
    let file = File::open(table.path())?;
    // Two threads, as many queries under way as there are.
    let blocks: io::Result<Vec<Vec<u8>>> = scope(2, |s| {
        let file = &file;
        let queries: Vec<_> =
            wanted().into_iter().map(|number| s.spawn(move || query(file, number))).collect();
        queries.into_iter().map(|query| query.join().expect("a query does not panic")).collect()
    });
    report("32 coroutines on two threads", blocks?.iter().map(Vec::as_slice));
    Ok(())
}
