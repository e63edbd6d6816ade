//! Independent pieces of work on several threads.

use crate::error::Result;
use muffle_nn::on_single_thread;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does `count` pieces of work, `workers` at a time, and returns their results in order, or the first error.
///
/// Threads of their own and not one pool: every piece of work has an engine with a pool, and a thread of one pool that waits for
/// another would take up the next piece meanwhile. With a single worker the pieces are done where they are asked for.
pub(crate) fn side_by_side<T: Send>(
    count: usize,
    workers: usize,
    work: &(dyn Fn(usize) -> Result<T> + Sync),
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<T>>>> = Mutex::new((0..count).map(|_| None).collect());
    let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return;
            }
            let result = work(place);
            if result.is_err() {
                // No further piece begins.
                next.store(count, Ordering::Relaxed);
            }
            lock()[place] = Some(result);
        }
    };
    match workers.clamp(1, count.max(1)) {
        1 => run(),
        workers => std::thread::scope(|scope| {
            for _ in 0..workers {
                // A piece that works on one thread by itself finds that thread here.
                scope.spawn(|| on_single_thread(run).unwrap_or_else(|_| run()));
            }
        }),
    }
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_are_in_order_and_an_error_ends_it() {
        assert_eq!(side_by_side(7, 3, &|place| Ok(place * place)).unwrap(), [0, 1, 4, 9, 16, 25, 36]);
        assert_eq!(side_by_side(0, 2, &Ok).unwrap(), [0usize; 0]);
        let begun = AtomicUsize::new(0);
        let failed = side_by_side(100, 1, &|place| {
            begun.fetch_add(1, Ordering::Relaxed);
            if place == 2 { Err(Error::Plan("no".to_string())) } else { Ok(()) }
        });
        assert_eq!((failed.unwrap_err().to_string(), begun.into_inner()), ("no".to_string(), 3));
    }
}
