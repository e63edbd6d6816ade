//! A pilot: a few teachers on labelled public records, to see in advance what answers are worth.

use super::committee;
use super::parts;
use super::plan::PatePlan;
use super::votes::Votes;
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::run::Pilot;
use crate::side_by_side::side_by_side;
use muffle_nn::Examples;
use serde_json::{Value, json};
use std::f64::consts::SQRT_2;

/// Teachers of a pilot: enough to see how far teachers agree, few enough to wait for.
const TEACHERS: usize = 25;

/// Records that they are asked about.
const ASKED: usize = 1000;

/// What a pilot found, and what follows for the answers of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// Teachers of the pilot.
    teachers: usize,
    /// Records of each, on average.
    records: usize,
    /// Records that they were asked about.
    asked: usize,
    /// Share of right votes.
    votes_right: f64,
    /// Share of queries that are answered.
    answered: f64,
    /// Share of answers that are the class with most votes.
    agreement: f64,
    /// Share of answers that are right.
    right: f64,
}

impl PatePlan {
    /// Trains some teachers on as many public records as one of this run has, asks them about other public records, and works out what
    /// the noise of this run makes of votes that are shared among classes as theirs are. No noise is drawn.
    ///
    /// # Guarantee
    /// The records are read without any protection: that they are public is the word of whoever gives them.
    pub(super) fn expected(&self, public: &Dataset) -> Result<Expected> {
        let size = self.check_pilot(public)?;
        let count = public.train().len() / size;
        let parts = parts::split(&public.train(), count);
        let (learner, network) = (&self.recipe.teacher, &self.teacher);
        let threads = self.run.threads.unwrap_or(1);
        let teachers = side_by_side(count.min(TEACHERS).min(self.recipe.teachers), threads, &|number| {
            let (records, part) = (public.train(), &parts[number]);
            committee::teach(learner, network, &records, part, number as u64 + 1)
        })?;
        let asked: Vec<usize> = (0..public.test().len().min(ASKED)).collect();
        let asked = public.test().select(asked);
        let votes = committee::votes(network, &teachers, &asked, threads)?;
        // A record in whose class nobody believes has all votes elsewhere; what is known of the others is their shares.
        let scale = self.recipe.teachers as f64 / teachers.iter().flatten().count().max(1) as f64;
        let mut sums = [0.0; 4];
        for (record, votes) in votes.iter().enumerate() {
            let counts: Vec<f64> = votes.iter().map(|count| *count as f64 * scale).collect();
            let label = asked.label(record) as usize;
            let most = (0..counts.len())
                .fold(0, |best, class| if votes[class] > votes[best] { class } else { best });
            let answered = answer_probability(&self.recipe.votes, &counts);
            let named = |class: usize| answered * winning_probability(&self.recipe.votes, &counts, class);
            let all = votes.iter().sum::<u64>().max(1) as f64;
            let found = [votes[label] as f64 / all, answered, named(most), named(label)];
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        }
        let [votes_right, answered, agreement, right] = sums;
        let records = votes.len().max(1) as f64;
        Ok(Expected {
            teachers: teachers.len(),
            records: size,
            asked: votes.len(),
            votes_right: votes_right / records,
            answered: answered / records,
            agreement: agreement / answered.max(f64::MIN_POSITIVE),
            right: right / answered.max(f64::MIN_POSITIVE),
        })
    }

    /// Records of a teacher, if the pilot has enough of the same kind.
    fn check_pilot(&self, public: &Dataset) -> Result<usize> {
        let refuse = |reason: String| Err(Error::Plan(format!("pilot on `{}`: {reason}", public.name())));
        let Task::Classes(classes) = public.task() else {
            return refuse("votes are about classes, and these data have none".to_string());
        };
        let (input, outputs) = (self.teacher.input(), self.teacher.output().len());
        if public.input() != input || classes.len() != outputs {
            return refuse(format!(
                "records of shape {} in {} classes, where the run has {input} in {outputs}; give records of the same kind",
                public.input(),
                classes.len()
            ));
        }
        let Some(records) = self.run.records else {
            return refuse(
                "how many records a teacher has follows from `records`; set it to about their number"
                    .to_string(),
            );
        };
        let size = (records as usize / self.recipe.teachers).max(1);
        match public.train().len() >= 2 * size && public.test().len() > 0 {
            true => Ok(size),
            false => refuse(format!(
                "a teacher of the run has about {size} records, so {} for training and some for testing are needed",
                2 * size
            )),
        }
    }
}

impl Expected {
    /// For a reader and for programs.
    pub fn pilot(self, plan: &PatePlan) -> Pilot {
        let Expected { teachers, records, asked, votes_right, answered, agreement, right } = self;
        let answers = answered * plan.queries as f64;
        let outline = vec![
            (
                "pilot",
                format!(
                    "{teachers} teachers of {records} public records each, asked about {asked}: {:.1} % of their votes are right",
                    100.0 * votes_right
                ),
            ),
            (
                "expected answers",
                format!(
                    "{answers:.0} of {}: {:.1} % agree with most teachers, {:.1} % are right",
                    plan.queries,
                    100.0 * agreement,
                    100.0 * right
                ),
            ),
        ];
        let figures: [(&str, Value); 6] = [
            ("pilot_teachers", json!(teachers)),
            ("pilot_asked", json!(asked)),
            ("pilot_votes_right", json!(votes_right)),
            ("expected_answers", json!(answers)),
            ("expected_agreement", json!(agreement)),
            ("expected_right", json!(right)),
        ];
        Pilot {
            outline,
            figures: figures.map(|(name, value)| (name.to_string(), value)).into_iter().collect(),
        }
    }
}

/// The probability that votes pass the test of their rule. Of a test against what a student expects, that before there is one.
fn answer_probability(rule: &Votes, counts: &[f64]) -> f64 {
    match (rule.threshold(), rule.check_deviation()) {
        (Some(threshold), Some(deviation)) => {
            let most = counts.iter().copied().fold(0.0, f64::max);
            normal_below((most - threshold) / deviation)
        }
        _ => 1.0,
    }
}

/// Points at which the noise of a class is looked at, and how far out, in units of its scale.
const POINTS: i32 = 400;
const FARTHEST: f64 = 16.0;

/// The probability that a class has most votes after noise: over all values of its own noise, that no other class comes above it.
fn winning_probability(rule: &Votes, counts: &[f64], class: usize) -> f64 {
    let scale = rule.noise().expect("the noise is settled");
    let laplace = matches!(rule, Votes::Laplace { .. });
    let below = |value: f64| if laplace { laplace_below(value) } else { normal_below(value) };
    let density = |value: f64| if laplace { (-value.abs()).exp() } else { (-0.5 * value * value).exp() };
    let (mut sum, mut weight) = (0.0, 0.0);
    for point in -POINTS..=POINTS {
        let own = FARTHEST * f64::from(point) / f64::from(POINTS);
        let others = (0..counts.len()).filter(|other| *other != class);
        let wins: f64 = others.map(|other| below((counts[class] - counts[other]) / scale + own)).product();
        sum += density(own) * wins;
        weight += density(own);
    }
    sum / weight
}

fn normal_below(value: f64) -> f64 {
    0.5 * libm::erfc(-value / SQRT_2)
}

fn laplace_below(value: f64) -> f64 {
    if value < 0.0 { 0.5 * value.exp() } else { 1.0 - 0.5 * (-value).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes: the difference of two noises is known exactly.
    #[test]
    fn probabilities_of_two_classes_by_hand() {
        let gaussian = Votes::Gaussian { deviation: Some(10.0) };
        let found = winning_probability(&gaussian, &[110.0, 100.0], 0);
        assert!((found - normal_below(10.0 / (10.0 * SQRT_2))).abs() < 1e-6, "{found}");
        // Of two Laplace variables of scale one, the difference is below d with probability 1 - (2 + d)/4·exp(-d).
        let laplace = Votes::Laplace { inverse_scale: Some(0.1) };
        let found = winning_probability(&laplace, &[120.0, 100.0], 0);
        assert!((found - (1.0 - (-2f64).exp())).abs() < 1e-3, "{found}");
        let whole: f64 = (0..3).map(|class| winning_probability(&gaussian, &[50.0, 40.0, 45.0], class)).sum();
        assert!((whole - 1.0).abs() < 1e-6, "{whole}");
        assert_eq!(answer_probability(&gaussian, &[3.0, 1.0]), 1.0);
        let confident = Votes::Confident { threshold: 30.0, check: 2.0, deviation: Some(10.0) };
        assert!((answer_probability(&confident, &[50.0, 1.0]) - normal_below(1.0)).abs() < 1e-12);
    }
}
