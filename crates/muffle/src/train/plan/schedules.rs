//! How long schedules are.

use crate::error::{Error, Result};
use crate::schedule::TimeUnit;
use crate::train::GradientRecipe;

/// Schedules that do not say when they end do so with the run.
pub(super) fn end(training: &mut GradientRecipe, sample_rate: f64) -> Result<()> {
    let epochs = training.epochs.or_else(|| Some(training.steps? as f64 * sample_rate));
    let length = match training.schedule_unit {
        TimeUnit::Epoch => epochs,
        TimeUnit::Step => epochs.map(|epochs| epochs / sample_rate),
    };
    // A product that should be whole may be above it by one rounding.
    let length = length.map(|length| (length - 1e-9).ceil().max(1.0) as u64);
    let GradientRecipe { clip_schedule, noise_schedule, learning_rate, .. } = training;
    let ended = [
        ("clip_schedule", clip_schedule.as_mut().map(|schedule| schedule.end_with(length))),
        ("noise_schedule", noise_schedule.as_mut().map(|schedule| schedule.end_with(length))),
        ("learning_rate", Some(learning_rate.end_with(length))),
    ];
    for (key, ended) in ended {
        ended.unwrap_or(Ok(())).map_err(|reason| Error::Plan(format!("{key}: {reason}")))?;
    }
    Ok(())
}
