//! Membership inference by shadow models: is the model more like those that saw the record, or like those that did not?

use super::membership::{FIGURE, QUESTION, Suspects};
use super::{Entry, Roc, Trainings};
use crate::data::{Dataset, Split, View};
use crate::error::{Error, Result};
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::sampler::{FixedSize, Sampler};
use crate::side_by_side::side_by_side;
use crate::train::{Plan, train_in_memory};
use muffle_nn::Examples;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "likelihood ratio",
    command: "membership",
    paper: "Carlini, Chien, Nasr, Song, Terzis, Tramèr, Membership inference attacks from first principles, IEEE S&P",
    year: 2022,
    question: QUESTION,
    needs: "the attacker holds the parameters, and knows the recipe and all training records that are not asked about",
    steps: "train shadow models (--shadows) by the recipe of the run on the records outside the question and on a random half \
            of the suspects, the next one on the other half: so they have as many records as the run, which is one of the \
            models that the procedure could have made. A suspect's score is the likelihood ratio of two Gaussians fitted to the \
            logit of its class's probability, in models that saw it and in models that did not; below 64 models all suspects \
            share the two variances. Each shadow model costs what the run cost, on one thread, as many at the same time as \
            --threads says, and keeps the principal components of the run",
    figure: FIGURE,
};

/// From this many shadow models on, every record has a spread of its own; with fewer, all share one.
///
/// # Source
/// Carlini et al. 2022, §VI.C: "Gaussian likelihood estimates".
const OWN_SPREAD: usize = 64;

/// What is known of each shadow model.
struct Answers {
    /// By shadow model and suspect: whether it was trained on.
    inside: Vec<Vec<bool>>,
    /// By shadow model and suspect: its confidence.
    confidences: Vec<Vec<f64>>,
}

/// The likelihood-ratio attack, with shadow models of which half saw a record; `None` if it was stopped. Their number is even and at
/// least four.
///
/// The attacker knows all training records but the suspects, and that half of these were trained on. Every shadow model is
/// trained by the plan of the run on the records that are known and on a random half of the suspects, the next one on the other
/// half: so each suspect is in half of the models, and the number of records is that of the run.
///
/// # Source
/// Carlini, Chien, Nasr, Song, Terzis and Tramèr 2022, "Membership inference attacks from first principles", Algorithm 1
/// (online), one query of each record.
pub fn by_likelihood_ratio(
    plan: &Plan,
    dataset: &Dataset,
    suspects: &Suspects,
    parameters: &[f32],
    count: usize,
    trainings: &Trainings,
) -> Result<Option<Roc>> {
    if count < 4 || !count.is_multiple_of(2) {
        return Err(Error::Plan(format!(
            "{} shadow models: their number has to be even and at least 4, so that every record is in some and not in others",
            count
        )));
    }
    let each = suspects.each();
    let train = dataset.train();
    let mut known = vec![true; train.split().len()];
    (0..each).for_each(|index| known[suspects.members.record(index)] = false);
    let known: Vec<usize> = (0..known.len()).filter(|&record| known[record]).collect();
    let known = train.split().select(&known);

    // The seed itself may have drawn the suspects.
    let seed = !trainings.seed;
    let trained = side_by_side(count, trainings.workers, &|shadow| {
        let inside = half(2 * each, shadow, seed);
        let records = known.clone().followed_by(chosen(suspects, &inside));
        let own = dataset.with_splits(records, dataset.test().split().select(&[0]))?;
        let key = Key::from_seed(Uniform::new(&Key::from_seed(seed), stream(shadow)).bits());
        let Some(shadow) = train_in_memory(plan, &own, key, trainings.stop, trainings.after_step)? else {
            return Ok(None);
        };
        Ok(Some((inside, confidences(plan, &shadow, suspects)?)))
    })?;
    let Some(trained) = trained.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let (inside, answers) = trained.into_iter().unzip();
    let scores = Answers { inside, confidences: answers }.ratios(&confidences(plan, parameters, suspects)?);
    Ok(Some(Roc::new(&scores[..each], &scores[each..])))
}

fn stream(shadow: usize) -> Stream {
    Stream::new(Purpose::Audit, shadow as u64)
}

/// Which of the suspects a shadow model is trained on: a random half, or for every second model the other half.
fn half(count: usize, shadow: usize, seed: u64) -> Vec<bool> {
    let drawn = FixedSize::new(&Key::from_seed(seed), count, count / 2).draw(shadow as u64 / 2);
    let even = shadow.is_multiple_of(2);
    let mut inside = vec![!even; count];
    drawn.into_iter().for_each(|place| inside[place] = even);
    inside
}

/// The suspects that are inside, members before others.
fn chosen(suspects: &Suspects, inside: &[bool]) -> Split {
    let part = |view: &View, inside: &[bool]| {
        let records: Vec<usize> =
            (0..view.len()).filter(|&index| inside[index]).map(|index| view.record(index)).collect();
        view.split().select(&records)
    };
    let (members, others) = inside.split_at(suspects.each());
    part(&suspects.members, members).followed_by(part(&suspects.others, others))
}

/// ln(p/(1 − p)) of the probability p that a model gives to the class of each suspect, members before others.
fn confidences(plan: &Plan, parameters: &[f32], suspects: &Suspects) -> Result<Vec<f64>> {
    let mut evaluator = plan.evaluator(plan.recipe.run.threads)?;
    let mut found = Vec::with_capacity(2 * suspects.each());
    for view in [&suspects.members, &suspects.others] {
        evaluator.for_each(parameters, view, |index, outputs| {
            found.push(logit(outputs, view.label(index) as usize));
        })?;
    }
    Ok(found)
}

/// The output of a class less the logarithm of the sum of the exponentials of all others: never a difference of two numbers
/// near one.
fn logit(outputs: &[f32], class: usize) -> f64 {
    let others = || {
        outputs.iter().enumerate().filter(|(place, _)| *place != class).map(|(_, value)| f64::from(*value))
    };
    let largest = others().fold(f64::NEG_INFINITY, f64::max);
    f64::from(outputs[class]) - largest - others().map(|value| (value - largest).exp()).sum::<f64>().ln()
}

/// Mean and variance of the confidences of one suspect, in one kind of model.
#[derive(Clone, Copy, Default)]
struct Fit {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Fit {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let difference = value - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (value - self.mean);
    }

    /// The logarithm of the density, up to a constant.
    fn log_density(&self, value: f64, variance: f64) -> f64 {
        -0.5 * ((value - self.mean).powi(2) / variance + variance.ln())
    }
}

/// The smallest variance: single precision gives no smaller spread.
const SMALLEST_VARIANCE: f64 = 1e-12;

impl Answers {
    /// The logarithm of the likelihood ratio of each suspect, from its confidence under the model that is attacked.
    fn ratios(&self, target: &[f64]) -> Vec<f64> {
        let mut fits = vec![[Fit::default(); 2]; target.len()];
        for (inside, confidences) in self.inside.iter().zip(&self.confidences) {
            for ((fit, inside), confidence) in fits.iter_mut().zip(inside).zip(confidences) {
                fit[usize::from(*inside)].add(*confidence);
            }
        }
        let shared = [0, 1].map(|kind: usize| {
            let (squares, degrees) = fits
                .iter()
                .map(|fit| (fit[kind].squares, fit[kind].count - 1.0))
                .fold((0.0, 0.0), |sum, fit| (sum.0 + fit.0, sum.1 + fit.1));
            squares / degrees
        });
        let log_density = |fit: &[Fit; 2], kind: usize, value: f64| {
            let variance = match self.inside.len() >= OWN_SPREAD {
                true => fit[kind].squares / (fit[kind].count - 1.0),
                false => shared[kind],
            };
            fit[kind].log_density(value, variance.max(SMALLEST_VARIANCE))
        };
        let ratio =
            |(fit, value): (&[Fit; 2], &f64)| log_density(fit, 1, *value) - log_density(fit, 0, *value);
        fits.iter().zip(target).map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_the_logit_of_the_probability() {
        // Probabilities 1/6, 2/6, 3/6.
        let outputs = [1f32, 2.0, 3.0].map(f32::ln);
        for (class, odds) in [(0, 1.0 / 5.0), (1, 2.0 / 4.0), (2, 1.0f64)] {
            assert!((logit(&outputs, class) - odds.ln()).abs() < 1e-6);
        }
        assert_eq!(logit(&[200.0, 0.0], 0), 200.0);
    }

    #[test]
    fn every_suspect_is_in_half_of_the_models() {
        let halves: Vec<Vec<bool>> = (0..6).map(|shadow| half(10, shadow, 3)).collect();
        for record in 0..10 {
            assert_eq!(halves.iter().filter(|half| half[record]).count(), 3);
        }
        assert!(halves.iter().all(|half| half.iter().filter(|inside| **inside).count() == 5));
        assert_ne!(halves[0], halves[2]);
    }

    #[test]
    fn ratios_by_hand() {
        // One suspect: 3 ± 1 where it was seen (variance 2), 0 ± 2 where it was not (variance 8).
        let answers = Answers {
            inside: vec![vec![true], vec![true], vec![false], vec![false]],
            confidences: vec![vec![2.0], vec![4.0], vec![-2.0], vec![2.0]],
        };
        let density = |value: f64, mean: f64, variance: f64| {
            (-(value - mean).powi(2) / (2.0 * variance)).exp() / variance.sqrt()
        };
        for value in [-1.0, 0.5, 3.0] {
            let expected = (density(value, 3.0, 2.0) / density(value, 0.0, 8.0)).ln();
            assert!((answers.ratios(&[value])[0] - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn few_models_share_one_spread_and_many_do_not() {
        let answers = |models: usize| {
            let inside = (0..models).map(|model| vec![model % 2 == 0; 2]).collect();
            // The second suspect spreads ten times as far as the first, around the same means.
            let spread = |model: usize| if (model / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
            let confidence = |model: usize| 0.1 * spread(model) - (model % 2) as f64;
            let far = |model: usize| spread(model) - (model % 2) as f64;
            let confidences = (0..models).map(|model| vec![confidence(model), far(model)]).collect();
            Answers { inside, confidences }
        };
        let few = answers(8).ratios(&[0.0, 0.0]);
        assert!((few[0] - few[1]).abs() < 1e-12, "{few:?}");
        let many = answers(OWN_SPREAD).ratios(&[0.0, 0.0]);
        assert!((many[0] / many[1] - 100.0).abs() < 1e-6, "{many:?}");
    }
}
