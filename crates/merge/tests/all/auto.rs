//! Does a file that chooses its way give the right data in each, and say which it takes?

use std::sync::Barrier;

use iostack_batch::BatchCost;
use iostack_merge::{File, Options, Policy, Simulated};

use crate::{BLOCK, at, number_at, numbered_by, on_threads};

/// A tenth of the published device's times.
const LAW: BatchCost = BatchCost { fixed_ns: 11_200.0, each_ns: 9_360.0 };

fn numbered(policy: Policy, blocks: usize) -> File {
    numbered_by(&Options { policy, ..Options::default() }, blocks, LAW)
}

#[test]
fn eight_threads_read_what_was_written_while_ways_are_tried() {
    let file = numbered(Policy::Auto, 64);
    let start = Barrier::new(8);
    on_threads(8, |thread| {
        start.wait();
        for step in 0..3000 {
            let index = (thread * 11 + step * 7) % 64;
            assert_eq!(number_at(&file, index as usize), index);
        }
    });
    let advice = file.advice();
    println!("8 threads: {:?} because {}", advice.policy, advice.why);
    assert!(matches!(advice.policy, Policy::Pread | Policy::Stm | Policy::Hybrid));
}

#[test]
fn one_caller_stays_with_plain_calls() {
    let file = numbered(Policy::Auto, 64);
    (0..2000).for_each(|step| assert_eq!(number_at(&file, step % 64), (step % 64) as u64));
    let advice = file.advice();
    assert_eq!(advice.policy, Policy::Pread);
    assert!(advice.why.contains("nothing to merge") || advice.why.contains("too few"), "{}", advice.why);
}

#[test]
fn a_way_that_was_chosen_says_so() {
    for policy in [Policy::Pread, Policy::Stm] {
        let advice = numbered(policy, 1).advice();
        assert_eq!((advice.policy, advice.why.as_str()), (policy, "it was chosen"));
    }
}

#[test]
fn errors_are_reported_whichever_way_is_taken() {
    let device = Simulated::broken(64 * BLOCK, LAW, 0..1);
    let file = Options::default().simulated(&device);
    on_threads(8, |_| {
        for step in 0..500 {
            let index = step % 4;
            let result = file.read_exact_at(&mut [0; BLOCK], at(index));
            let error = result.err().and_then(|error| error.raw_os_error());
            assert_eq!(error, (index == 0).then_some(libc::EIO));
        }
    });
}
