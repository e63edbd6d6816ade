//! Teachers, votes and a student, as a run sees them.

use super::committee::{self, Teacher};
use super::internal::Internal;
use super::origin::Origin;
use super::parts;
use super::plan::{PatePlan, TOGETHER, divide};
use super::published;
use super::safe::Safe;
use super::student::{Lesson, most_likely, probabilities};
use super::votes::CHECKS;
use crate::State;
use crate::bundle::Bundle;
use crate::data::{Dataset, Schema};
use crate::error::{Error, Result};
use crate::ledger::{Access, Head, Purpose, Receipt};
use crate::mechanism::Mechanism;
use crate::noise::{self, Key, Stream, Uniform};
use crate::records::PrivateRecords;
use crate::run::{MODEL_FILE, Measurements, Trainer, Work, ledger_entry, recipe_digest};
use crate::side_by_side::side_by_side;
use crate::train::Evaluator;
use muffle_accounting::Event;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Training of teachers: records are read, and nothing is released.
pub const TEACHERS: Purpose = Purpose::new("teachers");

/// Queries that are paid for and answered before the answers are on disk.
const AT_ONCE: u64 = 64;

/// Names in a saved state.
const ANSWERS: &str = "answers";
const STUDENT: &str = "student";
const SANITISED_EPSILON: &str = "sanitised_epsilon";
const CLAIMED_EPSILON: &str = "claimed_epsilon";

/// What became of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The teachers did not agree.
    None,
    /// The noisy winner.
    Voted(u32),
    /// The student's own word, which costs nothing.
    Confirmed(u32),
}

impl Answer {
    /// As a number of a saved state.
    fn number(self) -> [f32; 2] {
        match self {
            Answer::None => [-1.0, 0.0],
            Answer::Voted(class) => [class as f32, 0.0],
            Answer::Confirmed(class) => [class as f32, 1.0],
        }
    }

    /// Back from it.
    fn of(number: &[f32]) -> Answer {
        match number {
            [class, _] if *class < 0.0 => Answer::None,
            [class, own] if *own > 0.0 => Answer::Confirmed(*class as u32),
            [class, ..] => Answer::Voted(*class as u32),
            [] => Answer::None,
        }
    }

    /// The class, if there is one.
    fn class(self) -> Option<u32> {
        match self {
            Answer::None => None,
            Answer::Voted(class) | Answer::Confirmed(class) => Some(class),
        }
    }
}

/// Teachers on parts of the records, noisy votes on the public pool, and a student of the answers.
pub struct PateTrainer {
    plan: Arc<PatePlan>,
    dataset: Arc<Dataset>,
    key: Key,
    mechanism: Mechanism,
    /// Where teachers and raw votes are kept; nowhere for a run without a folder.
    safe: Option<Safe>,
    teachers: Vec<Teacher>,
    /// Positions in the pool, in the order in which they are asked about.
    asked: Vec<usize>,
    /// Raw votes of all queries, once all teachers are trained. **Not private.**
    votes: Vec<Vec<u64>>,
    /// What the student of an earlier round says of every query: probabilities by class.
    expected: Option<(u64, Vec<Vec<f32>>)>,
    /// Whether the query at hand has passed its test.
    passed: bool,
    answers: Vec<Answer>,
    student: Option<Vec<f32>>,
    /// The epsilon that follows the votes, once it is released.
    sanitised: Option<f64>,
    /// The same without noise, once the published practice has printed it.
    claimed: Option<f64>,
    work: Work,
}

impl PateTrainer {
    /// Before anything is touched.
    pub fn new(plan: &PatePlan, dataset: &Dataset, key: Key) -> Result<PateTrainer> {
        let dataset = Arc::new(divide(&plan.recipe, dataset)?);
        Ok(PateTrainer {
            asked: plan
                .recipe
                .asking
                .choose(&dataset.public().expect("it was divided"), plan.queries as usize),
            plan: Arc::new(plan.clone()),
            dataset,
            mechanism: Mechanism::new(key.clone(), 1.0),
            key,
            safe: None,
            teachers: Vec::new(),
            votes: Vec::new(),
            expected: None,
            passed: true,
            answers: Vec::new(),
            student: None,
            sanitised: None,
            claimed: None,
            work: Work::default(),
        })
    }

    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.plan.run.threads.unwrap_or_else(cores)
    }

    /// A number from which all randomness of a teacher (from 1 on) or of the student (0) follows.
    fn seed(&self, learner: u64) -> u64 {
        Uniform::new(&self.key, Stream::new(noise::Purpose::Initialisation, learner)).bits()
    }

    /// Trains the next teachers, side by side; those that are on disk already are read.
    fn teach(&mut self, receipt: Receipt) -> Result<()> {
        let records = PrivateRecords::new(self.dataset.clone());
        // Nothing is released of what is learned here: the receipt ends unused.
        let (view, _) = records.all(receipt);
        let parts = parts::split(&view, self.plan.recipe.teachers);
        let first = self.teachers.len();
        let count = TOGETHER.min(self.plan.recipe.teachers - first);
        let (learner, network) = (&self.plan.recipe.teacher, &self.plan.teacher);
        let seeds: Vec<u64> = (0..count).map(|place| self.seed((first + place + 1) as u64)).collect();
        let trained = side_by_side(count, self.threads(), &|place| {
            let number = first + place;
            if let Some(safe) = &self.safe
                && let Some(teacher) = safe.teacher(number, network)?
            {
                return Ok(teacher);
            }
            let teacher = committee::teach(learner, network, &view, &parts[number], seeds[place])?;
            if let Some(safe) = &self.safe {
                safe.keep(number, network, &teacher)?;
            }
            Ok(teacher)
        })?;
        self.work.expected += count as u64 * learner.steps * learner.batch_size as u64;
        self.teachers.extend(trained);
        self.count_votes()
    }

    /// Counts the votes on all queries, once all teachers are there. Nothing of it leaves before it is paid for.
    fn count_votes(&mut self) -> Result<()> {
        if self.teachers.len() < self.plan.recipe.teachers {
            return Ok(());
        }
        let pool = self.dataset.public().expect("it was divided").select(&self.asked[..]);
        self.votes = committee::votes(&self.plan.teacher, &self.teachers, &pool, self.threads())?;
        Ok(())
    }

    /// The released answers, by position in the pool.
    fn lesson(&self) -> Vec<(usize, u32)> {
        let answers = self.asked.iter().zip(&self.answers);
        answers.filter_map(|(record, answer)| Some((*record, answer.class()?))).collect()
    }

    /// Trains a student on the answers so far.
    fn study(&self) -> Result<Vec<f32>> {
        let answers = self.lesson();
        if answers.is_empty() {
            return Err(Error::Plan(
                "no query was answered, so there is nothing for a student to learn from: lower votes.threshold, or take fewer \
                 queries and with them less noise; what this run has asked is spent"
                    .to_string(),
            ));
        }
        let lesson = Lesson {
            learner: &self.plan.recipe.student,
            self_training: self.plan.recipe.self_training.as_ref(),
            network: &self.plan.student.1,
            pool: &self.dataset.public().expect("it was divided"),
            answers: &answers,
            threads: self.plan.run.threads,
        };
        lesson.study(self.seed(0))
    }

    /// The votes that the student of the rounds before expects on a query: none in the first round, and without rounds.
    fn expected(&mut self, query: usize) -> Result<Vec<f64>> {
        let classes = self.plan.student.1.output().len();
        let rounds = self.plan.recipe.votes.rounds();
        // So many rounds with a student, and one before there is any.
        let round = query as u64 / self.plan.queries.div_ceil(rounds + 1);
        if rounds == 0 || round == 0 || self.lesson().is_empty() {
            return Ok(vec![0.0; classes]);
        }
        if self.expected.as_ref().is_none_or(|(known, _)| *known != round) {
            let parameters = self.study()?;
            let pool = self.dataset.public().expect("it was divided").select(&self.asked[..]);
            let mut evaluator = Evaluator::new(self.plan.student.1.clone(), self.plan.run.threads)?;
            let mut all = Vec::with_capacity(self.asked.len());
            evaluator.for_each(&parameters, &pool, |_, outputs| all.push(outputs.to_vec()))?;
            self.expected = Some((round, all));
        }
        let (_, outputs) = self.expected.as_ref().expect("it was made");
        let share = |probability: f32| f64::from(probability) * self.plan.recipe.teachers as f64;
        Ok(probabilities(&outputs[query]).into_iter().map(share).collect())
    }

    /// Tests whether the teachers agree on the next query.
    fn check(&mut self, receipt: Receipt) -> Result<()> {
        let query = self.answers.len();
        let expected = self.expected(query)?;
        self.passed = self.plan.recipe.votes.passes(&self.votes[query], &expected, &self.mechanism, receipt);
        Ok(())
    }

    /// Answers the next query, or leaves it without an answer where its test failed.
    fn answer(&mut self, receipt: Receipt) {
        let (query, rule) = (self.answers.len(), self.plan.recipe.votes);
        let answer = match self.passed {
            true => Answer::Voted(rule.winner(&self.votes[query], &self.mechanism, receipt)),
            false => self.confirmed(query),
        };
        self.answers.push(answer);
        self.passed = true;
    }

    /// What the student of the round says of a query on which the teachers do not differ from it, if it is sure.
    fn confirmed(&self, query: usize) -> Answer {
        let super::votes::Votes::Interactive { confidence, .. } = self.plan.recipe.votes else {
            return Answer::None;
        };
        let Some((_, outputs)) = &self.expected else { return Answer::None };
        let (class, probability) = most_likely(&outputs[query]);
        if probability >= confidence { Answer::Confirmed(class) } else { Answer::None }
    }

    fn lessons(&self) -> u64 {
        (self.teachers.len().div_ceil(TOGETHER)) as u64
    }
}

impl Trainer for PateTrainer {
    fn settle_in(&mut self, folder: &Path) -> Result<()> {
        let origin = Origin::new(&self.plan, &self.dataset.train());
        self.safe = Some(Safe::open(folder, &origin)?);
        Ok(())
    }

    fn upcoming(&self, most: u64) -> Vec<Access> {
        let lessons = self.plan.lessons();
        if self.lessons() < lessons {
            let last = (self.lessons() + most).min(lessons);
            let lesson = |number| Access {
                purpose: TEACHERS,
                number,
                release: Event::compose([]),
                charge: None,
                keep: false,
            };
            return (self.lessons()..last).map(lesson).collect();
        }
        let first = self.answers.len() as u64;
        let last = (first + most.min(AT_ONCE)).min(self.plan.queries);
        (first..last).flat_map(|query| self.plan.recipe.votes.accesses(query)).collect()
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        match receipt.purpose() {
            TEACHERS => self.teach(receipt),
            CHECKS => self.check(receipt),
            _ => {
                self.answer(receipt);
                Ok(())
            }
        }
    }

    fn closing(&self) -> Option<Access> {
        let due = self.sanitised.is_none() && self.claimed.is_none() && !self.votes.is_empty();
        let printed = self.plan.claimed.map(|_| published::access());
        self.plan.recipe.sanitised.map(|sanitised| sanitised.access()).or(printed).filter(|_| due)
    }

    fn close(&mut self, receipt: Option<Receipt>) -> Result<()> {
        let (rule, delta) = (self.plan.recipe.votes, self.plan.run.delta);
        let asked = &self.votes[..self.answers.len()];
        // Figures are kept to the precision of a saved state, so that a run that is continued says the same.
        match (receipt, self.plan.recipe.sanitised) {
            (Some(receipt), Some(choice)) => {
                let epsilon = choice.epsilon(&rule, asked, delta, &self.mechanism, receipt);
                self.sanitised = Some(f64::from(epsilon as f32));
            }
            (Some(receipt), None) => {
                let epsilon = published::release(&rule, asked, delta, &self.mechanism, receipt);
                self.claimed = Some(f64::from(epsilon as f32));
            }
            (None, _) => {}
        }
        if self.student.is_none() {
            self.student = Some(self.study()?);
            if let Some(safe) = &self.safe {
                safe.keep_votes(&Internal::new(&rule, asked, delta))?;
            }
        }
        Ok(())
    }

    fn step(&self) -> u64 {
        self.lessons() + self.answers.len() as u64
    }

    fn cost(&self, steps: u64) -> Event {
        let lessons = self.plan.lessons() - self.lessons();
        let mut cost = self.plan.recipe.votes.cost(steps.saturating_sub(lessons));
        let behind = self.plan.recipe.sanitised.filter(|_| self.sanitised.is_none());
        behind.into_iter().for_each(|sanitised| cost.append(sanitised.event()));
        cost
    }

    fn work(&self) -> Work {
        self.work
    }

    fn measure(&mut self) -> Result<Measurements> {
        let answers = self.answers.iter().filter(|answer| matches!(answer, Answer::Voted(_))).count();
        // Every vote that has left is known with its class: it was released after noise, and paid for.
        let voted =
            |class: u32| self.answers.iter().filter(|answer| **answer == Answer::Voted(class)).count();
        let by_class: BTreeMap<&String, usize> =
            self.dataset.classes().iter().zip((0..).map(voted)).collect();
        let measured = Measurements::default()
            .with("teachers", self.plan.recipe.teachers)
            .with("queries", self.answers.len())
            .with("answers", answers)
            .with("answers_by_class", by_class);
        let measured = match self.sanitised {
            Some(epsilon) => measured.with("sanitised_epsilon", epsilon),
            None => measured,
        };
        let Some(student) = &self.student else { return Ok(measured) };
        let mut evaluator = Evaluator::new(self.plan.student.1.clone(), self.plan.run.threads)?;
        let measured = measured.with("test", evaluator.evaluate(student, &self.dataset.test())?);
        let pool = self.dataset.public().expect("it was divided");
        if pool.split().labels().is_empty() {
            return Ok(measured);
        }
        // Answers are released, and the labels of the pool are public where there are any: nobody has learned from them.
        let right = |(record, class): &(usize, u32)| pool.split().labels()[*record] == *class;
        let lesson = self.lesson();
        let share = |count: u64, of: usize| count as f64 / of.max(1) as f64;
        let answered = share(lesson.iter().filter(|answer| right(answer)).count() as u64, lesson.len());
        let learned = share(evaluator.correct(student, &pool)?, pool.split().len());
        Ok(measured.with("answers_accuracy", answered).with("pool_accuracy", learned))
    }

    fn claimed(&self) -> Option<f64> {
        self.claimed
    }

    fn diverged(&self) -> bool {
        self.student.as_ref().is_some_and(|student| student.iter().any(|parameter| !parameter.is_finite()))
    }

    fn state(&self) -> State {
        let answers = self.answers.iter().flat_map(|answer| answer.number()).collect();
        let mut state = State::from([(ANSWERS.to_string(), answers)]);
        if let Some(student) = &self.student {
            state.insert(STUDENT.to_string(), student.clone());
        }
        if let Some(epsilon) = self.sanitised {
            state.insert(SANITISED_EPSILON.to_string(), vec![epsilon as f32]);
        }
        if let Some(epsilon) = self.claimed {
            state.insert(CLAIMED_EPSILON.to_string(), vec![epsilon as f32]);
        }
        state
    }

    fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        let numbers = state.get(ANSWERS).ok_or(crate::StateError::Missing(ANSWERS))?;
        self.answers = numbers.chunks_exact(2).map(Answer::of).collect();
        self.student = state.get(STUDENT).cloned();
        let figure =
            |name: &str| state.get(name).and_then(|values| values.first()).map(|value| f64::from(*value));
        (self.sanitised, self.claimed) = (figure(SANITISED_EPSILON), figure(CLAIMED_EPSILON));
        let lessons = step - self.answers.len() as u64;
        let count = (lessons as usize * TOGETHER).min(self.plan.recipe.teachers);
        let safe = self.safe.as_ref().expect("a run that is continued has a folder");
        self.teachers =
            (0..count).map(|number| safe.trained(number, &self.plan.teacher)).collect::<Result<_>>()?;
        self.count_votes()
    }

    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>> {
        let (description, network) = &self.plan.student;
        let recipe = self.plan.without_seed();
        let bundle = Bundle::new(Schema::of(&self.dataset), None, recipe, recipe_digest(folder)?);
        let metadata = [ledger_entry(head), bundle.entry()];
        let student = self.student.as_ref().expect("the training is closed");
        let model = folder.join(MODEL_FILE);
        muffle_nn::weights::save_with(&model, network, Some(description), student, &metadata)?;
        Ok(vec![MODEL_FILE.to_string()])
    }
}
