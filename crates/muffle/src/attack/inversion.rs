//! Model inversion: an input of which a model is sure that it belongs to a class.

use super::Entry;
use crate::data::{Dataset, Records};
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
    needs: "the attacker holds the parameters",
    steps: "descend on the pixels of a grey image towards a class, without a prior; grey or colour images, networks that do not \
            mix examples, and dropout drops as in training",
    figure: "the probability that the model gives to the image, and its correlation with the mean training image of the class. \
             Where a class is one person, the image may be that person; where it is many, it is at best their mean",
};

/// Root mean square of the first change, in values of a pixel; changes shrink evenly to nothing.
const FIRST_CHANGE: f64 = 4.0;
/// Grey, where the search begins.
const GREY: f32 = 127.5;

/// An image made from a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Inversion {
    /// Row by row, channels side by side.
    pub pixels: Vec<u8>,
    /// Probability that the model gave to the class at the beginning, for a grey image.
    pub before: f64,
    /// Probability that it gives now.
    pub after: f64,
    /// Correlation of the image with the mean of all training images of the class.
    pub likeness: f64,
}

/// Descends on the loss of a class from a grey image, by `steps` changes of the pixels.
///
/// # Source
/// Fredrikson, Jha and Ristenpart 2015, "Model inversion attacks that exploit confidence information and basic
/// countermeasures", Algorithm 1, without a prior; changes have a fixed length, as a sure model has small gradients.
pub fn invert(
    network: &Arc<Network>,
    parameters: &[f32],
    dataset: &Dataset,
    class: usize,
    steps: u32,
) -> Result<Inversion> {
    check(dataset, class)?;
    let options = Options { threads: Some(1), input_gradients: true, ..Options::new(Purpose::Plain) };
    let mut engine = Engine::new(network.clone(), options)?;
    let width = dataset.input().len();
    let mut pixels = vec![GREY; width];
    let mut inputs = vec![0.0; width];
    let mut gradient = vec![0.0; width];
    let slopes = slopes(dataset);
    let before = probability(network, parameters, dataset, &pixels, class)?;
    for step in 0..steps {
        dataset.scaling().apply(&pixels, &mut inputs);
        let batch = Batch::new(inputs.clone(), vec![class as u32]);
        let seed = u64::from(step);
        engine.input_gradients(parameters, &batch, Loss::SoftmaxCrossEntropy, seed, &mut gradient)?;
        for (place, value) in gradient.iter_mut().enumerate() {
            *value *= slopes[place % slopes.len()];
        }
        let square: f64 = gradient.iter().map(|value| f64::from(*value).powi(2)).sum();
        let length = (square / width as f64).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        let change = FIRST_CHANGE * f64::from(steps - step) / f64::from(steps) / length;
        for (pixel, value) in pixels.iter_mut().zip(&gradient) {
            *pixel = (*pixel - (change * f64::from(*value)) as f32).clamp(0.0, 255.0);
        }
    }
    let pixels: Vec<u8> = pixels.iter().map(|pixel| pixel.round() as u8).collect();
    let seen: Vec<f32> = pixels.iter().map(|pixel| f32::from(*pixel)).collect();
    let after = probability(network, parameters, dataset, &seen, class)?;
    let likeness = correlation(&seen, &mean_image(dataset, class));
    Ok(Inversion { pixels, before, after, likeness })
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

/// The mean of the training images of a class, pixel by pixel.
fn mean_image(dataset: &Dataset, class: usize) -> Vec<f32> {
    let (train, width) = (dataset.train(), dataset.input().len());
    let (mut sum, mut count) = (vec![0.0f64; width], 0.0f64);
    if let Records::Bytes(values) = &train.split().records {
        for (image, _) in values
            .chunks_exact(width)
            .zip(train.split().labels())
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
