//! How good a generator is, and whether it has learned records by heart. Plain statistics of real records: no epsilon covers them.

use super::distances::{correlations, coverage, frechet, nearest};
use super::generator::Generator;
use super::measure::{classify, diversity};
use crate::data::column::Column;
use crate::data::{Dataset, View};
use crate::error::Result;
use crate::learner::Learner;
use muffle_nn::{Engine, Examples, ModelDescription, Network, Options, Purpose, Shape};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records of each kind whose distances are taken.
const COMPARED: usize = 1000;
/// Parts of a column of numbers in which its values are counted.
const BINS: usize = 20;

/// What is asked of a generator.
pub struct Question<'a> {
    /// Real records: those it learned from, and others.
    pub dataset: &'a Dataset,
    /// How a classifier learns, if there are classes.
    pub classifier: Option<&'a Learner>,
    /// Records to generate.
    pub count: usize,
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
    /// Of everything random.
    pub seed: u64,
}

/// What generated records are worth, each figure beside that of real ones where there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Generated records that were measured.
    pub records: usize,
    /// Accuracy on real test records of a classifier that learned from generated ones.
    pub synthetic_accuracy: Option<f64>,
    /// The same of one that learned from real ones.
    pub real_accuracy: Option<f64>,
    /// Accuracy on generated records of one that learned from real ones.
    pub accuracy_on_synthetic: Option<f64>,
    /// The Fréchet distance between generated and test records.
    pub frechet_distance: f64,
    /// The same between training and test records: what a perfect generator would have.
    pub frechet_distance_of_real: f64,
    /// In which features distances are taken.
    pub features: String,
    /// The share of test records with a generated one in their surroundings.
    pub coverage: f64,
    /// The same with training records in place of generated ones.
    pub coverage_of_real: f64,
    /// The mean distance from a generated record to the nearest training record over that to the nearest test record, of as many:
    /// far below one, records are learned by heart.
    pub nearest_training_over_test: f64,
    /// How much generated records of a class differ, over how much real ones do.
    pub diversity: Option<f64>,
    /// For tables: the largest difference of shares, over all values of a column, by column.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub marginals: BTreeMap<String, f64>,
    /// For tables: the mean difference of the correlations of all pairs of inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlations: Option<f64>,
}

impl Generator {
    /// Measures what it makes.
    pub fn quality(&mut self, question: &Question) -> Result<Quality> {
        let Question { dataset, count, threads, seed, .. } = *question;
        let made = self.in_place_of(dataset, count, seed)?;
        let mut quality = Quality { records: count, ..Quality::default() };
        let mut features = Features::inputs(dataset.input().len());
        if let Some(learner) =
            question.classifier.filter(|_| !dataset.classes().is_empty() && self.asked.classes > 0)
        {
            let (described, network) = learner.network(dataset.input(), dataset.classes().len())?;
            let (synthetic, _) = classify(learner, &network, &made, threads, seed)?;
            let (real, parameters) = classify(learner, &network, dataset, threads, seed)?;
            let mut evaluator = crate::train::Evaluator::new(network, threads)?;
            let on_made = evaluator.evaluate(&parameters, &made.train())?;
            (quality.synthetic_accuracy, quality.real_accuracy) = (synthetic.accuracy, real.accuracy);
            quality.accuracy_on_synthetic = on_made.accuracy;
            features = Features::hidden(&described, parameters, threads)?.unwrap_or(features);
        }
        let mut of = |view: &View| features.of(&spread(view, COMPARED));
        let (train, test, new) = (of(&dataset.train())?, of(&dataset.test())?, of(&made.train())?);
        let width = features.width;
        quality.features = features.about;
        quality.frechet_distance = frechet(&new, &test, width);
        quality.frechet_distance_of_real = frechet(&train, &test, width);
        quality.coverage = coverage(&test, &new, width);
        quality.coverage_of_real = coverage(&test, &train, width);
        quality.nearest_training_over_test = memorised(dataset, &made);
        quality.diversity = diversity(self, &dataset.test(), seed)?;
        if !dataset.columns().is_empty() {
            quality.marginals = marginals(dataset.columns(), &read(&dataset.test()), &read(&made.train()));
            quality.correlations = Some(correlated(&read(&dataset.test()), &read(&made.train()), dataset));
        }
        Ok(quality)
    }
}

/// So many records of a view, spread over all of it.
fn spread<'a>(view: &View<'a>, count: usize) -> View<'a> {
    let count = count.min(view.len());
    view.select((0..count).map(|place| view.record(place * view.len() / count.max(1))).collect::<Vec<_>>())
}

/// All inputs of a view.
fn read(view: &View) -> Vec<f32> {
    let width = view.dataset().input().len();
    let mut inputs = vec![0.0; view.len() * width];
    inputs.chunks_exact_mut(width).enumerate().for_each(|(record, input)| view.read(record, input));
    inputs
}

/// The mean distance to training records over that to test records, both of the same number.
fn memorised(dataset: &Dataset, made: &Dataset) -> f64 {
    let (width, count) =
        (dataset.input().len(), dataset.test().len().min(dataset.train().len()).min(10 * COMPARED));
    let new = read(&spread(&made.train(), COMPARED));
    let mean = |view: &View| {
        let distances = nearest(&new, &read(&spread(view, count)), width);
        distances.iter().map(|distance| f64::from(*distance)).sum::<f64>()
    };
    mean(&dataset.train()) / mean(&dataset.test()).max(f64::MIN_POSITIVE)
}

/// What stands for a record where distances are taken.
struct Features {
    about: String,
    width: usize,
    network: Option<(Engine, Vec<f32>)>,
}

impl Features {
    fn inputs(width: usize) -> Features {
        Features { about: "the inputs themselves".to_string(), width, network: None }
    }

    /// The last hidden values of a classifier; `None` if it has none.
    fn hidden(
        described: &ModelDescription,
        mut parameters: Vec<f32>,
        threads: Option<usize>,
    ) -> Result<Option<Features>> {
        let [before @ .., _] = &described.layers[..] else { return Ok(None) };
        let layers = before.to_vec();
        let network = match Network::new(described.input, &layers) {
            Ok(network) if matches!(network.output(), Shape::Vector(_)) => network,
            _ => return Ok(None),
        };
        parameters.truncate(network.parameter_len());
        let (width, options) =
            (network.output().len(), Options { threads, ..Options::new(Purpose::Evaluate) });
        let about =
            format!("the {width} last hidden values of the recipe's classifier, trained on real records");
        let engine = Engine::new(Arc::new(network), options)?;
        Ok(Some(Features { about, width, network: Some((engine, parameters)) }))
    }

    fn of(&mut self, view: &View) -> Result<Vec<f32>> {
        let Some((engine, parameters)) = &mut self.network else { return Ok(read(view)) };
        let mut features = vec![0.0; view.len() * self.width];
        engine.outputs(parameters, view, &mut features)?;
        Ok(features)
    }
}

/// The total variation between the values of each column: of categories, or of numbers in parts of their range.
fn marginals(columns: &[Column], real: &[f32], made: &[f32]) -> BTreeMap<String, f64> {
    let width: usize = columns.iter().map(Column::width).sum();
    let mut found = BTreeMap::new();
    let mut place = 0;
    for column in columns {
        let own = place..place + column.width();
        let shares = |rows: &[f32]| {
            let mut counts = vec![0.0; BINS.max(column.width())];
            for row in rows.chunks_exact(width) {
                let bin = match (column.has_categories(), &row[own.clone()]) {
                    (true, cell) => cell.iter().position(|value| *value > 0.5).unwrap_or(0),
                    (false, cell) => ((0.5 * (cell[0] + 1.0) * BINS as f32) as usize).min(BINS - 1),
                };
                counts[bin] += 1.0 / (rows.len() / width) as f64;
            }
            counts
        };
        let differences =
            shares(real).into_iter().zip(shares(made)).map(|(one, other): (f64, f64)| (one - other).abs());
        found.insert(column.name.clone(), 0.5 * differences.sum::<f64>());
        place += column.width();
    }
    found
}

/// The mean difference of correlations, over all pairs of different inputs.
fn correlated(real: &[f32], made: &[f32], dataset: &Dataset) -> f64 {
    let width = dataset.input().len();
    let difference = correlations(real, width) - correlations(made, width);
    difference.abs().sum() / (width * (width - 1)).max(1) as f64
}
