//! What generated records are worth.

use super::generator::Generator;
use crate::data::{Dataset, Records, View};
use crate::error::Result;
use crate::learner::Learner;
use crate::picture::png;
use crate::train::{Evaluation, Evaluator};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Examples, Network, Shape};
use std::sync::Arc;

/// Records of each kind whose distances are taken: all pairs, so not too many.
const COMPARED: usize = 300;

/// Below this share of the distances between real records, generated ones are all but the same.
const COLLAPSED: f64 = 0.25;

/// How a network does on the test records that learned from the training records of a data set.
pub fn classify(
    learner: &Learner,
    network: &Arc<Network>,
    dataset: &Dataset,
    threads: Option<usize>,
    seed: u64,
) -> Result<(Evaluation, Vec<f32>)> {
    let parameters = learner.teach(network, &dataset.train(), threads, seed)?;
    let mut evaluator = Evaluator::new(network.clone(), threads)?;
    Ok((evaluator.evaluate(&parameters, &dataset.test())?, parameters))
}

/// How much generated records of one class differ, over how much real test records of it do: the least over the classes. Near one is
/// well; near zero the generator makes one record again and again.
pub fn diversity(generator: &mut Generator, test: &View, seed: u64) -> Result<Option<f64>> {
    let mut random = SplitMix::new(seed);
    let mut least: Option<f64> = None;
    let classes = generator.asked.classes;
    let asked: Vec<Option<u32>> = match classes {
        0 => vec![generator.asked.class],
        _ => (0..classes as u32)
            .filter(|class| generator.asked.shares[*class as usize] > 0.0)
            .map(Some)
            .collect(),
    };
    for class in asked {
        let own = |index: &usize| class.is_none_or(|class| test.label(*index) == class);
        let real: Vec<usize> = (0..test.len()).filter(own).take(COMPARED).collect();
        if real.len() < 2 {
            continue;
        }
        let width = test.dataset().input().len();
        let mut inputs = vec![0.0; real.len() * width];
        for (input, index) in inputs.chunks_exact_mut(width).zip(&real) {
            test.read(*index, input);
        }
        let (made, _) = generator.inputs(real.len(), class.filter(|_| classes > 0), &mut random)?;
        let ratio = mean_distance(&made, width) / mean_distance(&inputs, width).max(f64::MIN_POSITIVE);
        least = Some(least.map_or(ratio, |least| least.min(ratio)));
    }
    Ok(least)
}

/// Whether this diversity means that the generator has collapsed.
pub fn collapsed(diversity: f64) -> bool {
    diversity.is_nan() || diversity < COLLAPSED
}

/// The mean distance between two different records.
fn mean_distance(records: &[f32], width: usize) -> f64 {
    let rows: Vec<&[f32]> = records.chunks_exact(width).collect();
    let mut sum = 0.0;
    for (place, one) in rows.iter().enumerate() {
        for other in &rows[..place] {
            let square: f32 = one.iter().zip(*other).map(|(one, other)| (one - other) * (one - other)).sum();
            sum += f64::from(square).sqrt();
        }
    }
    sum / (rows.len() * (rows.len() - 1) / 2).max(1) as f64
}

/// So many generated images of each class in a column of its own, as a PNG; `None` for what is no image of one or three channels.
pub fn grid(generator: &mut Generator, rows: usize, seed: u64) -> Result<Option<Vec<u8>>> {
    let shape = generator.schema.shape();
    let classes = generator.asked.classes;
    let mut random = SplitMix::new(seed);
    let (mut columns, count) = (Vec::new(), if classes > 0 { classes } else { rows });
    for column in 0..count {
        let class = (classes > 0).then_some(column as u32);
        columns.push(generator.records(rows, class, &mut random)?.records);
    }
    let bytes: Option<Vec<Vec<u8>>> = columns.iter().map(|records| pixels(shape, records)).collect();
    Ok(bytes.map(|bytes| side_by_side(shape, &bytes, rows)))
}

/// Images in lines of ten as a PNG; `None` for what is no image of one or three channels.
pub fn picture(shape: Shape, records: &Records) -> Option<Vec<u8>> {
    const IN_A_LINE: usize = 10;
    let (mut bytes, image) = (pixels(shape, records)?, shape.len());
    let rows = (bytes.len() / image).div_ceil(IN_A_LINE);
    bytes.resize(rows * IN_A_LINE * image, 0);
    let place = |column: usize| (0..rows).map(move |row| row * IN_A_LINE + column);
    let column = |column: usize| -> Vec<u8> {
        place(column).flat_map(|place| bytes[place * image..][..image].iter().copied()).collect()
    };
    Some(side_by_side(shape, &(0..IN_A_LINE).map(column).collect::<Vec<_>>(), rows))
}

/// Columns of images as one picture.
fn side_by_side(shape: Shape, columns: &[Vec<u8>], rows: usize) -> Vec<u8> {
    let Shape::Image { height, width, channels } = shape else { panic!("{shape} is no image") };
    let columns: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    png(Shape::image(channels, height * rows, width), &columns)
}

/// Values as bytes, from the least to the most where they are no bytes.
fn pixels(shape: Shape, records: &Records) -> Option<Vec<u8>> {
    if !matches!(shape, Shape::Image { channels: 1 | 3, .. }) {
        return None;
    }
    if let Records::Bytes(bytes) = records {
        return Some(bytes.clone());
    }
    let values = records.clone().into_floats();
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let tone = |value: &f32| (255.0 * (value - least) / (most - least).max(f32::MIN_POSITIVE)) as u8;
    Some(values.iter().map(tone).collect())
}
