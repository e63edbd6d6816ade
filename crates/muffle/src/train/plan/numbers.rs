//! Numbers that change from step to step, looked at before the first one: what no step could work with is refused while it is
//! still free.

use super::{Error, Pricing, Result, clip_factor};
use crate::mechanism::largest_multiplier;

/// Scales of noise, and thresholds, that leave room in single precision for what is made of them.
const SCALES: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

/// With less noise a step costs an epsilon of half a million and more: no noise at all says honestly what that is worth.
const LEAST_NOISE: f64 = 1e-3;

/// Checks learning rate, thresholds and noise of every step.
pub(super) fn check_numbers(pricing: Pricing, noise_multiplier: f64, steps: u64) -> Result<()> {
    let training = &pricing.recipe.training;
    // The largest and the smallest threshold of the rule; a method with others begins with these.
    let rule = training.clip.rule(pricing.network, 1.0).map_err(Error::Plan)?;
    let thresholds = rule.bounds().thresholds();
    let noisy = pricing.recipe.run.private && noise_multiplier != 0.0;
    let changed = |step: &u64| *step == 0 || pricing.time(*step) != pricing.time(step - 1);
    for step in (0..steps).filter(changed) {
        let rate = training.learning_rate.at(pricing.time(step));
        if !(rate >= 0.0 && rate <= *SCALES.end()) {
            return refuse("learning_rate", rate, step, "a finite number of at least zero and at most 1e30");
        }
        let factor = clip_factor(pricing, step)?;
        if let Some(threshold) = thresholds.iter().find(|threshold| !SCALES.contains(&(factor * **threshold)))
        {
            return refuse("the clip threshold", factor * threshold, step, "between 1e-30 and 1e30");
        }
        let noise = noise_multiplier * pricing.noise_factor(step);
        let most = largest_multiplier(pricing.network.parameter_len());
        if noisy && !(noise >= LEAST_NOISE && noise <= most) {
            let allowed = format!(
                "between {LEAST_NOISE} and {most:e}, or noise_multiplier = 0 for training that is not private"
            );
            return refuse("noise_multiplier times noise_schedule", noise, step, &allowed);
        }
        let scale = |threshold: &f64| noise * factor * threshold;
        if let Some(threshold) =
            thresholds.iter().find(|threshold| noisy && !SCALES.contains(&scale(threshold)))
        {
            return refuse(
                "noise_multiplier times the clip threshold",
                scale(threshold),
                step,
                "between 1e-30 and 1e30",
            );
        }
    }
    Ok(())
}

fn refuse(key: &str, value: f64, step: u64, allowed: &str) -> Result<()> {
    Err(Error::Plan(format!("{key} is {value:e} at step {step}; it has to be {allowed}")))
}
