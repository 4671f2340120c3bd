//! The system's allocator, which says when there is no memory.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::emergency::out_of_memory;

/// The system's allocator. When it has nothing to give the process ends in order, with a sentence, instead of being
/// aborted.
#[derive(Clone, Copy, Debug)]
pub struct Allocator;

fn or_end(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        out_of_memory(size);
    }
    memory
}

// SAFETY: each method is the system's own, whose contract is the trait's; memory that is none is never returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the same contract, and all memory of ours is the system allocator's.
        or_end(unsafe { System.realloc(memory, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract, and all memory of ours is the system allocator's.
        unsafe { System.dealloc(memory, layout) }
    }
}
