//! Extraction by equations: the weights of a linear model, solved for from its answers.

use super::Entry;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::train::Evaluator;
use crate::train::evaluation::predicted;
use muffle_nn::network::Operation;
use muffle_nn::{Batch, Engine, Examples, Network, Options, Purpose, Shape};
use std::sync::Arc;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "equation solving",
    command: "equations",
    paper: "Tramèr, Zhang, Juels, Reiter, Ristenpart, Stealing machine learning models via prediction APIs, USENIX Security; section 4.1",
    year: 2016,
    question: "what are the weights of a linear model, by asking it?",
    needs: "the attacker sees the model's probabilities for inputs of his choice, and knows that its one layer with weights is dense",
    steps: "ask about an input of zeros and about one for each input that differs from it there alone; differences of logarithms of \
            probabilities are linear in the inputs, so that these answers are the weights, as many as are needed and no more",
    figure: "how far the weights are off, over their norm, and the share of test records for which the copy says what the model says. A \
             model of d inputs is told by d + 1 answers, private or not: differential privacy protects records, not models",
};

/// How far an input is moved in a question: far enough for single precision, near enough for no probability to vanish.
const MOVED: f32 = 0.25;

/// A copy of a linear model.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// Questions asked.
    pub queries: usize,
    /// Norm of the error over that of the weights, both as differences to the first class, which is all that answers tell.
    pub error: f64,
    /// Share of test records for which the copy says what the model says.
    pub agreement: f64,
    /// Test records.
    pub judged_on: usize,
}

/// Solves for the weights of a model that is linear in its inputs, by its probabilities.
///
/// # Source
/// Tramèr, Zhang, Juels, Reiter and Ristenpart 2016, "Stealing machine learning models via prediction APIs", section 4.1, multiclass
/// logistic regression.
pub fn solve(network: &Arc<Network>, parameters: &[f32], dataset: &Dataset) -> Result<Equations> {
    check(network)?;
    let (inputs, classes) = (network.input().len(), network.output().len());
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate))?;
    let mut ask = |questions: Vec<f32>| -> Result<Vec<f64>> {
        let count = questions.len() / inputs;
        let mut outputs = vec![0.0; count * classes];
        engine.outputs(parameters, &Batch::new(questions, vec![0; count]), &mut outputs)?;
        Ok(outputs.chunks_exact(classes).flat_map(odds).collect())
    };
    let middle = ask(vec![0.0; inputs])?;
    let mut questions = vec![0.0; inputs * inputs];
    (0..inputs).for_each(|input| questions[input * inputs + input] = MOVED);
    let moved = ask(questions)?;
    // One row for each input, and the class counts fastest.
    let weights: Vec<f64> = moved
        .iter()
        .enumerate()
        .map(|(place, odds)| (odds - middle[place % classes]) / f64::from(MOVED))
        .collect();
    let truth = truth(network, parameters);
    let off: f64 = weights.iter().zip(&truth).map(|(found, truth)| (found - truth).powi(2)).sum();
    let norm: f64 = truth.iter().map(|weight| weight * weight).sum();
    let (mut agreed, test) = (0, dataset.test());
    let mut record = vec![0.0; inputs];
    Evaluator::new(network.clone(), None)?.for_each(parameters, &test, |place, outputs| {
        test.read(place, &mut record);
        agreed += usize::from(copy(&middle, &weights, &record) == predicted(outputs));
    })?;
    Ok(Equations {
        queries: inputs + 1,
        error: (off / norm.max(f64::MIN_POSITIVE)).sqrt(),
        agreement: agreed as f64 / test.len().max(1) as f64,
        judged_on: test.len(),
    })
}

/// The class that a copy says.
fn copy(biases: &[f64], weights: &[f64], record: &[f32]) -> usize {
    let mut scores = biases.to_vec();
    for (value, row) in record.iter().zip(weights.chunks_exact(biases.len())) {
        scores.iter_mut().zip(row).for_each(|(score, weight)| *score += f64::from(*value) * weight);
    }
    (0..scores.len()).max_by(|one, other| scores[*one].total_cmp(&scores[*other])).unwrap_or(0)
}

fn check(network: &Network) -> Result<()> {
    let linear = |operation: &Operation| matches!(operation, Operation::Layer(layer) if matches!(layer.kind(), "flatten" | "dense"));
    let dense = network.nodes().iter().filter(|node| !node.tensors.is_empty()).count();
    match network.nodes().iter().all(|node| linear(&node.operation)) && dense == 1 {
        true => Ok(()),
        false => Err(Error::Plan(
            "the model is not linear in its inputs: equations are solved for one dense layer; `muffle attack extraction` copies any model"
                .to_string(),
        )),
    }
}

/// Logarithms of the probabilities, less that of the first class: what an answer of probabilities tells.
fn odds(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let probability = |logit: &f32| (f64::from(logit - most).exp() / sum).max(f64::MIN_POSITIVE);
    logits.iter().map(|logit| probability(logit).ln() - probability(&logits[0]).ln()).collect()
}

/// The weights themselves, less those of the first class, in the same order.
fn truth(network: &Network, parameters: &[f32]) -> Vec<f64> {
    let (inputs, classes) = (network.input().len(), network.output().len());
    let rows = &parameters[network.parameters()[0].range.clone()];
    // Behind an image the layer has its weights channel by channel, and inputs are pixel by pixel.
    let column = |input: usize| match network.input() {
        Shape::Image { channels, .. } => input % channels * (inputs / channels) + input / channels,
        _ => input,
    };
    let at = |class: usize, input: usize| f64::from(rows[class * inputs + column(input)]);
    let places = (0..inputs * classes).map(|place| (place / classes, place % classes));
    places.map(|(input, class)| at(class, input) - at(0, input)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Records, Scaling, Split, Visibility};
    use muffle_nn::ModelDescription;
    use muffle_nn::initialise::{SplitMix, initial_parameters};

    fn images() -> Dataset {
        let mut random = SplitMix::new(3);
        let mut split = |count: usize| {
            let values = (0..count * 24).map(|_| random.normal()).collect();
            Split::classified(Records::Floats(values), (0..count).map(|place| (place % 3) as u32).collect())
        };
        let (train, test) = (split(30), split(200));
        let (classes, scaling) = (["a", "b", "c"].map(String::from).to_vec(), Scaling::identity("as is"));
        let shape = Shape::image(2, 3, 4);
        Dataset::new("images", shape, classes, scaling, Visibility::Public, train, test).unwrap()
    }

    fn network(layers: &str) -> Arc<Network> {
        let text = format!("input = [2, 3, 4]\nlayers = [{{ type = \"flatten\" }}, {layers}]");
        Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap())
    }

    #[test]
    fn a_linear_model_is_known_after_one_question_more_than_it_has_inputs() {
        let network = network("{ type = \"dense\", features = 3 }");
        let found = solve(&network, &initial_parameters(&network, 5), &images()).unwrap();
        assert_eq!((found.queries, found.judged_on), (25, 200));
        assert!(found.error < 1e-5 && found.agreement >= 0.995, "{found:?}");
    }

    #[test]
    fn other_models_are_refused() {
        let network = network("{ type = \"dense\", features = 5 }, { type = \"dense\", features = 3 }");
        let message = solve(&network, &initial_parameters(&network, 5), &images()).unwrap_err().to_string();
        assert!(message.contains("attack extraction"), "{message}");
    }
}
