//! Notices an input that never ends.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How often the watch looks.
const LOOK: Duration = Duration::from_secs(1);

/// More looks than this at one input are for ever, however busy the machine is. A process that is paused does not look either.
const FOR_EVER: u64 = 60;

/// How a process ends that hangs.
const HANGS: i32 = 3;

/// Inputs that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Ends the process when an input has been under way for too long; the input is on disk by then.
pub fn watch() {
    std::thread::spawn(|| {
        let (mut seen, mut looks) = (BEGUN.load(Relaxed), 0);
        loop {
            std::thread::sleep(LOOK);
            let now = BEGUN.load(Relaxed);
            looks = if now == seen { looks + 1 } else { 0 };
            seen = now;
            if looks > FOR_EVER {
                eprintln!("an input has been under way for {FOR_EVER} s: it hangs");
                std::process::exit(HANGS);
            }
        }
    });
}

/// The next input begins.
pub fn begin() {
    BEGUN.fetch_add(1, Relaxed);
}
