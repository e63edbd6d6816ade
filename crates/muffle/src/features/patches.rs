//! Filters that nobody has to learn: small pieces of images that the program makes itself, made as unlike each other as their statistics
//! allow.

use crate::data::leaves;
use muffle_nn::Shape;
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::initialise::SplitMix;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use nalgebra::{DMatrix, SymmetricEigen};

/// Rows and columns of a filter, and so the fewest of an image.
pub(super) const SIDE: usize = 5;

/// From which the images and the choice of pieces follow.
const SEED: u64 = 11;
/// Images that pieces are cut out of.
const IMAGES: usize = 512;
/// Pieces whose mean and covariance whiten them.
const PIECES: usize = 40_000;
/// Filters at most: half of the pieces are of plain leaves, and not all others are needed.
pub(super) const MOST: usize = PIECES / 4;
/// Added to the variance of every principal component, over the variance of a pixel: what is next to nothing is not blown up.
const FLOOR: f64 = 0.015;
/// How far above its mean the answer of a filter must be to count, over its deviation.
const THRESHOLD: f64 = 0.25;

/// Places in each direction that one mean is taken over: as many as wavelets have.
const MEANS: usize = 4;

/// The layers: filters, what of their answers is above the threshold, means.
pub(super) fn layers(count: usize) -> Vec<Entry> {
    let [kernel, stride, padding] = [SIDE, 1, SIDE / 2].map(Extent::Square);
    let filters = LayerConfig::Conv2d { channels: count, kernel, stride, padding, groups: 1, bias: true };
    let [kernel, padding] = [MEANS, 0].map(Extent::Square);
    let means = LayerConfig::AveragePool { kernel, stride: None, padding };
    vec![filters.into(), Activation::Relu.into(), means.into()]
}

/// Weights and biases of a convolution of so many filters: what it answers is how much a place of an image looks like the filter's own piece
/// after both are whitened, less a threshold.
///
/// # Source
/// Coates, Ng 2011, "The importance of encoding versus training with sparse coding and vector quantization", random patches with a soft
/// threshold; here the patches are of dead leaves, so that no record is looked at.
pub(super) fn parameters(image: Shape, count: usize) -> Vec<f32> {
    let mut random = SplitMix::new(SEED);
    let images = leaves::scaled(image, IMAGES, SEED);
    let Shape::Image { height, width, channels } = image else { panic!("pieces of shape {image}") };
    let length = SIDE * SIDE * channels;
    let mut below = |limit: usize| ((random.uniform() * limit as f64) as usize).min(limit - 1);
    let mut pieces = DMatrix::zeros(length, PIECES);
    for mut piece in pieces.column_iter_mut() {
        let (which, top, left) = (below(IMAGES), below(height - SIDE + 1), below(width - SIDE + 1));
        for (row, values) in piece.as_mut_slice().chunks_exact_mut(SIDE * channels).enumerate() {
            let first = ((which * height + top + row) * width + left) * channels;
            values.iter_mut().zip(&images[first..]).for_each(|(value, pixel)| *value = f64::from(*pixel));
        }
    }
    let mean = pieces.column_mean();
    pieces.column_iter_mut().for_each(|mut piece| piece -= &mean);
    let covariance = &pieces * pieces.transpose() / PIECES as f64;
    let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(covariance);
    let scales = DMatrix::from_diagonal(&eigenvalues.map(|variance| (variance.max(0.0) + FLOOR).powf(-0.5)));
    let whitening = &eigenvectors * scales * eigenvectors.transpose();
    let white = &whitening * pieces;
    let mut energies: Vec<f64> = white.column_iter().map(|piece| piece.norm()).collect();
    energies.sort_by(f64::total_cmp);
    // A piece of a plain leaf looks like nothing.
    let least = energies[PIECES / 2];
    let chosen: Vec<usize> =
        (0..PIECES).filter(|piece| white.column(*piece).norm() > least).take(count).collect();
    let filters = DMatrix::from_fn(length, count, |row, filter| white[(row, chosen[filter])]);
    let mut filters = whitening * filters;
    for (filter, piece) in chosen.iter().enumerate() {
        let norm = white.column(*piece).norm();
        filters.column_mut(filter).unscale_mut(norm);
    }
    let biases: Vec<f32> =
        filters.column_iter().map(|filter| (-filter.dot(&mean) - THRESHOLD) as f32).collect();
    // As convolutions have them in memory: the outputs of an input side by side.
    let weights = filters.transpose().iter().map(|value| *value as f32).collect::<Vec<f32>>();
    [weights, biases].concat()
}
