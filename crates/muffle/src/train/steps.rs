//! Steps of gradient descent, each private, with what comes between them.

use super::class_weights::{Weighted, counted, from_counts};
use super::closing::Closing;
use super::evaluation::{Decision, Evaluation, Evaluator};
use super::plan::Plan;
use super::pricing::{CLASS_SHARES, METHOD, STEPS, VALIDATION};
use super::standardised::standardise;
use super::validation::{Watch, hold_out};
use crate::State;
use crate::data::{Dataset, Views};
use crate::error::Result;
use crate::ledger::{Access, Receipt};
use crate::mechanism::{BoundedVector, Gradients, Mechanism};
use crate::methods::{Method, Preparation, Release, Step};
use crate::moving_average::MovingAverage;
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::optimizer::Optimizer;
use crate::records::PrivateRecords;
use crate::run::Work;
use crate::sampler::{Charges, Sampler};
use crate::state::{part, put, restore};
use muffle_accounting::Event;
use muffle_nn::{Engine, Examples, Options};
use std::ops::Range;
use std::sync::Arc;

/// Says in a saved state that the method has learned what it learns of all records.
const DONE: &str = "done";

/// Losses are means over records whose targets lie in a bounded range, so that one beyond this tells of weights that have run away.
const LARGEST_LOSS: f64 = 1e6;

/// The weights of the classes in a saved state.
const WEIGHTS: &str = "weights";

/// A network in training.
pub(super) struct Steps {
    plan: Arc<Plan>,
    dataset: Arc<Dataset>,
    key: Key,
    engine: Engine,
    evaluator: Evaluator,
    /// The records that are trained on.
    training: PrivateRecords,
    /// Those that are held out to check the model, where there are any.
    held_out: PrivateRecords,
    watch: Option<Watch>,
    /// Weights of the classes, once they are known.
    weights: Option<Vec<f32>>,
    closing: Closing,
    sampler: Box<dyn Sampler>,
    charges: Charges,
    method: Box<dyn Method>,
    /// Whether the method has learned what it learns of all records, if anything.
    prepared: bool,
    mechanism: Mechanism,
    optimizer: Box<dyn Optimizer>,
    parameters: Vec<f32>,
    /// Which of them stand still.
    fixed: Vec<Range<usize>>,
    average: Option<MovingAverage>,
    step: u64,
    work: Work,
    /// Whether the last test loss was a finite number.
    loss_makes_sense: bool,
}

impl Steps {
    /// First weights, and everything that a step needs.
    pub fn new(plan: Arc<Plan>, dataset: Arc<Dataset>, key: Key) -> Result<Steps> {
        let (run, training) = (&plan.recipe.run, &plan.recipe.training);
        let initial = Uniform::new(&key, Stream::new(Purpose::Initialisation, 0)).bits();
        let mut parameters = plan.initial_parameters(initial)?;
        if training.weight_standardisation {
            standardise(&plan.network, &mut parameters);
        }
        let method = plan.build_method()?;
        let options =
            Options { threads: run.threads, hooked: method.hooked(), ..Options::new(method.purpose()) };
        let share = training.held_out();
        let weights = training.class_weights.as_ref();
        let closing = Closing::new(&plan);
        let (records, held_out) = match share > 0.0 {
            true => {
                let (training, held_out) = hold_out(&dataset.train(), share);
                (PrivateRecords::some(dataset.clone(), training), held_out)
            }
            false => (PrivateRecords::new(dataset.clone()), Vec::new()),
        };
        Ok(Steps {
            engine: Engine::new(plan.network.clone(), options)?,
            evaluator: Evaluator::new(plan.network.clone(), run.threads)?.deciding(closing.decision()),
            weights: weights.and_then(|weights| weights.in_advance(training.class_shares.as_ref())),
            closing,
            sampler: plan.sampler(&key, records.count()),
            charges: Charges::new(),
            training: records,
            held_out: PrivateRecords::some(dataset.clone(), held_out),
            watch: training.validation.map(Watch::new),
            optimizer: training.optimizer.optimizer(parameters.len()),
            average: training.moving_average.map(|decay| MovingAverage::new(&parameters, decay)),
            prepared: method.preparation().is_none(),
            mechanism: plan.mechanism(&key),
            parameters,
            fixed: plan.network.fixed().collect(),
            method,
            step: 0,
            work: Work::default(),
            loss_makes_sense: true,
            plan,
            dataset,
            key,
        })
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// What was done in this process.
    pub fn work(&self) -> Work {
        self.work
    }

    /// What the method learns of all records where that is due, or the next steps before it whose noise is known by now, at most so
    /// many, with the check on validation records behind them where it is due and costs something.
    pub fn upcoming(&self, most: u64) -> Vec<Access> {
        if let Some((access, _)) = self.uncounted() {
            return vec![access];
        }
        let preparation = self.unprepared();
        let due = preparation.as_ref().map_or(u64::MAX, |_| self.prepared_after());
        if let Some(event) = preparation.filter(|_| self.step >= due) {
            return vec![Access::all(METHOD, 0, self.plan.claim().unwrap_or(event))];
        }
        let end = (self.step + most).min(self.plan.steps).min(self.noise_known_until()).min(due);
        let mut charges = self.charges.clone();
        let mut accesses: Vec<Access> = (self.step..end)
            .map(|number| {
                let release = self.plan.event(&*self.method, self.noise_multiplier(number));
                let charge = charges.charge(&*self.sampler, number, release.clone());
                Access { purpose: STEPS, number, release, charge, keep: false }
            })
            .collect();
        let checked = end > 0 && end < self.plan.steps && self.plan.checked_after(end);
        let check = self.plan.recipe.training.validation.filter(|_| checked);
        accesses.extend(check.and_then(|validation| validation.event()).map(|release| {
            let charge = Some(release.clone());
            Access { purpose: VALIDATION, number: end, release, charge, keep: false }
        }));
        accesses
    }

    /// Makes the first of the upcoming accesses.
    pub fn perform(&mut self, receipt: Receipt) -> Result<()> {
        match receipt.purpose() {
            CLASS_SHARES => self.count_classes(receipt),
            METHOD => self.prepare(receipt),
            VALIDATION => self.check_held_out(receipt),
            _ => self.advance(receipt),
        }
    }

    /// What the next steps cost, with what comes before them and between them.
    pub fn cost(&self, steps: u64) -> Event {
        let count = self.uncounted().map(|(access, _)| access.release);
        let mut total = Event::compose(count.into_iter().chain(self.unprepared()));
        let range = self.step..self.step + steps;
        total.append(self.plan.steps_cost(&*self.method, &*self.sampler, range));
        self.closing().into_iter().for_each(|access| total.append(access.release));
        total
    }

    /// The count of the classes and its noise multiplier, where it is still to come.
    fn uncounted(&self) -> Option<(Access, f64)> {
        self.plan.pricing().class_shares().filter(|_| self.weights.is_none())
    }

    /// Counts the records of each class, with noise: their weights follow.
    fn count_classes(&mut self, receipt: Receipt) -> Result<()> {
        let Some((_, noise_multiplier)) = self.uncounted() else { return Ok(()) };
        let (view, receipt) = self.training.all(receipt);
        let counts = counted(&view, self.plan.network.output().len());
        let (counts, _) = self.mechanism.answer(counts, noise_multiplier, receipt);
        self.weights = Some(from_counts(&counts, noise_multiplier));
        Ok(())
    }

    fn noise_multiplier(&self, step: u64) -> f64 {
        self.plan.noise_multiplier_at(step) * self.watch.map_or(1.0, |watch| watch.factor())
    }

    /// One past the last step whose noise is known by now.
    fn noise_known_until(&self) -> u64 {
        match self.watch {
            _ if self.method.adaptive() => self.step + 1,
            Some(_) => {
                (self.step + 1..).find(|&step| self.plan.checked_after(step)).expect("epochs do not end")
            }
            None => u64::MAX,
        }
    }

    /// What the method learns of all records, where that is still to come.
    fn unprepared(&self) -> Option<Event> {
        self.method.preparation().filter(|_| !self.prepared)
    }

    fn prepared_after(&self) -> u64 {
        self.plan.prepared_after(&*self.method, &*self.sampler)
    }

    /// Lets the method learn from all records. An average of weights begins anew with what the method has set.
    fn prepare(&mut self, receipt: Receipt) -> Result<()> {
        let (view, receipt) = self.training.all(receipt);
        self.method.prepare(Preparation {
            parameters: &mut self.parameters,
            examples: &view,
            mechanism: &self.mechanism,
            receipt,
            noise_multiplier: self.plan.noise_multiplier,
        })?;
        let decay = self.plan.recipe.training.moving_average;
        self.average = decay.map(|decay| MovingAverage::new(&self.parameters, decay));
        self.prepared = true;
        Ok(())
    }

    /// Draws records, bounds and sums their gradients, adds noise, and moves the parameters.
    fn advance(&mut self, receipt: Receipt) -> Result<()> {
        let (plan, step) = (self.plan.clone(), self.step);
        let training = &plan.recipe.training;
        // Randomness inside layers and of views: a stream of its own.
        let seed = Uniform::new(&self.key, Stream::new(Purpose::Data, step)).bits();
        let noise_multiplier = self.noise_multiplier(step);
        let (view, receipt) = self.training.draw(&mut *self.sampler, receipt);
        // The number that was drawn is private; the expected one is not.
        self.work.expected += plan.recipe.training.batch_size;
        let batch =
            Views::new(view, training.augmentation.augmentation(), seed, 0, training.augmentation.views);
        let weighted = self.weights.as_ref().map(|weights| Weighted { examples: &batch, weights });
        let examples: &dyn Examples = weighted.as_ref().map_or(&batch, |weighted| weighted);

        let Release { gradient: released, unprotected } = self.method.release(Step {
            gradients: Gradients {
                engine: &mut self.engine,
                parameters: &self.parameters,
                examples,
                loss: plan.loss,
                seed,
            },
            mechanism: &self.mechanism,
            receipt,
            noise_multiplier,
            clip_factor: plan.clip_factor(step)?,
        })?;
        let learning_rate = plan.recipe.training.learning_rate.at(plan.time(step)) as f32;
        let held: Vec<Vec<f32>> =
            self.fixed.iter().map(|range| self.parameters[range.clone()].to_vec()).collect();
        self.optimizer.step(&mut self.parameters, &released, learning_rate);
        // Their gradient is zero, but noise came to it.
        for (range, held) in self.fixed.iter().zip(&held) {
            self.parameters[range.clone()].copy_from_slice(held);
        }
        if training.weight_standardisation {
            standardise(&plan.network, &mut self.parameters);
        }
        if let Some(average) = &mut self.average {
            average.update(&self.parameters, released.pool());
        }
        self.work.excluded += unprotected.0.excluded.len() as u64;
        let release = plan.claim().unwrap_or_else(|| released.event().clone());
        self.charges.charge(&*self.sampler, step, release);
        self.step += 1;
        self.check_public()
    }

    /// Checks the model on public records, if that is due now: the noise may fall.
    fn check_public(&mut self) -> Result<()> {
        let due = self.plan.recipe.training.validation.is_some_and(|rule| rule.noise_multiplier().is_none());
        if due && self.step < self.plan.steps && self.plan.checked_after(self.step) {
            let accuracy = self.evaluate()?.accuracy.unwrap_or_default() as f32;
            self.note(accuracy);
        }
        Ok(())
    }

    /// Checks the model on records that are held out, with noise: that of the steps may fall.
    fn check_held_out(&mut self, receipt: Receipt) -> Result<()> {
        let Some(rule) = self.plan.recipe.training.validation else { return Ok(()) };
        let noise_multiplier = rule.noise_multiplier().expect("a check that was paid for has noise");
        let (view, receipt) = self.held_out.all(receipt);
        let parameters = self.average.as_ref().map_or(&self.parameters[..], |average| average.average());
        let correct = self.evaluator.correct(parameters, &view)?;
        // One record more or less changes the number of correct ones by one at most.
        let count = BoundedVector::l1(vec![correct as f64], 1.0);
        let (correct, _) = self.mechanism.answer(count, noise_multiplier, receipt);
        // The number of records that are held out is private; this one is not (R2).
        let expected =
            self.plan.recipe.training.held_out() * self.plan.recipe.run.records.unwrap_or_default() as f64;
        self.note((correct[0] / expected) as f32);
        Ok(())
    }

    fn note(&mut self, accuracy: f32) {
        let epochs = self.plan.epochs(self.step);
        self.watch.iter_mut().for_each(|watch| watch.note(accuracy, epochs));
    }

    /// The parameters to publish: the moving average if there is one.
    pub fn result(&self) -> &[f32] {
        self.average.as_ref().map_or(&self.parameters, |average| average.average())
    }

    /// What is released behind the last step, where that is still to come.
    pub fn closing(&self) -> Option<Access> {
        self.closing.access(&self.plan)
    }

    /// Chooses the threshold, where the recipe asks for that.
    pub fn close(&mut self, receipt: Option<Receipt>) -> Result<()> {
        let parameters = self.average.as_ref().map_or(&self.parameters[..], |average| average.average());
        let held_out = receipt.map(|receipt| self.held_out.all(receipt));
        let test = self.dataset.test();
        self.closing.close(&self.plan, &mut self.evaluator, parameters, &test, held_out, &self.mechanism)
    }

    /// How the model chooses a class.
    pub fn decision(&self) -> Decision {
        self.closing.decision()
    }

    /// How good the model is on the test split, which no guarantee covers.
    pub fn evaluate(&mut self) -> Result<Evaluation> {
        let parameters = self.average.as_ref().map_or(&self.parameters[..], |average| average.average());
        let evaluation = self.evaluator.evaluate(parameters, &self.dataset.test())?;
        self.loss_makes_sense = evaluation.records == 0 || evaluation.loss < LARGEST_LOSS;
        Ok(evaluation)
    }

    /// Whether weights are no finite numbers any more, or the test loss is none that a network which learns could have.
    pub fn diverged(&self) -> bool {
        !self.loss_makes_sense || self.parameters.iter().any(|parameter| !parameter.is_finite())
    }

    /// Everything that the next step depends on, beside the key.
    pub fn state(&self) -> State {
        let mut state = State::from([("parameters".to_string(), self.parameters.clone())]);
        let mut add = |part: &str, inner: State| put(&mut state, part, inner);
        add("optimizer", self.optimizer.state());
        add("method", self.method.state());
        if self.prepared {
            add("preparation", State::from([(DONE.to_string(), vec![1.0])]));
        }
        if let Some(watch) = &self.watch {
            add("validation", watch.state());
        }
        if let Some(weights) = &self.weights {
            add("classes", State::from([(WEIGHTS.to_string(), weights.clone())]));
        }
        add("threshold", self.closing.state());
        if let Some(average) = &self.average {
            add("average", average.state());
        }
        state
    }

    /// Continues from a saved state after `step` steps.
    pub fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        let part = |name: &str| part(state, name);
        restore(state, "parameters", &mut self.parameters)?;
        self.optimizer.restore(&part("optimizer"))?;
        self.method.restore(&part("method"))?;
        if let Some(watch) = &mut self.watch {
            watch.restore(&part("validation"))?;
        }
        if let Some(average) = &mut self.average {
            average.restore(&part("average"))?;
        }
        if let Some(weights) = part("classes").remove(WEIGHTS) {
            self.weights = Some(weights);
        }
        self.closing.restore(&part("threshold"));
        self.evaluator.decide(self.closing.decision());
        self.prepared = step > self.prepared_after() || part("preparation").contains_key(DONE);
        self.step = step;
        Ok(())
    }
}
