//! Jobs done on many threads, their results taken in order.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

/// Jobs under way for each thread: one to do, one to wait.
const AHEAD: usize = 2;

/// A job or a result with its number.
type Numbered<T> = (u64, Result<T>);

/// Lets `work` do every job on one of so many threads, each with what `begin` gave it, and `take` have every result, in the order of
/// the jobs, on this thread. The first error ends it.
///
/// # Guarantee
/// At most [`AHEAD`] jobs for each thread are read and not taken yet, however many there are.
pub(super) fn run<J: Send, S, T: Send, D>(
    jobs: impl Iterator<Item = std::result::Result<J, D>> + Send,
    threads: usize,
    begin: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, J) -> Result<T> + Sync,
    take: impl FnMut(T) -> Result<()>,
) -> Result<()>
where
    Error: From<D>,
{
    let threads = threads.max(1);
    let (job_sender, job_receiver) = sync_channel::<Numbered<J>>(AHEAD * threads);
    let (result_sender, result_receiver) = sync_channel::<Numbered<T>>(AHEAD * threads);
    let (ticket_sender, ticket_receiver) = channel();
    for _ in 0..AHEAD * threads {
        ticket_sender.send(()).expect("the receiver is here");
    }
    let job_receiver = Mutex::new(job_receiver);
    thread::scope(|scope| {
        scope.spawn(move || read(jobs, &job_sender, &ticket_receiver));
        for _ in 0..threads {
            let (sender, jobs, begin, work) = (result_sender.clone(), &job_receiver, &begin, &work);
            scope.spawn(move || serve(jobs, &sender, begin, work));
        }
        drop(result_sender);
        // Returning drops the receivers and the tickets, and with them every thread comes to its end.
        collect(result_receiver, ticket_sender, take)
    })
}

/// Numbers the jobs, and waits with each until there is room for it.
fn read<J, D>(
    jobs: impl Iterator<Item = std::result::Result<J, D>>,
    sender: &SyncSender<Numbered<J>>,
    tickets: &Receiver<()>,
) where
    Error: From<D>,
{
    for (number, job) in jobs.enumerate() {
        let failed = job.is_err();
        if tickets.recv().is_err()
            || sender.send((number as u64, job.map_err(Error::from))).is_err()
            || failed
        {
            return;
        }
    }
}

/// Does one job after the other.
fn serve<J, S, T>(
    jobs: &Mutex<Receiver<Numbered<J>>>,
    sender: &SyncSender<Numbered<T>>,
    begin: impl Fn() -> Result<S>,
    work: impl Fn(&mut S, J) -> Result<T>,
) {
    let mut state = None;
    loop {
        let next = jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
        let Ok((number, job)) = next else { return };
        let result = job.and_then(|job| {
            let state = match &mut state {
                Some(state) => state,
                none => none.insert(begin()?),
            };
            work(state, job)
        });
        if sender.send((number, result)).is_err() {
            return;
        }
    }
}

/// Takes the results in the order of their numbers.
fn collect<T>(
    results: Receiver<Numbered<T>>,
    tickets: std::sync::mpsc::Sender<()>,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    for (number, result) in results {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&next) {
            take(result?)?;
            next += 1;
            // The reader may be at its end already.
            let _ = tickets.send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn results_come_in_order_and_few_jobs_are_under_way() {
        let (read, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        let jobs = (0..500u64).map(|job| {
            let ahead = read.fetch_add(1, Ordering::SeqCst) - taken.load(Ordering::SeqCst);
            assert!(ahead <= 3 * AHEAD as u64, "{ahead}");
            Ok::<_, Error>(job)
        });
        let work = |state: &mut u64, job: u64| {
            *state += 1;
            // Some jobs take longer than others.
            if job.is_multiple_of(7) {
                thread::yield_now();
            }
            Ok(job * job)
        };
        let mut results = Vec::new();
        run(
            jobs,
            3,
            || Ok(0),
            work,
            |result| {
                taken.fetch_add(1, Ordering::SeqCst);
                results.push(result);
                Ok(())
            },
        )
        .unwrap();
        assert!(results.iter().copied().eq((0..500).map(|job| job * job)));
    }

    #[test]
    fn the_first_error_ends_it_wherever_it_is_made() {
        let refuse = |reason: &str| Error::Plan(reason.to_string());
        let end = |bad_job: u64, bad_work: u64, bad_take: u64| {
            let jobs = (0..).map(move |job| if job == bad_job { Err(refuse("job")) } else { Ok(job) });
            let work = move |(): &mut (), job| if job == bad_work { Err(refuse("work")) } else { Ok(job) };
            let take = |result| if result == bad_take { Err(refuse("take")) } else { Ok(()) };
            run(jobs, 2, || Ok(()), work, take).unwrap_err().to_string()
        };
        let never = u64::MAX;
        assert_eq!([end(50, never, never), end(never, 50, never), end(60, 50, 40)], ["job", "work", "take"]);
    }
}
