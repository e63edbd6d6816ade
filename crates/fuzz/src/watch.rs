//! Notices an input that never ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longer than this on one input is for ever, however busy the machine is.
const FOR_EVER: Duration = Duration::from_secs(60);

/// How a process ends that hangs.
const HANGS: i32 = 3;

static START: OnceLock<Instant> = OnceLock::new();

/// Milliseconds from the start to the begin of the input that is under way.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Ends the process when an input has been under way for too long; the input is on disk by then.
pub fn watch() {
    let start = *START.get_or_init(Instant::now);
    begin();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let begun = Duration::from_millis(BEGUN.load(Relaxed));
            if start.elapsed().saturating_sub(begun) > FOR_EVER {
                eprintln!("an input has been under way for {} s: it hangs", FOR_EVER.as_secs());
                std::process::exit(HANGS);
            }
        }
    });
}

/// The next input begins.
pub fn begin() {
    if let Some(start) = START.get() {
        BEGUN.store(start.elapsed().as_millis() as u64, Relaxed);
    }
}
