//! The system's allocator, which counts how much is in use.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Beyond this no memory is given: the process ends, and the input that was under way is on disk.
pub const MOST: usize = 4 << 30;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result of some work, and the most bytes that were in use at a time beyond those before.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// Counts more bytes in use, unless they are too many.
fn take(bytes: usize) -> bool {
    let now = IN_USE.fetch_add(bytes, Relaxed).saturating_add(bytes);
    if now > MOST {
        give_back(bytes);
        return false;
    }
    if now > PEAK.load(Relaxed) {
        PEAK.fetch_max(now, Relaxed);
    }
    true
}

fn give_back(bytes: usize) {
    IN_USE.fetch_sub(bytes, Relaxed);
}

/// What was taken for memory that the system did not give is given back.
fn unless_null(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        give_back(bytes);
    }
    pointer
}

// SAFETY: every call is passed on to the system's allocator as it came, or answered with null, as an allocator may.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unless_null(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unless_null(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's pointer and layout, which came from the system.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new may both be there for a moment.
        if !take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's pointer, layout and size; the pointer came from the system.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        give_back(if moved.is_null() { size } else { layout.size() });
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_was_given_back_too() {
        let take = |bytes: usize| drop(std::hint::black_box(vec![1u8; bytes]));
        let ((), peak) = measured(|| {
            take(3 << 20);
            take(1 << 20);
        });
        // Other tests of the crate take some as well, of a smaller order.
        assert!((3 << 20..7 << 19).contains(&peak), "{peak}");
    }

    #[test]
    fn nobody_gets_more_than_there_is() {
        let mut huge: Vec<u8> = Vec::new();
        assert!(huge.try_reserve_exact(MOST + 1).is_err());
    }
}
