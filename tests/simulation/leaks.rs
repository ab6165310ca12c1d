//! Counts the blocks of memory that this thread holds. A program lives on one thread, so what it does not give back
//! (a timer, a waker, a place in a queue, a cycle of owners) stays in the count.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static BLOCKS: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator does the work; counting allocates nothing, and the count needs no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.with(|blocks| blocks.set(blocks.get() + 1));
        // SAFETY: passed on from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BLOCKS.with(|blocks| blocks.set(blocks.get() - 1));
        // SAFETY: passed on from the caller.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: passed on from the caller.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Blocks allocated on this thread and not freed on it.
pub fn blocks() -> i64 {
    BLOCKS.with(Cell::get)
}
