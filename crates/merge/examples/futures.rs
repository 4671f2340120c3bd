//! For programs that are asynchronous anyway: futures, for any executor. The buffer goes in and comes back.
//!
//!     cargo run --package iostack-merge --example futures

mod table;

use std::io;

use iostack_merge::{File, block_on, join_all};
use table::{BLOCK, Table, report, wanted};

async fn query(file: &File, number: u64) -> io::Result<Vec<u8>> {
    let (result, block) = file.read_exact_at_async(vec![0; BLOCK], number * BLOCK as u64).await;
    result.map(|()| block)
}

fn main() -> io::Result<()> {
    let table = Table::new("futures")?;
    let file = File::open(table.path())?;
    let queries = wanted().into_iter().map(|number| query(&file, number));
    let blocks: io::Result<Vec<Vec<u8>>> = block_on(join_all(queries)).into_iter().collect();
    report("32 futures on one thread", blocks?.iter().map(Vec::as_slice));
    Ok(())
}
