//! Reads that cost only what the library costs.

use iostack_batch::BatchCost;
use iostack_merge::{File, Options, Policy, Simulated};

const BLOCK: usize = 64;
const BLOCKS: u64 = 1024;
const GROUP: usize = 4;

/// Reads so many blocks and sums up what it got.
pub(crate) type Work = fn(&File, u64) -> u64;

/// Name, who carries, what is done.
pub(crate) const FIGURES: &[(&str, Policy, Work)] = &[
    ("pread", Policy::Pread, one_by_one),
    ("auto", Policy::Auto, one_by_one),
    ("ring", Policy::Ring, one_by_one),
    ("stm", Policy::Stm, one_by_one),
    ("leader_follower", Policy::LeaderFollower, one_by_one),
    ("hybrid", Policy::Hybrid, one_by_one),
    ("read_many", Policy::Auto, groups),
];

/// One of them, with a file of its own: the sum of what was read.
pub(crate) fn counted(name: &str, reads: u64) -> u64 {
    let (_, policy, work) = FIGURES.iter().find(|(known, ..)| *known == name).expect("it is one of FIGURES");
    work(&file(*policy), reads)
}

/// Block i holds i in its first byte.
pub(crate) fn file(policy: Policy) -> File {
    let free = BatchCost { fixed_ns: 0.0, each_ns: 0.0 };
    let options = Options { policy, ..Options::default() };
    let file = options.simulated(&Simulated::new(BLOCK * BLOCKS as usize, free));
    for block in 0..BLOCKS {
        file.write_all_at(&[block as u8; BLOCK], block * BLOCK as u64).expect("the device is sound");
    }
    file
}

/// The n-th block of a walk that meets them all.
fn offset(number: u64) -> u64 {
    number * 389 % BLOCKS * BLOCK as u64
}

pub(crate) fn one_by_one(file: &File, reads: u64) -> u64 {
    let mut block = [0; BLOCK];
    let mut sum = 0;
    for number in 0..reads {
        file.read_exact_at(&mut block, offset(number)).expect("the device is sound");
        sum += u64::from(block[0]) * number;
    }
    sum
}

fn groups(file: &File, reads: u64) -> u64 {
    let mut blocks = [[0; BLOCK]; GROUP];
    let mut sum = 0;
    for first in (0..reads).step_by(GROUP) {
        let mut list = blocks.each_mut().map(|block| (0, block.as_mut_slice()));
        for (number, request) in (first..).zip(&mut list) {
            request.0 = offset(number);
        }
        file.read_many(&mut list).expect("the device is sound");
        sum += (first..).zip(&blocks).map(|(number, block)| u64::from(block[0]) * number).sum::<u64>();
    }
    sum
}
