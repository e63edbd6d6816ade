//! Signals: the first ends the work in good order, a later one at once.

use serde_json::json;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a command ends with that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Signals that come this close are one: `timeout`, shells and service managers send theirs to the process and once more to its
/// group.
const ONE: Duration = Duration::from_secs(1);

/// A flag that an interrupt or termination signal sets. From now on only a second signal ends the process by itself: what can be
/// lost at any time, such as a plan, belongs before this.
pub fn stop_on_interrupt() -> Result<Arc<AtomicBool>, Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, mut first) = (stop.clone(), None);
    ctrlc::set_handler(move || match first {
        None => {
            first = Some(Instant::now());
            flag.store(true, Ordering::Relaxed);
            eprintln!("\nstopping where nothing is lost; once more to stop at once");
        }
        Some(first) if first.elapsed() < ONE => {}
        Some(_) => std::process::exit(INTERRUPTED.into()),
    })?;
    Ok(stop)
}

/// What a command reports that was interrupted: what is there, and how to go on.
#[derive(Debug)]
pub struct Interrupted(String);

impl Interrupted {
    /// The end of a command that has printed what there is.
    pub fn with_result(advice: impl Into<String>) -> Box<dyn Error> {
        Box::new(Interrupted(advice.into()))
    }

    /// The end of a command that has nothing else to print.
    pub fn without_result(advice: impl Into<String>, json: bool) -> Box<dyn Error> {
        let advice = advice.into();
        if json {
            println!("{}", json!({ "interrupted": true, "next": advice }));
        }
        Interrupted::with_result(advice)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "interrupted: {}", self.0)
    }
}

impl Error for Interrupted {}
