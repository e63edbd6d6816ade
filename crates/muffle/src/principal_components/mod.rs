//! Private principal components: fewer features, chosen at the price of one Gaussian mechanism.
//!
//! ```
//! use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
//! use muffle::ledger::{Access, Ledger};
//! use muffle::{mechanism::Mechanism, noise::Key, principal_components};
//! use muffle_accounting::Event;
//! use muffle_nn::Shape;
//!
//! # let split = || Split::classified(Records::Floats(vec![3.0, 4.0, 0.1, 6.0, 8.0, 0.0]), vec![0, 1]);
//! # let classes = vec!["left".to_string(), "right".to_string()];
//! # let scaling = Scaling::identity("as measured");
//! # let dataset = Dataset::new("points", Shape::Vector(3), classes, scaling, Visibility::Public, split(), split())?;
//! let mechanism = Mechanism::new(Key::from_seed(1), 1.0); // a real run takes Key::from_entropy()
//! let access = Access::all(principal_components::PURPOSE, 0, Event::gaussian(16.0));
//! let receipt = Ledger::in_memory().pay_one(access)?; // a real run takes Ledger::open
//! let projection = principal_components::release(&dataset.train(), 2, 16.0, &mechanism, receipt)?;
//! let smaller = projection.apply(&dataset)?;
//! assert_eq!(smaller.input(), Shape::Vector(2));
//! # Ok::<(), muffle::Error>(())
//! ```

mod projection;
mod second_moments;
mod unit;

#[cfg(test)]
mod tests;

pub use projection::Projection;

use crate::data::{DataError, Result, View};
use crate::ledger::{Purpose, Receipt};
use crate::mechanism::{BoundedVector, Mechanism};
use crate::moments::triangle;
use crate::noise;
use nalgebra::SymmetricEigen;

/// What the ledger calls it.
pub const PURPOSE: Purpose = Purpose::with_noise("principal_components", noise::Purpose::StatisticNoise);

/// Most features of a record: the work grows with their cube, and 4,096 already take minutes.
const MAXIMUM_INPUTS: usize = 4096;

/// The directions along which the records, each scaled to unit length, extend the most.
///
/// The matrix XᵀX of the unit records gets symmetric Gaussian noise of standard deviation `noise_multiplier` on every
/// entry of its upper triangle, the diagonal included; its `dimensions` leading eigenvectors are the components.
///
/// # Source
/// Dwork, Talwar, Thakurta, Zhang 2014, "Analyze Gauss: optimal bounds for privacy-preserving principal component analysis",
/// Algorithm 1; as preparation for training, Abadi et al. 2016, section 4.
///
/// # Guarantee
/// One Gaussian mechanism of sensitivity 1 with the given noise multiplier over all records (a sampling rate of one), under
/// addition or removal of a record; the receipt is for that. A multiplier of zero adds nothing, and its receipt is one for
/// [`Event::NonPrivate`](muffle_accounting::Event::NonPrivate).
///
/// For: a record x of length at most 1 contributes xxᵀ, whose Frobenius norm is ‖x‖² ≤ 1. The matrix is symmetric, so its
/// upper triangle says all there is to say, and that triangle moves by at most 1 in L2 norm, being part of the matrix. Noise
/// of standard deviation σ on each entry of the triangle is the Gaussian mechanism with multiplier σ; mirroring the
/// triangle, taking eigenvectors and projecting any records on them add nothing to the price of the components (R9).
/// A record that is not finite, or all zeros, contributes nothing.
pub fn release(
    view: &View,
    dimensions: usize,
    noise_multiplier: f64,
    mechanism: &Mechanism,
    receipt: Receipt,
) -> Result<Projection> {
    let inputs = view.dataset().input().len();
    check(view, dimensions, noise_multiplier)?;
    let triangle = BoundedVector::l2(triangle::of(second_moments::of(view, inputs).upper()), 1.0);
    let (noisy, _) = mechanism.answer(triangle, noise_multiplier, receipt);
    let eigen = SymmetricEigen::new(triangle::mirrored(&noisy, inputs));
    let mut order: Vec<usize> = (0..inputs).collect();
    order.sort_by(|&left, &right| eigen.eigenvalues[right].total_cmp(&eigen.eigenvalues[left]));
    let mut components = Vec::with_capacity(dimensions * inputs);
    for &index in &order[..dimensions] {
        let vector = eigen.eigenvectors.column(index);
        // An eigenvector has no sign of its own: the largest entry is made positive, so that runs can be compared.
        let sign = vector[vector.icamax()].signum();
        components.extend(vector.iter().map(|value| (sign * value) as f32));
    }
    Projection::from_components(dimensions, components)
}

fn check(view: &View, dimensions: usize, noise_multiplier: f64) -> Result<()> {
    let inputs = view.dataset().input().len();
    let refuse = |reason: String| {
        let file = format!("principal components of data set `{}`", view.dataset().name());
        Err(DataError::Description { file, reason })
    };
    if inputs > MAXIMUM_INPUTS {
        return refuse(format!("records have {inputs} values; at most {MAXIMUM_INPUTS} can be analysed"));
    }
    if dimensions == 0 || dimensions > inputs {
        return refuse(format!("{dimensions} dimensions of {inputs} asked for; ask for 1 to {inputs}"));
    }
    let single = noise_multiplier as f32;
    if !(single > 0.0 && single.is_normal()) && noise_multiplier != 0.0 {
        return refuse(format!(
            "a noise multiplier of {noise_multiplier} is no standard deviation; take a positive number such as 4"
        ));
    }
    Ok(())
}
