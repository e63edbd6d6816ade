//! Poisoning: what wrong labels in the training data cost a model.

use super::{Entry, Trainings};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::side_by_side::side_by_side;
use crate::train::{Plan, train_in_memory};

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "poisoning",
    command: "poisoning",
    paper: "Biggio, Nelson, Laskov, Support vector machines under adversarial label noise, ACML; random flips",
    year: 2011,
    question: "what do wrong labels cost?",
    needs: "the attacker gives some of the training records a random wrong label, and sees nothing",
    steps: "train the recipe of the run again with a share of the training labels replaced by random other classes, each time \
            with the same randomness; more wrong labels include those of fewer",
    figure: "the accuracy on the test split, whose labels are right. A private model listens less to each record, so a few wrong \
             ones move it less; epsilon bounds that for a few records, not for a tenth of them. For two classes a share of 1 \
             turns everything around",
};

/// A model that was trained on wrong labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisoned {
    /// Share of training records with a wrong label.
    pub fraction: f64,
    /// Accuracy on the test split, whose labels are right.
    pub accuracy: f64,
}

/// Trains the plan with each share of wrong labels; `None` if it was stopped.
///
/// All models have the same randomness, and more wrong labels include those of fewer: what differs is the poison.
///
/// # Source
/// Biggio, Nelson and Laskov 2011, "Support vector machines under adversarial label noise": random flips, the attacker who
/// knows nothing.
pub fn poison(
    plan: &Plan,
    dataset: &Dataset,
    fractions: &[f64],
    trainings: &Trainings,
) -> Result<Option<Vec<Poisoned>>> {
    if let Some(outside) = fractions.iter().find(|fraction| !(0.0..=1.0).contains(*fraction)) {
        return Err(Error::Plan(format!("a share of {outside} of the records: it lies between 0 and 1")));
    }
    let found = side_by_side(fractions.len(), trainings.workers, &|place| {
        let fraction = fractions[place];
        let train = flipped(dataset, fraction, trainings.seed);
        let own = dataset.with_splits(train, dataset.test().split().clone())?;
        let key = Key::from_seed(trainings.seed);
        let Some(model) = train_in_memory(plan, &own, key, trainings.stop, trainings.after_step)? else {
            return Ok(None);
        };
        let accuracy = plan.evaluator(Some(1))?.evaluate(&model, &own.test())?.accuracy;
        Ok(Some(Poisoned { fraction, accuracy: accuracy.unwrap_or_default() }))
    })?;
    Ok(found.into_iter().collect())
}

/// The training split with a share of its labels wrong.
fn flipped(dataset: &Dataset, fraction: f64, seed: u64) -> Split {
    let train = dataset.train();
    let mut labels = train.split().labels().to_vec();
    let mut uniform = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Audit, 0));
    let mut order: Vec<usize> = (0..labels.len()).collect();
    uniform.shuffle(&mut order);
    let count = (fraction * labels.len() as f64).round() as usize;
    for &record in &order[..count] {
        labels[record] = uniform.wrong_class(labels[record], dataset.classes().len());
    }
    Split::classified(train.split().records.clone(), labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Records, Scaling, Visibility};
    use muffle_nn::Shape;

    #[test]
    fn labels_are_flipped_to_others_and_more_include_fewer() {
        let split =
            Split::classified(Records::Floats(vec![0.0; 40]), (0..40).map(|record| record % 3).collect());
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let scaling = Scaling::identity("as is");
        let visibility = Visibility::Public;
        let dataset =
            Dataset::new("x", Shape::Vector(1), classes, scaling, visibility, split.clone(), split.clone())
                .unwrap();
        let changed = |fraction: f64| -> Vec<(usize, u32)> {
            let labels = flipped(&dataset, fraction, 4).labels().to_vec();
            (0..40).filter(|&at| labels[at] != split.labels()[at]).map(|at| (at, labels[at])).collect()
        };
        assert_eq!([changed(0.0).len(), changed(0.25).len(), changed(1.0).len()], [0, 10, 40]);
        assert!(changed(0.25).iter().all(|change| changed(0.5).contains(change)));
    }
}
