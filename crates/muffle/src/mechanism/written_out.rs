//! Gradients written out one by one, for bounds that no short cut to a norm can give.

use super::{Gradients, Unprotected};
use muffle_nn::kernel::elementwise::{add, squared_norm};
use muffle_nn::kernel::limited::largest;
use muffle_nn::{Excluded, Result};
use std::sync::Mutex;

/// Sums the gradients of all examples, each as `bound` leaves it.
///
/// # Guarantee
/// Every finite gradient passes through `bound` before it is added, once for each record with all its views; one that is not
/// finite is left out.
pub(super) fn sum_bounded(
    gradients: Gradients,
    bound: &(dyn Fn(usize, &mut [f32]) + Sync),
) -> Result<Unprotected> {
    let Gradients { engine, parameters, examples, loss, seed } = gradients;
    let excluded = Mutex::new(Vec::new());
    let visit = |example: usize, gradient: &mut [f32], sum: &mut [f32]| {
        if !largest(gradient).is_finite() {
            let place = "the gradient".to_string();
            excluded.lock().expect("no visit panics").push(Excluded { example, place });
            return;
        }
        bound(example, gradient);
        add(sum, gradient);
    };
    let mut outcome = engine.visit(parameters, examples, loss, seed, &visit)?;
    outcome.excluded.append(&mut excluded.into_inner().expect("no visit panics"));
    // Threads finish in any order.
    outcome.excluded.sort_by_key(|excluded| excluded.example);
    Ok(Unprotected(outcome))
}

/// Scales a vector to an L2 norm of at most `threshold`.
pub(super) fn shorten(vector: &mut [f32], threshold: f64) {
    let factor = crate::clip::factor(squared_norm(vector), threshold);
    vector.iter_mut().for_each(|value| *value *= factor);
}
