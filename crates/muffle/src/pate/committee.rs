//! The teachers: each learns from records of its own, without noise, and none is ever published.

use crate::data::{Dataset, View, Views};
use crate::error::Result;
use crate::learner::{Batches, Learner, Pupil};
use crate::side_by_side::side_by_side;
use crate::train::Evaluator;
use crate::train::evaluation::predicted;
use muffle_nn::{Examples, Network};
use std::sync::{Arc, Mutex, PoisonError};

/// The weights of a teacher; `None` for one without records, which has no vote.
pub(super) type Teacher = Option<Vec<f32>>;

/// Trains one teacher on its part of the records.
///
/// # Guarantee
/// The result depends on these records, in this order, on the seed and on nothing else of the data: the part is a data set of its own,
/// in which records have new positions, so that views and random layers do not follow those of other teachers' records.
pub(super) fn teach(
    learner: &Learner,
    network: &Arc<Network>,
    records: &View,
    part: &[usize],
    seed: u64,
) -> Result<Teacher> {
    if part.is_empty() {
        return Ok(None);
    }
    let (whole, part) = (records.dataset(), records.split().select(part));
    let (task, scaling) = (whole.task().clone(), whole.scaling().clone());
    let own = Dataset::with_task(
        whole.name(),
        whole.input(),
        task,
        scaling,
        whole.visibility(),
        part.clone(),
        part,
    )?;
    let mut pupil = Pupil::new(learner, network.clone(), Some(1), seed)?;
    let mut batches = Batches::new((0..own.train().len()).collect(), seed);
    let augmentation = learner.augmentation.augmentation();
    while pupil.step() < learner.steps {
        let view = own.train().select(batches.take(learner.batch_size));
        pupil.learn(&Views::new(view, augmentation, seed, pupil.step(), 1))?;
    }
    Ok(Some(pupil.result().to_vec()))
}

/// How many teachers vote for each class, record by record. **Not private.**
pub(super) fn votes(
    network: &Arc<Network>,
    teachers: &[Teacher],
    records: &View,
    threads: usize,
) -> Result<Vec<Vec<u64>>> {
    // Starting an engine takes longer than a small teacher does, so that one that is free is used again.
    let spare: Mutex<Vec<Evaluator>> = Mutex::new(Vec::new());
    let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let answers = side_by_side(teachers.len(), threads, &|place| {
        let mut answers = Vec::new();
        if let Some(parameters) = &teachers[place] {
            let free = lock().pop();
            let mut evaluator = free.map_or_else(|| Evaluator::new(network.clone(), Some(1)), Ok)?;
            evaluator.for_each(parameters, records, |_, outputs| answers.push(predicted(outputs)))?;
            lock().push(evaluator);
        }
        Ok(answers)
    })?;
    let mut votes = vec![vec![0; network.output().len()]; records.len()];
    for answers in answers {
        answers.into_iter().zip(&mut votes).for_each(|(class, votes)| votes[class] += 1);
    }
    Ok(votes)
}
