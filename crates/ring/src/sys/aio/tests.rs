//! Does what is submitted come back, by its slot, with and without a call?

use std::os::fd::AsRawFd;

use super::*;
use crate::sys::memory_file::{BLOCK, WHOLE, numbered, permitted};

/// More than one call collects.
const COUNT: u32 = 200;

/// `None`, said aloud, where no contexts are to be had.
fn context(test: &str) -> Option<Context> {
    permitted(test, Context::new(COUNT))
}

/// Reads a file of numbered blocks and writes other numbers over them; how many calls the waits took.
fn reads_and_writes(context: &mut Context) -> u32 {
    let file = numbered(COUNT as u8);
    let mut memory = vec![[0xEE; BLOCK]; COUNT as usize];
    let mut calls = 0;
    for (write, more) in [(false, 0), (true, 0), (false, 7)] {
        let block = |(memory, slot): (&mut [u8; BLOCK], u32)| {
            let offset = u64::from(slot) * BLOCK as u64;
            ControlBlock::new(slot, write, file.as_raw_fd(), memory.as_mut_ptr(), BLOCK as u32, offset)
        };
        let blocks: Vec<_> = memory.iter_mut().zip(0..).map(block).collect();
        assert_eq!(blocks[9].slot(), 9);
        let pointers: Vec<_> = blocks.iter().map(std::ptr::from_ref).collect();
        // SAFETY: the blocks live for the call, and `memory` until all have come back, below.
        assert_eq!(unsafe { context.submit(&pointers) }.cast_unsigned(), pointers.len());
        let mut slots = Vec::new();
        while slots.len() < COUNT as usize {
            calls += u32::from(context.wait(1, None).expect("some are in flight"));
            assert!(context.is_ready());
            let before = slots.len();
            context.reap(50, |slot, result| {
                assert_eq!(result, WHOLE);
                slots.push(slot);
            });
            assert!((1..=50).contains(&(slots.len() - before)), "no more than were asked for");
        }
        assert!(!context.is_ready());
        slots.sort_unstable();
        assert!(slots.into_iter().eq(0..COUNT), "each comes once");
        for (block, number) in memory.iter_mut().zip(0_u8..) {
            if !write {
                assert_eq!(*block, [number.wrapping_add(more); BLOCK]);
            }
            block.fill(number.wrapping_add(7));
        }
    }
    calls
}

#[test]
fn completions_that_are_there_cost_no_call() {
    let Some(mut context) = context("completions_that_are_there_cost_no_call") else { return };
    if context.ring_count == 0 {
        println!("SKIPPED completions_that_are_there_cost_no_call: the kernel's ring is another");
        return;
    }
    // Buffered, all are through when they are submitted.
    assert_eq!(reads_and_writes(&mut context), 0);
    assert!(!context.wait(0, None).expect("nothing is waited for"));
}

#[test]
fn completions_come_by_calls_where_the_ring_cannot_be_read() {
    let Some(mut context) = context("completions_come_by_calls_where_the_ring_cannot_be_read") else {
        return;
    };
    context.ring_count = 0;
    // Two for 200 of which a call brings 128, three times.
    assert_eq!(reads_and_writes(&mut context), 6);
}

#[test]
fn a_wait_for_nothing_ends_in_time() {
    let Some(mut context) = context("a_wait_for_nothing_ends_in_time") else { return };
    assert_eq!(context.wait(1, Some(1_000)), Ok(true));
    assert!(!context.is_ready());
}

#[test]
fn a_block_for_no_file_is_refused() {
    let Some(mut context) = context("a_block_for_no_file_is_refused") else { return };
    let mut memory = [0; BLOCK];
    let block = ControlBlock::new(3, false, -1, memory.as_mut_ptr(), BLOCK as u32, 0);
    // SAFETY: the block lives for the call, which takes nothing.
    assert_eq!(unsafe { context.submit(&[&raw const block]) }, -(libc::EBADF as isize));
}
