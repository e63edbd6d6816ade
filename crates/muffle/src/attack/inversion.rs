//! Model inversion: an input of which a model is sure that it belongs to a class.

use super::Entry;
use super::image_prior::ImagePrior;
use crate::data::{Dataset, Records, View};
use crate::error::{Error, Result};
use muffle_nn::{Batch, Engine, Loss, Network, Options, Purpose, Shape, Target};
use std::sync::Arc;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "inversion",
    command: "inversion",
    paper: "Fredrikson, Jha, Ristenpart, Model inversion attacks that exploit confidence information and basic \
            countermeasures, CCS",
    year: 2015,
    question: "what does a class look like to the model?",
    needs: "the attacker holds the parameters and, with a prior, images of others without their classes",
    steps: "descend towards a class from the mean image along the main directions (--prior) of the images of the test split, weights of which \
            are pulled to what is usual, or without a prior from a grey image along the pixels; grey or colour images, networks that do \
            not mix examples, and dropout drops as in training",
    figure: "the probability that the model gives to the image, and its correlation with the mean image of the class in the training split, \
             and in the test split, each less the mean image of all where there is a prior. Where a class is one person, the image may be that \
             person; where it is many, it is at best their mean, which is no secret of one of them: what the training records give away of \
             themselves is the first correlation beyond the second",
};

/// Root mean square of the first change, in values of a pixel; changes shrink evenly to nothing.
const FIRST_CHANGE: f64 = 4.0;
/// The same of the weights of a prior.
const FIRST_CHANGE_OF_WEIGHTS: f64 = 0.1;
/// Grey, where the search begins.
const GREY: f32 = 127.5;

/// An image made from a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Inversion {
    /// Row by row, channels side by side.
    pub pixels: Vec<u8>,
    /// Probability that the model gave to the class at the beginning, for the mean image or a grey one.
    pub before: f64,
    /// Probability that it gives now.
    pub after: f64,
    /// Correlation of the image with the mean of all training images of the class, both less the mean of the prior.
    pub likeness: f64,
    /// The same with the mean of the test images of the class, which the model has not seen.
    pub likeness_elsewhere: f64,
}

/// What is changed step by step until the model is sure.
enum Canvas<'a> {
    Pixels(Vec<f32>),
    Weights(&'a ImagePrior, Vec<f32>),
}

impl Canvas<'_> {
    /// The pixels.
    fn image(&self) -> Vec<f32> {
        match self {
            Canvas::Pixels(pixels) => pixels.clone(),
            Canvas::Weights(prior, weights) => prior.image(weights),
        }
    }

    /// Takes a step against the gradient of the pixels, of a length that follows from the share of the steps that is left, since a sure
    /// model has small gradients. `false` if there is no direction.
    fn step(&mut self, gradient: &[f32], left: f64) -> bool {
        let (values, gradient, first) = match self {
            Canvas::Pixels(pixels) => (pixels, gradient.to_vec(), FIRST_CHANGE),
            Canvas::Weights(prior, weights) => (weights, prior.gradient(gradient), FIRST_CHANGE_OF_WEIGHTS),
        };
        let square: f64 = gradient.iter().map(|value| f64::from(*value).powi(2)).sum();
        let length = (square / gradient.len() as f64).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            return false;
        }
        let change = (first * left / length) as f32;
        values.iter_mut().zip(&gradient).for_each(|(value, slope)| *value -= change * slope);
        match self {
            Canvas::Pixels(pixels) => pixels.iter_mut().for_each(|pixel| *pixel = pixel.clamp(0.0, 255.0)),
            // Weights far from zero are those of no image: at a root mean square of one the pull is as strong as the push.
            Canvas::Weights(_, weights) => {
                let kept = (1.0 - first * left) as f32;
                weights.iter_mut().for_each(|weight| *weight *= kept);
            }
        }
        true
    }
}

/// Descends on the loss of a class by `steps` changes of the weights of a prior, from the mean image, or of the pixels, from a grey one.
///
/// # Source
/// Fredrikson, Jha and Ristenpart 2015, "Model inversion attacks that exploit confidence information and basic
/// countermeasures", Algorithm 1; changes have a fixed length, as a sure model has small gradients. With a prior after Zhang et al.
/// 2020, as in [`ImagePrior`].
pub fn invert(
    network: &Arc<Network>,
    parameters: &[f32],
    dataset: &Dataset,
    class: usize,
    steps: u32,
    prior: Option<usize>,
) -> Result<Inversion> {
    check(dataset, class)?;
    let options = Options { threads: Some(1), input_gradients: true, ..Options::new(Purpose::Plain) };
    let mut engine = Engine::new(network.clone(), options)?;
    let width = dataset.input().len();
    let prior = prior.map(|count| ImagePrior::new(dataset, count)).filter(|prior| !prior.is_empty());
    let mut canvas = match &prior {
        Some(prior) => Canvas::Weights(prior, vec![0.0; prior.len()]),
        None => Canvas::Pixels(vec![GREY; width]),
    };
    let mut inputs = vec![0.0; width];
    let mut gradient = vec![0.0; width];
    let slopes = slopes(dataset);
    let before = probability(network, parameters, dataset, &canvas.image(), class)?;
    for step in 0..steps {
        dataset.scaling().apply(&canvas.image(), &mut inputs);
        let batch = Batch::new(inputs.clone(), vec![class as u32]);
        let seed = u64::from(step);
        engine.input_gradients(parameters, &batch, Loss::SoftmaxCrossEntropy, seed, &mut gradient)?;
        for (place, value) in gradient.iter_mut().enumerate() {
            *value *= slopes[place % slopes.len()];
        }
        if !canvas.step(&gradient, f64::from(steps - step) / f64::from(steps)) {
            break;
        }
    }
    let pixels: Vec<u8> = canvas.image().iter().map(|pixel| pixel.round() as u8).collect();
    let seen: Vec<f32> = pixels.iter().map(|pixel| f32::from(*pixel)).collect();
    let after = probability(network, parameters, dataset, &seen, class)?;
    let usual = prior.map_or(vec![0.0; width], |prior| prior.mean().to_vec());
    let beyond =
        |image: &[f32]| image.iter().zip(&usual).map(|(pixel, usual)| pixel - usual).collect::<Vec<f32>>();
    let likeness = |view: &View| correlation(&beyond(&seen), &beyond(&mean_image(view, class)));
    let (likeness, likeness_elsewhere) = (likeness(&dataset.train()), likeness(&dataset.test()));
    Ok(Inversion { pixels, before, after, likeness, likeness_elsewhere })
}

fn check(dataset: &Dataset, class: usize) -> Result<()> {
    let refuse = |reason: String| Err(Error::Plan(reason));
    if class >= dataset.classes().len() {
        return refuse(format!(
            "there is no class {class}: the classes are {}",
            dataset.classes().join(", ")
        ));
    }
    let channels = match dataset.input() {
        Shape::Image { channels, .. } => channels,
        _ => 0,
    };
    match &dataset.train().split().records {
        Records::Bytes(_) if matches!(channels, 1 | 3) => Ok(()),
        _ => refuse(format!(
            "`{}` has no images: inversion makes pictures of grey or colour pixels, and records of shape {} are none",
            dataset.name(),
            dataset.input()
        )),
    }
}

/// How much an input changes with a pixel, by channel.
fn slopes(dataset: &Dataset) -> Vec<f32> {
    let channels = dataset.input().sizes()[0];
    let scaling = dataset.scaling();
    (0..channels).map(|channel| scaling.value(channel, 1.0) - scaling.value(channel, 0.0)).collect()
}

fn probability(
    network: &Arc<Network>,
    parameters: &[f32],
    dataset: &Dataset,
    pixels: &[f32],
    class: usize,
) -> Result<f64> {
    let mut inputs = vec![0.0; pixels.len()];
    dataset.scaling().apply(pixels, &mut inputs);
    let mut outputs = vec![0.0; network.output().len()];
    let options = Options { threads: Some(1), ..Options::new(Purpose::Evaluate) };
    let batch = Batch::new(inputs, vec![class as u32]);
    Engine::new(network.clone(), options)?.outputs(parameters, &batch, &mut outputs)?;
    let mut gradient = vec![0.0; outputs.len()];
    let loss = Loss::SoftmaxCrossEntropy.evaluate(&outputs, Target::Class(class as u32), &mut gradient);
    Ok(f64::from(-loss).exp())
}

/// The mean of the images of a class in a whole split, pixel by pixel.
fn mean_image(view: &View, class: usize) -> Vec<f32> {
    let width = view.dataset().input().len();
    let (mut sum, mut count) = (vec![0.0f64; width], 0.0f64);
    if let Records::Bytes(values) = &view.split().records {
        for (image, _) in values
            .chunks_exact(width)
            .zip(view.split().labels())
            .filter(|(_, label)| **label as usize == class)
        {
            sum.iter_mut().zip(image).for_each(|(sum, value)| *sum += f64::from(*value));
            count += 1.0;
        }
    }
    sum.into_iter().map(|sum| (sum / count.max(1.0)) as f32).collect()
}

/// Pearson's coefficient; zero if one of the two does not vary.
pub(super) fn correlation(one: &[f32], other: &[f32]) -> f64 {
    let mean =
        |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64;
    let (one_mean, other_mean) = (mean(one), mean(other));
    let (mut product, mut squares) = (0.0, (0.0, 0.0));
    for (a, b) in one.iter().zip(other) {
        let (a, b) = (f64::from(*a) - one_mean, f64::from(*b) - other_mean);
        product += a * b;
        squares = (squares.0 + a * a, squares.1 + b * b);
    }
    let scale = (squares.0 * squares.1).sqrt();
    if scale > 0.0 { product / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_by_hand() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0], &[1.0, 0.0, -1.0]) + 1.0).abs() < 1e-12);
        // Deviations (-1, 0, 1) and (-1, 2, -1).
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[0.0, 3.0, 0.0]), 0.0);
        assert_eq!(correlation(&[1.0, 1.0], &[0.0, 3.0]), 0.0);
    }
}
