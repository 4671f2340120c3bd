//! The same 32 blocks of a file in four ways: a loop of preads, one group, coroutines, futures.
//!
//!     cargo run --package iostack-merge --example ways

mod sys;

use std::io;
use std::os::unix::fs::FileExt;

use iostack_merge::{File, block_on, join_all};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 200;

type Blocks = io::Result<Vec<Vec<u8>>>;

/// The thread sleeps once for each block.
fn loop_of_preads(file: &std::fs::File, numbers: &[u64]) -> Blocks {
    let mut blocks = vec![vec![0; BLOCK]; numbers.len()];
    for (block, number) in blocks.iter_mut().zip(numbers) {
        file.read_exact_at(block, number * BLOCK as u64)?;
    }
    Ok(blocks)
}

/// The thread sleeps once for all. An error says which failed; all others are filled.
fn one_group(file: &File, numbers: &[u64]) -> Blocks {
    let mut blocks = vec![vec![0; BLOCK]; numbers.len()];
    let places = numbers.iter().map(|number| number * BLOCK as u64);
    let mut list: Vec<(u64, &mut [u8])> = places.zip(blocks.iter_mut().map(Vec::as_mut_slice)).collect();
    file.read_many(&mut list)?;
    Ok(blocks)
}

/// A query reads when it must, and knows nothing of coroutines.
fn query(file: &File, number: u64) -> io::Result<Vec<u8>> {
    let mut block = vec![0; BLOCK];
    file.read_exact_at(&mut block, number * BLOCK as u64)?;
    Ok(block)
}

/// Two threads, and as many queries under way as there are.
fn coroutines(file: &File, numbers: &[u64]) -> Blocks {
    sys::scope(2, |s| {
        let queries: Vec<_> = numbers.iter().map(|&number| s.spawn(move || query(file, number))).collect();
        queries.into_iter().map(|query| query.join().expect("a query does not panic")).collect()
    })
}

/// Suits programs that are asynchronous anyway, under any executor: the buffer goes in and comes back.
fn futures(file: &File, numbers: &[u64]) -> Blocks {
    let read = async |number: u64| {
        let (result, block) = file.read_exact_at_async(vec![0; BLOCK], number * BLOCK as u64).await;
        result.map(|()| block)
    };
    block_on(join_all(numbers.iter().map(|&number| read(number)))).into_iter().collect()
}

fn main() -> io::Result<()> {
    // Block i is full of i.
    let path = std::env::temp_dir().join(format!("iostack-ways-{}", std::process::id()));
    std::fs::write(&path, (0..BLOCKS).flat_map(|block| [block as u8; BLOCK]).collect::<Vec<u8>>())?;
    let (plain, file) = (std::fs::File::open(&path)?, File::open(&path)?);
    std::fs::remove_file(&path)?;
    // As an index would give them for some keys.
    let numbers: Vec<u64> = (0..32).map(|key| key * 77 % BLOCKS).collect();
    for (way, blocks) in [
        ("a loop of preads", loop_of_preads(&plain, &numbers)?),
        ("one group", one_group(&file, &numbers)?),
        ("32 coroutines on two threads", coroutines(&file, &numbers)?),
        ("32 futures on one thread", futures(&file, &numbers)?),
    ] {
        let right = |(block, number): (&Vec<u8>, &u64)| block.iter().all(|byte| *byte == *number as u8);
        assert!(blocks.iter().zip(&numbers).all(right), "{way}");
        println!("{way}: {} blocks, each the right one", blocks.len());
    }
    Ok(())
}
