//! Panics, counted in place of printed.

use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

static COUNT: AtomicU64 = AtomicU64::new(0);
static LAST: Mutex<String> = Mutex::new(String::new());

/// Does something with panics counted in place of printed.
pub fn counted<T>(work: impl FnOnce() -> T) -> T {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        COUNT.fetch_add(1, Relaxed);
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let result = work();
    panic::set_hook(before);
    result
}

/// How many there were.
pub fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// The result of something, or the message of the panic that it ended in.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| last())
}
