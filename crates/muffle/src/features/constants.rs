//! Constants of features that would otherwise be statistics of records: found on images that the program makes itself.

use crate::data::leaves;
use crate::error::Result;
use crate::moments::{SecondMoments, triangle};
use muffle_nn::{Batch, Engine, Network, Options, Purpose, Shape};
use nalgebra::{DMatrix, SymmetricEigen};
use std::sync::Arc;

/// From which the images follow.
const SEED: u64 = 7;
/// Images.
const IMAGES: usize = 512;
/// Images at a time.
const BATCH: usize = 128;
/// Variances are brought closer by this power: whole whitening, a half, would blow up what is next to nothing.
const POWER: f64 = 0.25;
/// The least variance that counts, over the mean.
const FLOOR: f64 = 1e-4;

/// Weights and biases of a layer of so many outputs for every place, which takes the channels of a transform: outputs have a mean of
/// zero, no correlation, and a variance of λ^(1/2) where the principal component has λ, over the places of synthetic images, strongest
/// first.
///
/// The images are scaled to mean zero and variance one as a whole, as inputs of networks usually are; groups are normalised before this layer,
/// so that the scale of the inputs does not matter.
pub(super) fn whitening(transform: Network, parameters: &[f32], outputs: usize) -> Result<Vec<f32>> {
    let Shape::Image { channels, .. } = transform.output() else { panic!("a transform of images") };
    let places = responses(transform, parameters)?;
    let rows = DMatrix::from_iterator(
        channels,
        places.len() / channels,
        places.iter().map(|value| f64::from(*value)),
    );
    let mean = rows.column_mean();
    let mut moments = SecondMoments::new(channels);
    let centred =
        DMatrix::from_fn(channels, rows.ncols(), |channel, place| rows[(channel, place)] - mean[channel]);
    moments.add(&centred);
    let covariance = triangle::mirrored(&triangle::of(moments.upper()), channels) / rows.ncols() as f64;
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(covariance);
    let mut order: Vec<usize> = (0..channels).collect();
    order.sort_by(|&left, &right| eigenvalues[right].total_cmp(&eigenvalues[left]));
    let least = FLOOR * eigenvalues.mean();
    // As convolutions have them in memory: the outputs of an input side by side.
    let (mut weights, mut biases) = (vec![0.0; channels * outputs], Vec::with_capacity(outputs));
    for (output, &component) in order[..outputs].iter().enumerate() {
        let vector = eigenvectors.column(component);
        // An eigenvector has no sign of its own.
        let factor = vector[vector.icamax()].signum() * eigenvalues[component].max(least).powf(-POWER);
        for (channel, value) in vector.iter().enumerate() {
            weights[channel * outputs + output] = (factor * value) as f32;
        }
        biases.push((-factor * vector.dot(&mean)) as f32);
    }
    Ok([weights, biases].concat())
}

/// What a transform makes of synthetic images: its channels for every place of every image.
fn responses(transform: Network, parameters: &[f32]) -> Result<Vec<f32>> {
    let (shape, width) = (transform.input(), transform.output().len());
    let images = leaves::scaled(shape, IMAGES, SEED);
    let mut engine = Engine::new(Arc::new(transform), Options::new(Purpose::Evaluate))?;
    let mut outputs = vec![0.0; IMAGES * width];
    for (images, outputs) in images.chunks(BATCH * shape.len()).zip(outputs.chunks_mut(BATCH * width)) {
        let batch = Batch::new(images.to_vec(), vec![0; images.len() / shape.len()]);
        engine.outputs(parameters, &batch, outputs)?;
    }
    Ok(outputs)
}
