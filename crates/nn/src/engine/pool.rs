//! The threads of an engine.

use crate::error::{Error, Result};
use std::cell::OnceCell;
use std::sync::Arc;

thread_local! {
    /// The single thread that the engines of this thread share, as long as this thread lives.
    static SINGLE: OnceCell<Arc<rayon::ThreadPool>> = const { OnceCell::new() };
}

/// So many threads. Engines of a single thread that are made on one thread share it: starting one takes longer than a small step does,
/// and they work in turn anyway.
pub(super) fn pool(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    if threads > 1 {
        return start(threads);
    }
    SINGLE.with(|single| match single.get() {
        Some(pool) => Ok(pool.clone()),
        None => start(1).map(|pool| single.get_or_init(|| pool).clone()),
    })
}

fn start(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Arc::new).map_err(|error| Error::Options(format!("threads: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_threads_are_shared_on_one_thread_and_by_nobody_else() {
        let first = pool(1).unwrap();
        assert!(Arc::ptr_eq(&first, &pool(1).unwrap()));
        let elsewhere = std::thread::spawn(|| pool(1).unwrap()).join().unwrap();
        assert!(!Arc::ptr_eq(&first, &elsewhere));
        assert_eq!((first.current_num_threads(), pool(2).unwrap().current_num_threads()), (1, 2));
    }
}
