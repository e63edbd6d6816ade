//! How long the gradients of records are, tensor by tensor. Nothing here is private: it is for records that the world has.

use crate::data::{Dataset, Visibility};
use crate::error::{Error, Result};
use crate::train::{Plan, ViewsOfRecord};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Engine, Examples, Loss, Options, Purpose};
use std::sync::Mutex;

/// The mean norm of every tensor of the gradients of single examples; each gradient times `factor` goes into the engine's sum.
pub fn mean_norms(
    engine: &mut Engine,
    parameters: &[f32],
    examples: &dyn Examples,
    loss: Loss,
    seed: u64,
    factor: f32,
) -> muffle_nn::Result<Vec<f64>> {
    let norms = Mutex::new(vec![Vec::new(); engine.network().parameters().len()]);
    let look = |squares: &[f64], factors: &mut [f32]| {
        let mut norms = norms.lock().expect("no call panics");
        norms.iter_mut().zip(squares).for_each(|(norms, square)| norms.push(square.sqrt()));
        factors.fill(factor);
    };
    engine.weighted_sum(parameters, examples, loss, seed, &look)?;
    // Threads come in any order, and a sum must not tell of it.
    let mean = |norms: &mut Vec<f64>| {
        norms.sort_by(f64::total_cmp);
        norms.iter().sum::<f64>() / norms.len().max(1) as f64
    };
    Ok(norms.into_inner().expect("no call panics").iter_mut().map(mean).collect())
}

/// Norms on the way of a plain training.
#[derive(Clone, Debug, PartialEq)]
pub struct NormsOverTraining {
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// The number of steps before a look, and the mean norm of every tensor over the batch of that step.
    pub looks: Vec<(u64, Vec<f64>)>,
}

impl NormsOverTraining {
    /// Descends without clip and noise, by the learning rate, the batch size and the first weights of a plan, and looks at every
    /// `every`-th step.
    ///
    /// # Source
    /// Ma, Kong, Huang 2023, figure 1.
    pub fn of(
        plan: &Plan,
        dataset: &Dataset,
        [steps, every]: [u64; 2],
        seed: u64,
        mut progress: impl FnMut(u64),
    ) -> Result<NormsOverTraining> {
        check(plan, dataset)?;
        let (training, train) = (&plan.recipe.training, dataset.train());
        let mut engine = Engine::new(plan.network.clone(), Options::new(Purpose::PerExample))?;
        let mut parameters = plan.initial_parameters(seed)?;
        let mut random = SplitMix::new(seed ^ DRAWS);
        let count = (training.batch_size as usize).min(train.len());
        let mut looks = Vec::new();
        for step in 0..steps {
            let drawn: Vec<usize> =
                (0..count).map(|_| (random.bits() % train.len() as u64) as usize).collect();
            let batch = train.select(drawn);
            let norms = mean_norms(&mut engine, &parameters, &batch, plan.loss, random.bits(), 1.0)?;
            if step % every == 0 {
                looks.push((step, norms));
            }
            let rate = training.learning_rate.at(plan.time(step)) as f32 / count as f32;
            let gradient = engine.gradient();
            parameters.iter_mut().zip(gradient).for_each(|(value, slope)| *value -= rate * slope);
            if parameters.iter().any(|value| !value.is_finite()) {
                return Err(Error::Plan(format!(
                    "the weights are no longer finite after {} steps; a smaller learning_rate than {} may help",
                    step + 1,
                    training.learning_rate.at(plan.time(step))
                )));
            }
            progress(step + 1);
        }
        let tensors = plan.network.parameters().iter().map(|tensor| tensor.name.clone()).collect();
        Ok(NormsOverTraining { tensors, looks })
    }
}

/// Sets the draws of batches apart from those of first weights.
const DRAWS: u64 = 0x006e_6f72_6d73;

fn check(plan: &Plan, dataset: &Dataset) -> Result<()> {
    let refuse = |reason: &str| Err(Error::Plan(reason.to_string()));
    if dataset.visibility() == Visibility::Private {
        return refuse(
            "norms of gradients say something of records and are not paid for here: give a published data set",
        );
    }
    let training = &plan.recipe.training;
    let other = [
        ("features", training.features.is_some()),
        ("principal_components", training.principal_components.is_some()),
        ("augmentation", training.augmentation != ViewsOfRecord::default()),
        ("class_weights", training.class_weights.is_some()),
        ("weight_standardisation", training.weight_standardisation),
    ];
    match other.into_iter().find(|(_, set)| *set) {
        Some((key, _)) => {
            refuse(&format!("norms are taken of plain descent on records as they are: remove {key}"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::{Batch, ModelDescription};
    use std::sync::Arc;

    /// A dense layer without noise: the gradient of the weights is the outer product of input and slope, that of the bias the slope.
    #[test]
    fn norms_by_hand() {
        let text = "input = [2]\nlayers = [{ type = \"dense\", features = 2 }]";
        let network = Arc::new(ModelDescription::from_toml(text).unwrap().network().unwrap());
        let mut engine = Engine::new(network, Options::new(Purpose::PerExample)).unwrap();
        // At zero weights both classes have probability one half, so that the slope is (∓½, ±½), of norm √½.
        let batch = Batch::new(vec![3.0, 4.0, 0.0, 1.0], vec![0, 1]);
        let norms = mean_norms(&mut engine, &[0.0; 6], &batch, Loss::SoftmaxCrossEntropy, 0, 1.0).unwrap();
        let slope = 0.5_f64.sqrt();
        let expected = [(5.0 + 1.0) / 2.0 * slope, slope];
        for (norm, expected) in norms.iter().zip(expected) {
            assert!((norm - expected).abs() < 1e-6, "{norms:?}");
        }
        // Both gradients are in the sum: the slopes of the biases cancel.
        assert!(engine.gradient()[4..].iter().all(|value| value.abs() < 1e-6), "{:?}", engine.gradient());
    }
}
