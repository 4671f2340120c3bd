//! Does each caller get its own data and its own error, whoever carries its requests?

mod auto;
mod c;
mod capi;
mod data;
mod faults;
mod future;
mod offsets;
mod pattern;
mod policies;
mod preload;
mod schedules;
mod scope;
mod sys;

use iostack_batch::BatchCost;
use iostack_merge::{File, Options, Simulated};

const BLOCK: usize = pattern::PAGE;
const QUICK: BatchCost = BatchCost { fixed_ns: 500.0, each_ns: 50.0 };

/// First byte of a block.
fn at(index: usize) -> u64 {
    (index * BLOCK) as u64
}

/// Content of a numbered block: its index, then bytes of its index.
fn block_of(index: usize) -> Vec<u8> {
    let mut block = vec![index as u8; BLOCK];
    block[..8].copy_from_slice(&(index as u64).to_le_bytes());
    block
}

/// Number that a block begins with.
fn number_at(file: &File, index: usize) -> u64 {
    let mut head = [0; 8];
    file.read_exact_at(&mut head, at(index)).expect("the device is sound");
    u64::from_le_bytes(head)
}

/// Does the work on so many threads at once, each of which is told its number.
fn on_threads(threads: u64, work: impl Fn(u64) + Sync) {
    let work = &work;
    std::thread::scope(|scope| (0..threads).for_each(|thread| drop(scope.spawn(move || work(thread)))));
}

/// The same on coroutines, on so many executors.
fn on_coroutines(executors: usize, count: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    sys::scope(executors, |s| (0..count).for_each(|index| drop(s.spawn(move || work(index)))));
}

/// A quick simulated device of numbered blocks.
fn numbered(blocks: usize) -> File {
    numbered_by(&Options::default(), blocks, QUICK)
}

fn numbered_by(options: &Options, blocks: usize, cost: BatchCost) -> File {
    let file = options.simulated(&Simulated::new(blocks * BLOCK, cost));
    let all: Vec<Vec<u8>> = (0..blocks).map(block_of).collect();
    let list: Vec<(u64, &[u8])> =
        all.iter().enumerate().map(|(index, block)| (at(index), &block[..])).collect();
    file.write_many(&list).expect("the device is sound");
    file
}
