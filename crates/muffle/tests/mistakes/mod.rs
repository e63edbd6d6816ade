//! Mistakes that private training is known for, each as the release of a step that says it is a Gaussian mechanism.

use muffle::clip::Flat;
use muffle::ledger::{Access, Ledger, Receipt};
use muffle::mechanism::{Deviations, Rule};
use muffle::methods::{Method, Release, Step};
use muffle_accounting::Event;

pub type Body = for<'a, 's> fn(Step<'a, 's>) -> muffle_nn::Result<Release<'a>>;

/// A method that says it is a Gaussian mechanism and does something else.
pub struct Mistaken(pub Body);

impl Method for Mistaken {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        (self.0)(step)
    }
}

/// A receipt for what a mistake really does in place of what it says: nobody but a test gets one so easily.
pub fn forged(receipt: &Receipt, release: Event) -> Receipt {
    Ledger::in_memory().pay_one(Access::all(receipt.purpose(), receipt.number(), release)).unwrap()
}

/// DP-SGD with another amount of noise than it says, and a factor on the result.
fn plain<'a>(step: Step<'a, '_>, noise: f64, factor: f32) -> muffle_nn::Result<Release<'a>> {
    let (bounded, unprotected) = step.gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
    let noise = noise * step.noise_multiplier;
    let event = if noise > 0.0 { Event::gaussian(noise) } else { Event::NonPrivate };
    let mut gradient = step.mechanism.release(bounded, noise, forged(&step.receipt, event));
    gradient.scale(factor);
    Ok(Release { gradient, unprotected })
}

/// A sum with factors of the mistake's own, and the noise of DP-SGD.
fn weighed<'a>(
    step: Step<'a, '_>,
    weigh: &(dyn Fn(&[f64], &mut [f32]) + Sync),
) -> muffle_nn::Result<Release<'a>> {
    let (sum, unprotected) = step.gradients.weighed(weigh)?;
    let claim = Event::Claimed { source: "a mistake".to_string(), epsilon: 0.0, delta: 0.0 };
    let deviations = Deviations::Tensors(vec![step.noise_multiplier as f32; sum.tensors()]);
    let gradient = step.mechanism.publish(sum, &deviations, forged(&step.receipt, claim));
    Ok(Release { gradient, unprotected })
}

fn correct<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    plain(step, 1.0, 1.0)
}

fn half_the_noise<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    plain(step, 0.5, 1.0)
}

fn no_noise_on_empty_batches<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    let noise = if step.gradients.examples.is_empty() { 0.0 } else { 1.0 };
    plain(step, noise, 1.0)
}

fn divided_by_the_batch<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    let factor = 1.0 / step.gradients.examples.len().max(1) as f32;
    plain(step, 1.0, factor)
}

fn one_tensor_unclipped<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    weighed(step, &|squares, factors| {
        factors[0] = (1.0 / squares[0].sqrt().max(1.0)) as f32;
        factors[1] = 1.0;
    })
}

fn clipped_after_averaging<'a>(mut step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    let (sum, _) = step.gradients.again().weighed(&|_, factors| factors.fill(1.0))?;
    let norm = sum.norms().iter().map(|norm| norm * norm).sum::<f64>().sqrt();
    // The mean is brought to length one, so the sum to that of the batch.
    let batch = step.gradients.examples.len() as f64;
    let factor = (batch / norm.max(batch)) as f32;
    weighed(step, &|_, factors| factors.fill(factor))
}

fn per_layer_taken_for_flat<'a>(step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
    weighed(step, &|squares, factors| {
        factors
            .iter_mut()
            .zip(squares)
            .for_each(|(factor, square)| *factor = (1.0 / square.sqrt().max(1.0)) as f32);
    })
}

/// A name, the step, and whether all steps share the noise of the first, which the mechanism of a step decides.
pub type Bug = (&'static str, Body, bool);

pub const BUGS: [Bug; 7] = [
    ("noise at half its scale", half_the_noise, false),
    ("no noise on empty batches", no_noise_on_empty_batches, false),
    ("division by the size of the batch", divided_by_the_batch, false),
    ("one tensor unclipped", one_tensor_unclipped, false),
    ("clipping after averaging", clipped_after_averaging, false),
    ("per-layer clipping taken for flat", per_layer_taken_for_flat, false),
    ("one draw of noise for all steps", correct, true),
];

pub const CORRECT: Bug = ("none", correct, false);

/// The share of twenty audits, each with a seed of its own, that catch a mistake: an entry of a table.
pub fn share(caught: &dyn Fn(u64) -> bool) -> String {
    const REPEATS: u64 = 20;
    let count = (1..=REPEATS).filter(|seed| caught(1000 + seed)).count() as u64;
    format!("{} %", 100 * count / REPEATS)
}
