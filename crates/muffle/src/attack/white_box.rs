//! Membership inference by all that the holder of the parameters sees of a record, and a network that learned what to make of it.

use super::membership::{FIGURE, QUESTION, Suspects};
use super::{Entry, Roc};
use crate::data::{Dataset, Records, Scaling, Split, View, Visibility};
use crate::error::Result;
use crate::learner::Learner;
use crate::optimizer::OptimizerChoice;
use crate::schedule::Scheduled;
use crate::train::{Evaluator, ModelChoice};
use muffle_nn::config::LayerConfig;
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Engine, Examples, Loss, ModelDescription, Network, Options, Purpose, Shape};
use std::sync::{Arc, Mutex, PoisonError};

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "hidden layers",
    command: "membership",
    paper: "Nasr, Shokri, Houmansadr, Comprehensive privacy analysis of deep learning, IEEE S&P",
    year: 2019,
    question: QUESTION,
    needs: "the attacker holds the parameters, and knows of half of the suspects whether they were trained on",
    steps: "of every suspect take the loss, the length of the gradient of every tensor, and where the last layer is dense its errors and \
            the hidden values before it; a small network learns from the known half who is a member, and scores the other half. Left \
            out where a network mixes examples",
    figure: FIGURE,
};

/// Hidden units of the attacker's network.
const HIDDEN: usize = 32;
/// Steps that it learns for, and records in each.
const STEPS: u64 = 600;
const BATCH: usize = 64;
/// Squares below this are all the same.
const LEAST_SQUARE: f64 = 1e-20;

/// A record is suspicious if a network says so that was taught by suspects of whom one knows.
///
/// The curve is of the half of the suspects that it was not taught by. The network must not mix examples.
///
/// # Source
/// Nasr, Shokri and Houmansadr 2019, "Comprehensive privacy analysis of deep learning", §III: the supervised white-box attack, with
/// lengths in place of convolutions over gradients.
pub fn by_hidden_layers(
    network: &Arc<Network>,
    parameters: &[f32],
    suspects: &Suspects,
    threads: Option<usize>,
    seed: u64,
) -> Result<Roc> {
    let width = width(network);
    let mut members = known_first(seen(network, parameters, &suspects.members, threads)?, width);
    let mut others = known_first(seen(network, parameters, &suspects.others, threads)?, width);
    let known = suspects.each().div_ceil(2);
    standardise(&mut [&mut members, &mut others], known, width);
    let split = |members: &[f32], others: &[f32]| {
        let labels = [members.len(), others.len()].map(|len| len / width);
        let labels = [vec![1; labels[0]], vec![0; labels[1]]].concat();
        Split::classified(Records::Floats([members, others].concat()), labels)
    };
    let at = known * width;
    let taught = Dataset::new(
        "suspects",
        Shape::Vector(width),
        vec!["other".to_string(), "member".to_string()],
        Scaling::identity("standardised"),
        Visibility::Private,
        split(&members[..at], &others[..at]),
        split(&members[at..], &others[at..]),
    )?;
    let learner = learner(width);
    let (_, attacker) = learner.network(Shape::Vector(width), 2)?;
    let weights = learner.teach(&attacker, &taught.train(), threads, seed)?;
    let asked = taught.test();
    let mut answers = vec![0.0; 2 * asked.len()];
    let options = Options { threads, ..Options::new(Purpose::Evaluate) };
    Engine::new(attacker, options)?.outputs(&weights, &asked, &mut answers)?;
    let scores: Vec<f64> = answers.chunks_exact(2).map(|pair| f64::from(pair[1] - pair[0])).collect();
    let (members, others) = scores.split_at(suspects.each() - known);
    Ok(Roc::new(members, others))
}

/// The attacker's network, and how it learns.
fn learner(width: usize) -> Learner {
    let dense = |features: usize| LayerConfig::Dense { features, bias: true }.into();
    let layers = vec![dense(HIDDEN), Activation::Tanh.into(), dense(2)];
    Learner {
        model: ModelChoice::from(&ModelDescription { input: Shape::Vector(width), layers }),
        steps: STEPS,
        batch_size: BATCH,
        learning_rate: Scheduled::Number(0.002),
        optimizer: OptimizerChoice::Adam { betas: [0.9, 0.999], constant: 1e-8 },
        initialisation: Default::default(),
        augmentation: Default::default(),
        moving_average: Some(0.98),
    }
}

/// Outputs and inputs of the last layer, if it is dense and has a bias.
fn last_dense(network: &Network) -> Option<(usize, usize)> {
    let [.., weight, bias] = network.parameters() else { return None };
    match (&weight.tensor.sizes[..], &bias.tensor.sizes[..]) {
        (&[outputs, inputs], &[same]) if outputs == same && outputs == network.output().len() => {
            Some((outputs, inputs))
        }
        _ => None,
    }
}

/// Numbers that are seen of a record.
fn width(network: &Network) -> usize {
    1 + network.parameters().len() + last_dense(network).map_or(0, |(outputs, inputs)| outputs + inputs)
}

/// What is seen of every record, one after the other.
fn seen(network: &Arc<Network>, parameters: &[f32], view: &View, threads: Option<usize>) -> Result<Vec<f32>> {
    let width = width(network);
    let losses = Evaluator::new(network.clone(), threads)?.losses(parameters, view)?;
    // A record without a finite gradient is left at what says nothing.
    let all = Mutex::new(vec![0.0f32; view.len() * width]);
    let visit = |record: usize, gradient: &mut [f32], _: &mut [f32]| {
        let mut own = vec![losses[record]];
        for parameter in network.parameters() {
            let values = gradient[parameter.range.clone()].iter();
            let square: f64 = values.map(|value| f64::from(*value).powi(2)).sum();
            own.push((square + LEAST_SQUARE).ln() as f32);
        }
        if let Some((outputs, inputs)) = last_dense(network) {
            let (weight, errors) =
                gradient[gradient.len() - outputs * (inputs + 1)..].split_at(outputs * inputs);
            own.extend(hidden_values(weight, errors));
            let mut errors = errors.to_vec();
            errors.sort_by(f32::total_cmp);
            own.extend(errors);
        }
        all.lock().unwrap_or_else(PoisonError::into_inner)[record * width..][..width].copy_from_slice(&own);
    };
    let mut engine = Engine::new(network.clone(), Options { threads, ..Options::new(Purpose::Plain) })?;
    engine.visit(parameters, view, Loss::SoftmaxCrossEntropy, 0, &visit)?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The inputs of a dense layer: its weights' gradient is the outer product of errors and inputs, and that of its bias the errors.
fn hidden_values(weight: &[f32], errors: &[f32]) -> Vec<f32> {
    let inputs = weight.len() / errors.len();
    let square: f64 = errors.iter().map(|error| f64::from(*error).powi(2)).sum();
    let value = |input: usize| {
        let rows = errors.iter().zip(weight.chunks_exact(inputs));
        let product: f64 = rows.map(|(error, row)| f64::from(*error) * f64::from(row[input])).sum();
        if square > LEAST_SQUARE { (product / square) as f32 } else { 0.0 }
    };
    (0..inputs).map(value).collect()
}

/// Every second record, from the first on, before the others: records may stand in an order, the easy before the difficult, of which the
/// attacker's network would otherwise learn one half and be asked about the other.
fn known_first(values: Vec<f32>, width: usize) -> Vec<f32> {
    let every_second = |first: usize| values.chunks_exact(width).skip(first).step_by(2);
    every_second(0).chain(every_second(1)).flatten().copied().collect()
}

/// Brings every number to mean zero and deviation one among the first `known` records of each kind; far values are cut.
fn standardise(kinds: &mut [&mut Vec<f32>], known: usize, width: usize) {
    for place in 0..width {
        let values = kinds.iter().flat_map(|kind| kind[..known * width].iter().skip(place).step_by(width));
        let (mut sum, mut squares, mut count) = (0.0f64, 0.0f64, 0.0f64);
        for value in values.filter(|value| value.is_finite()) {
            let value = f64::from(*value);
            (sum, squares, count) = (sum + value, squares + value * value, count + 1.0);
        }
        let mean = sum / count.max(1.0);
        let deviation = (squares / count.max(1.0) - mean * mean).max(0.0).sqrt().max(1e-6);
        for kind in kinds.iter_mut() {
            for value in kind.iter_mut().skip(place).step_by(width) {
                let standard = ((f64::from(*value) - mean) / deviation).clamp(-5.0, 5.0) as f32;
                *value = if standard.is_finite() { standard } else { 0.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_follow_from_gradients() {
        let (errors, hidden) = ([0.5f32, -0.25, -0.25], [1.0f32, -2.0]);
        let weight: Vec<f32> = errors.iter().flat_map(|error| hidden.map(|value| error * value)).collect();
        assert_eq!(hidden_values(&weight, &errors), hidden);
        assert_eq!(hidden_values(&[0.0; 6], &[0.0; 3]), [0.0; 2]);
    }

    #[test]
    fn every_second_record_is_known() {
        assert_eq!(known_first(vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5], 2), [0.0, 0.5, 2.0, 2.5, 1.0, 1.5]);
    }

    #[test]
    fn numbers_are_standardised_by_those_who_are_known() {
        let (mut one, mut other) = (vec![1.0, 5.0, 9.0, 5.0], vec![3.0, 5.0, f32::NAN, 5.0]);
        standardise(&mut [&mut one, &mut other], 1, 2);
        assert_eq!((one, other), (vec![-1.0, 0.0, 5.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]));
    }
}
