//! Does each caller get its own data, whoever carries its requests?

use std::time::Duration;

use iostack_batch::BatchCost;
use iostack_merge::{File, Options, Policy, Simulated};
use iostack_testkit::folder;

use crate::pattern::new_file;
use crate::{BLOCK, on_threads};

/// Blocks that each thread writes.
const OWN: u64 = 8;
const ROUNDS: u64 = 24;

fn policies() -> impl Iterator<Item = Options> {
    // A plug of the published 3 ms would only make the test long.
    let unplug = Duration::from_micros(100);
    Policy::ALL.into_iter().map(move |policy| Options { policy, write: true, unplug, ..Options::default() })
}

/// Says which block it is, and when it was written.
fn pattern(block: u64, round: u64) -> Vec<u8> {
    let word = ((block << 32) | round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word.to_le_bytes().repeat(BLOCK / 8)
}

/// Each thread writes its own blocks and reads them back, and between reads a block that all read.
fn hammer(file: &File, threads: u64, what: &str) {
    let shared = threads * OWN;
    file.write_all_at(&pattern(shared, 0), shared * BLOCK as u64).expect("nothing is broken");
    on_threads(threads, |thread| {
        let mut buffer = vec![0; BLOCK];
        for round in 0..ROUNDS {
            let block = thread * OWN + round % OWN;
            let data = pattern(block, round);
            file.write_all_at(&data, block * BLOCK as u64).expect("nothing is broken");
            file.read_exact_at(&mut buffer, shared * BLOCK as u64).expect("nothing is broken");
            assert!(buffer == pattern(shared, 0), "{what}: the shared block, {thread} {round}");
            file.read_exact_at(&mut buffer, block * BLOCK as u64).expect("nothing is broken");
            assert!(buffer == data, "{what}: block {block}, thread {thread}, round {round}");
        }
    });
}

#[test]
fn each_caller_of_a_simulated_device_gets_its_own_data() {
    for options in policies() {
        for threads in [1, 2, 8, 32] {
            let cost = BatchCost { fixed_ns: 2000.0, each_ns: 500.0 };
            let file = options.simulated(&Simulated::new((threads * OWN + 1) as usize * BLOCK, cost));
            hammer(&file, threads, &format!("{:?}, {threads} threads", options.policy));
        }
    }
}

#[test]
fn each_caller_of_a_file_gets_its_own_data() {
    let folder = folder!("policies");
    let path = new_file(&folder, "data", &vec![0; (32 * OWN as usize + 1) * BLOCK]);
    for options in policies() {
        for threads in [1, 2, 8, 32] {
            let file = options.open(&path).expect("it was made");
            hammer(&file, threads, &format!("{:?}, {threads} threads", options.policy));
        }
    }
}

#[test]
fn a_small_batch_limit_loses_nobody() {
    for options in policies() {
        let cost = BatchCost { fixed_ns: 2000.0, each_ns: 500.0 };
        let options = Options { batch_max: 3, ..options };
        let file = options.simulated(&Simulated::new((16 * OWN + 1) as usize * BLOCK, cost));
        hammer(&file, 16, &format!("{:?}, batches of 3", options.policy));
    }
}

#[test]
fn an_error_of_one_is_not_the_others() {
    let bad = 5 * BLOCK as u64;
    for options in policies() {
        let cost = BatchCost { fixed_ns: 50_000.0, each_ns: 5000.0 };
        let device = Simulated::broken(16 * BLOCK, cost, bad..bad + 1);
        let file = &options.simulated(&device);
        on_threads(8, |thread| {
            let at = thread * BLOCK as u64;
            for round in 0..ROUNDS {
                let wrote = file.write_all_at(&pattern(thread, round), at);
                let mut buffer = vec![0; BLOCK];
                let read = file.read_exact_at(&mut buffer, at);
                if at == bad {
                    let errors = [wrote, read].map(|result| result.expect_err("broken").raw_os_error());
                    assert_eq!(errors, [Some(5), Some(5)]);
                } else {
                    wrote.and(read).expect("a sound block");
                    assert!(buffer == pattern(thread, round), "{:?}: block {thread}", options.policy);
                }
            }
        });
    }
}

#[test]
fn the_end_of_the_file_is_each_callers_own() {
    for options in policies() {
        let device = Simulated::new(4 * BLOCK, BatchCost { fixed_ns: 20_000.0, each_ns: 1000.0 });
        let file = &options.simulated(&device);
        on_threads(8, |thread| {
            let at = thread * BLOCK as u64 / 2 + BLOCK as u64;
            let left = (4 * BLOCK as u64).saturating_sub(at).min(BLOCK as u64) as usize;
            for _ in 0..ROUNDS {
                let read = file.read_at(&mut [0; BLOCK], at).expect("nothing is broken");
                assert_eq!(read, left, "{:?}: at {at}", options.policy);
            }
        });
    }
}
