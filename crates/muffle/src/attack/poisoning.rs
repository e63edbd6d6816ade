//! Poisoning: what an attacker does to a model who changes, adds or takes away training records.

use super::{Entry, Trainings};
use crate::data::{Dataset, Split, View};
use crate::error::{Error, Result};
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::side_by_side::side_by_side;
use crate::train::{Plan, train_in_memory};
use muffle_nn::Examples;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "poisoning",
    command: "poisoning",
    paper: "Biggio, Nelson, Laskov, Support vector machines under adversarial label noise, ACML; random flips, inserted and deleted \
            records",
    year: 2011,
    question: "what do wrong, inserted and deleted records cost?",
    needs: "the attacker gives some of the training records a random wrong label, adds records that look like one class and are labelled \
            as another, or takes records of one class away, and sees nothing",
    steps: "train the recipe of the run again with a share of the training labels replaced by random other classes (--poison labels), with \
            so many copies of records of the class (--class) added under the next class's label (inserted), or without so many of its \
            records (deleted), each time with the same randomness; more poison includes that of less",
    figure: "the accuracy on the test split, whose labels are right, and of it on the class that is aimed at. Shares are of all training \
             records, those of deleted ones of the records of the class. A private model listens less to each record, so a few wrong \
             ones move it less; epsilon bounds that for a few records, not for a tenth of them. For two classes a share of 1 of \
             wrong labels turns everything around",
};

/// What the attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// Gives records a random wrong label.
    Labels,
    /// Adds copies of records of this class, labelled as the next one.
    Inserted {
        /// The class that is aimed at.
        class: usize,
    },
    /// Takes records of this class away.
    Deleted {
        /// The class that is aimed at.
        class: usize,
    },
}

impl Poison {
    /// The class that is aimed at, if it is one.
    pub fn class(self) -> Option<usize> {
        match self {
            Poison::Labels => None,
            Poison::Inserted { class } | Poison::Deleted { class } => Some(class),
        }
    }
}

/// A model that was trained on poisoned records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisoned {
    /// Share of training records that are poison, or of the class's that are gone.
    pub fraction: f64,
    /// Accuracy on the test split, whose labels are right.
    pub accuracy: f64,
    /// The same of the class that is aimed at.
    pub class_accuracy: Option<f64>,
}

/// Trains the plan with each share of poison; `None` if it was stopped.
///
/// All models have the same randomness, and more poison includes that of less: what differs is the poison.
///
/// # Source
/// Biggio, Nelson and Laskov 2011, "Support vector machines under adversarial label noise": random flips, the attacker who
/// knows nothing. Inserted and deleted records are the two other ways to change a training set, as attacks on one class.
pub fn poison(
    plan: &Plan,
    dataset: &Dataset,
    poison: Poison,
    fractions: &[f64],
    trainings: &Trainings,
) -> Result<Option<Vec<Poisoned>>> {
    if let Some(outside) = fractions.iter().find(|fraction| !(0.0..=1.0).contains(*fraction)) {
        return Err(Error::Plan(format!("a share of {outside} of the records: it lies between 0 and 1")));
    }
    if let Some(class) = poison.class().filter(|class| *class >= dataset.classes().len()) {
        return Err(Error::Plan(format!("there is no class {class}: there are {}", dataset.classes().len())));
    }
    let found = side_by_side(fractions.len(), trainings.workers, &|place| {
        let fraction = fractions[place];
        let train = poisoned(dataset, poison, fraction, trainings.seed);
        if train.is_empty() {
            return Err(Error::Plan(format!(
                "with a share of {fraction} deleted no training record is left"
            )));
        }
        let own = dataset.with_splits(train, dataset.test().split().clone())?;
        let key = Key::from_seed(trainings.seed);
        let Some(model) = train_in_memory(plan, &own, key, trainings.stop, trainings.after_step)? else {
            return Ok(None);
        };
        let mut evaluator = plan.evaluator(Some(1))?;
        let mut accuracy = |view: &View| -> Result<f64> {
            Ok(evaluator.evaluate(&model, view)?.accuracy.unwrap_or_default())
        };
        let test = own.test();
        let of_class = |class: usize| {
            let own = (0..test.len()).filter(|&record| test.label(record) as usize == class);
            test.select(own.collect::<Vec<usize>>())
        };
        let class_accuracy = match poison.class().map(of_class).filter(|view| !view.is_empty()) {
            Some(view) => Some(accuracy(&view)?),
            None => None,
        };
        Ok(Some(Poisoned { fraction, accuracy: accuracy(&test)?, class_accuracy }))
    })?;
    Ok(found.into_iter().collect())
}

/// The training split with a share of poison.
fn poisoned(dataset: &Dataset, poison: Poison, fraction: f64, seed: u64) -> Split {
    let train = dataset.train();
    let split = train.split();
    let mut uniform = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Audit, 0));
    let mut shuffled = |mut places: Vec<usize>| {
        uniform.shuffle(&mut places);
        places
    };
    let all = || (0..split.len()).collect::<Vec<usize>>();
    let of_class =
        |class: usize| (0..split.len()).filter(|&at| split.labels()[at] as usize == class).collect();
    let share_of = |count: usize| (fraction * count as f64).round() as usize;
    match poison {
        Poison::Labels => {
            let (order, mut labels) = (shuffled(all()), split.labels().to_vec());
            for &record in &order[..share_of(labels.len())] {
                labels[record] = uniform.wrong_class(labels[record], dataset.classes().len());
            }
            Split::classified(split.records.clone(), labels)
        }
        Poison::Inserted { class } => {
            let order = shuffled(of_class(class));
            let copies: Vec<usize> = order.iter().copied().cycle().take(share_of(split.len())).collect();
            let label = ((class + 1) % dataset.classes().len()) as u32;
            let inserted = Split::classified(split.select(&copies).records, vec![label; copies.len()]);
            split.clone().followed_by(inserted)
        }
        Poison::Deleted { class } => {
            let order = shuffled(of_class(class));
            let mut kept = vec![true; split.len()];
            order[..share_of(order.len())].iter().for_each(|&record| kept[record] = false);
            split.select(&all().into_iter().filter(|&record| kept[record]).collect::<Vec<usize>>())
        }
    }
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
            let labels = poisoned(&dataset, Poison::Labels, fraction, 4).labels().to_vec();
            (0..40).filter(|&at| labels[at] != split.labels()[at]).map(|at| (at, labels[at])).collect()
        };
        assert_eq!([changed(0.0).len(), changed(0.25).len(), changed(1.0).len()], [0, 10, 40]);
        assert!(changed(0.25).iter().all(|change| changed(0.5).contains(change)));
    }
    #[test]
    fn records_of_a_class_are_added_under_another_label_or_taken_away() {
        let values: Vec<f32> = (0..40).map(|record| record as f32).collect();
        let split = Split::classified(Records::Floats(values), (0..40).map(|record| record % 4).collect());
        let classes = ["a", "b", "c", "d"].map(String::from).to_vec();
        let scaling = Scaling::identity("as is");
        let visibility = Visibility::Public;
        let dataset =
            Dataset::new("x", Shape::Vector(1), classes, scaling, visibility, split.clone(), split.clone())
                .unwrap();
        let inserted = poisoned(&dataset, Poison::Inserted { class: 3 }, 0.5, 4);
        assert_eq!((inserted.len(), inserted.class_counts(4)), (60, vec![30, 10, 10, 10]));
        let Records::Floats(values) = &inserted.records else { panic!("values are floats") };
        assert!(values[40..].iter().all(|value| *value as u32 % 4 == 3), "they look like the class");
        let deleted = |fraction: f64| poisoned(&dataset, Poison::Deleted { class: 1 }, fraction, 4);
        assert_eq!(deleted(0.3).class_counts(4), [10, 7, 10, 10]);
        assert_eq!(deleted(1.0).class_counts(4), [10, 0, 10, 10]);
    }
}
