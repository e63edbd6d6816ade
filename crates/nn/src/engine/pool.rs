//! The threads of an engine.

use crate::error::{Error, Result};
use std::cell::OnceCell;
use std::sync::{Arc, Weak};

thread_local! {
    /// The single thread that the engines of this thread share, as long as this thread lives.
    static SINGLE: OnceCell<Arc<rayon::ThreadPool>> = const { OnceCell::new() };
    /// The pool whose single thread this is.
    static OWN: OnceCell<Weak<rayon::ThreadPool>> = const { OnceCell::new() };
}

/// So many threads. Engines of a single thread that are made on one thread share it: starting one takes longer than a small step does,
/// and they work in turn anyway.
pub(super) fn pool(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    if threads > 1 {
        return start(threads);
    }
    if let Some(own) = OWN.with(|own| own.get().and_then(Weak::upgrade)) {
        return Ok(own);
    }
    SINGLE.with(|single| match single.get() {
        Some(pool) => Ok(pool.clone()),
        None => start_single().map(|pool| single.get_or_init(|| pool).clone()),
    })
}

/// Works where engines of a single thread do that are made here or within: otherwise every part of a step is handed to their thread and
/// waited for, which takes longer than a small step does.
///
/// # Errors
/// If the thread cannot be started.
pub fn on_single_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(pool(1)?.install(work))
}

fn start_single() -> Result<Arc<rayon::ThreadPool>> {
    let pool = start(1)?;
    let itself = Arc::downgrade(&pool);
    pool.install(|| OWN.with(|own| own.set(itself)).expect("a new thread belongs to one pool"));
    Ok(pool)
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

    #[test]
    fn whoever_works_on_a_single_thread_finds_it_there() {
        let first = pool(1).unwrap();
        let within = on_single_thread(|| (std::thread::current().id(), pool(1).unwrap())).unwrap();
        assert!(Arc::ptr_eq(&first, &within.1));
        assert_eq!(within.0, first.install(|| std::thread::current().id()));
        assert_ne!(within.0, std::thread::current().id());
    }
}
