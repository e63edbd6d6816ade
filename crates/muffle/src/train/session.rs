//! Training in memory: one private step after the other.

use super::error::Result;
use super::evaluation::{Evaluation, Evaluator};
use super::plan::Plan;
use super::validation::{Watch, hold_out};
use crate::State;
use crate::data::{Dataset, Views};
use crate::mechanism::Mechanism;
use crate::methods::{Method, Release, Step};
use crate::moving_average::MovingAverage;
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::optimizer::Optimizer;
use crate::sampler::Sampler;
use crate::state::restore;
use muffle_accounting::Event;
use muffle_nn::{Engine, Loss, Options};

/// What a step saw.
pub struct StepReport {
    /// What was released, before sampling.
    pub event: Event,
    /// Records drawn. **Not private**: for speed on the holder's screen.
    pub drawn: usize,
    /// Records left out because their gradient was not finite. **Not private.**
    pub excluded: usize,
}

/// A network in training.
pub struct Session<'a> {
    plan: &'a Plan,
    dataset: &'a Dataset,
    key: Key,
    engine: Engine,
    evaluator: Evaluator,
    /// Positions of the records that are trained on, where some are held out.
    training: Option<Vec<usize>>,
    held_out: Vec<usize>,
    watch: Option<Watch>,
    sampler: Box<dyn Sampler>,
    method: Box<dyn Method>,
    mechanism: Mechanism,
    optimizer: Box<dyn Optimizer>,
    parameters: Vec<f32>,
    average: Option<MovingAverage>,
}

impl<'a> Session<'a> {
    /// First weights, and everything that a step needs.
    pub fn new(plan: &'a Plan, dataset: &'a Dataset, key: Key) -> Result<Session<'a>> {
        let recipe = &plan.recipe;
        let initial = Uniform::new(&key, Stream::new(Purpose::Initialisation, 0)).bits();
        let parameters = recipe.initialisation.parameters(&plan.network, initial);
        let method = plan.build_method()?;
        let options =
            Options { threads: recipe.threads, hooked: method.hooked(), ..Options::new(method.purpose()) };
        let share = recipe.validation.map_or(0.0, |validation| validation.share());
        let (training, held_out) = match share > 0.0 {
            true => {
                let (training, held_out) = hold_out(&dataset.train(), share);
                (Some(training), held_out)
            }
            false => (None, Vec::new()),
        };
        let records = training.as_ref().map_or(dataset.train().split().len(), Vec::len);
        Ok(Session {
            engine: Engine::new(plan.network.clone(), options)?,
            evaluator: Evaluator::new(plan.network.clone(), recipe.threads)?,
            sampler: plan.sampler(&key, records),
            training,
            held_out,
            watch: recipe.validation.map(Watch::new),
            optimizer: recipe.optimizer.optimizer(parameters.len()),
            average: recipe.moving_average.map(|decay| MovingAverage::new(&parameters, decay)),
            parameters,
            method,
            mechanism: mechanism(plan, &key),
            plan,
            dataset,
            key,
        })
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.mechanism.next_step()
    }

    /// The sampler, which knows what a step costs.
    pub fn sampler(&self) -> &dyn Sampler {
        &*self.sampler
    }

    /// What a step is charged for, before sampling. It is known for steps before
    /// [`noise_known_until`](Session::noise_known_until).
    pub fn event(&self, step: u64) -> Event {
        self.plan.event(&*self.method, self.noise_multiplier(step))
    }

    fn noise_multiplier(&self, step: u64) -> f64 {
        self.plan.noise_multiplier_at(step) * self.watch.map_or(1.0, |watch| watch.factor())
    }

    /// One past the last step whose noise is known by now.
    pub fn noise_known_until(&self) -> u64 {
        match self.watch {
            _ if self.method.adaptive() => self.step() + 1,
            Some(_) => {
                (self.step() + 1..).find(|&step| self.plan.checked_after(step)).expect("epochs do not end")
            }
            None => u64::MAX,
        }
    }

    /// What the check on validation records costs that is due now; `None` if none is due, or if it is free.
    pub fn check_event(&self) -> Option<Event> {
        let due = self.step() > 0 && self.plan.checked_after(self.step());
        self.plan.recipe.validation.filter(|_| due)?.event()
    }

    /// Checks the model on validation records, if that is due now: the noise may fall. Returns what it cost.
    pub fn check(&mut self) -> Result<Option<Event>> {
        let (plan, dataset) = (self.plan, self.dataset);
        let step = self.step();
        let (Some(mut watch), Some(rule)) = (self.watch, plan.recipe.validation) else { return Ok(None) };
        if step == 0 || !plan.checked_after(step) {
            return Ok(None);
        }
        let parameters = self.average.as_ref().map_or(&self.parameters[..], |average| average.average());
        let (accuracy, event) = match rule.noise_multiplier() {
            None => (self.evaluator.evaluate(parameters, &dataset.test())?.accuracy as f32, None),
            Some(noise_multiplier) => {
                let held_out = dataset.train().select(&self.held_out[..]);
                let correct = self.evaluator.correct(parameters, &held_out)?;
                let (correct, event) = self.mechanism.release_number(correct, noise_multiplier);
                // The number of records that are held out is private; this one is not (R2).
                let expected = rule.share() * plan.recipe.records.unwrap_or_default() as f64;
                (correct / expected as f32, Some(event))
            }
        };
        watch.note(accuracy, plan.epochs(step));
        self.watch = Some(watch);
        Ok(event)
    }

    /// The method.
    pub(super) fn method(&self) -> &dyn Method {
        &*self.method
    }

    /// Lets the method learn from all records what it needs before the first step; what that cost.
    pub(super) fn prepare(&mut self) -> Result<Option<Event>> {
        Ok(self.method.prepare(&self.parameters, &self.dataset.train(), &self.key)?)
    }

    /// Draws records, clips and sums their gradients, adds noise, and moves the parameters.
    pub fn advance(&mut self) -> Result<StepReport> {
        let Session { plan, dataset, .. } = *self;
        let (step, recipe) = (self.mechanism.next_step(), &plan.recipe);
        // Randomness inside layers and of views: a stream of its own.
        let seed = Uniform::new(&self.key, Stream::new(Purpose::Data, step)).bits();
        let mut records = self.sampler.draw(step);
        if let Some(training) = &self.training {
            records.iter_mut().for_each(|record| *record = training[*record]);
        }
        let noise_multiplier = self.noise_multiplier(step);
        let drawn = records.len();
        let views = recipe.augmentation.views;
        let view = dataset.train().select(records);
        let batch = Views::new(view, recipe.augmentation.augmentation(), seed, 0, views);

        let Release { gradient: released, event, unprotected } = self.method.release(Step {
            engine: &mut self.engine,
            mechanism: &mut self.mechanism,
            parameters: &self.parameters,
            examples: &batch,
            loss: Loss::SoftmaxCrossEntropy,
            seed,
            noise_multiplier,
            clip_factor: plan.clip_factor(step)?,
            claim: plan.claim(),
        })?;
        let learning_rate = recipe.learning_rate.at(plan.time(step)) as f32;
        self.optimizer.step(&mut self.parameters, &released, learning_rate);
        if let Some(average) = &mut self.average {
            average.update(&self.parameters, released.pool());
        }
        Ok(StepReport { event, drawn, excluded: unprotected.0.excluded.len() })
    }

    /// The parameters to publish: the moving average if there is one.
    pub fn result(&self) -> &[f32] {
        self.average.as_ref().map_or(&self.parameters, |average| average.average())
    }

    /// Accuracy on the test split, which no guarantee covers.
    pub fn evaluate(&mut self) -> Result<Evaluation> {
        let parameters = self.average.as_ref().map_or(&self.parameters[..], |average| average.average());
        self.evaluator.evaluate(parameters, &self.dataset.test())
    }

    /// Everything that the next step depends on, beside the key.
    pub fn state(&self) -> State {
        let mut state = State::from([("parameters".to_string(), self.parameters.clone())]);
        let mut add = |part: &str, inner: State| {
            state.extend(inner.into_iter().map(|(name, values)| (format!("{part}.{name}"), values)));
        };
        add("optimizer", self.optimizer.state());
        add("method", self.method.state());
        if let Some(watch) = &self.watch {
            add("validation", watch.state());
        }
        if let Some(average) = &self.average {
            add("average", average.state());
        }
        state
    }

    /// Continues from a saved state at `step`.
    pub fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        let part = |part: &str| -> State {
            let inner = |(name, values): (&String, &Vec<f32>)| {
                let name = name.strip_prefix(part)?.strip_prefix('.')?;
                Some((name.to_string(), values.clone()))
            };
            state.iter().filter_map(inner).collect()
        };
        restore(state, "parameters", &mut self.parameters)?;
        self.optimizer.restore(&part("optimizer"))?;
        self.method.restore(&part("method"))?;
        if let Some(watch) = &mut self.watch {
            watch.restore(&part("validation"))?;
        }
        if let Some(average) = &mut self.average {
            average.restore(&part("average"))?;
        }
        self.mechanism = mechanism(self.plan, &self.key).resumed_at(step);
        Ok(())
    }
}

/// The mechanism of a plan.
pub(crate) fn mechanism(plan: &Plan, key: &Key) -> Mechanism {
    let noise = &plan.recipe.noise;
    let mechanism = Mechanism::new(key.clone(), plan.recipe.batch_size as f32);
    mechanism.allocation(noise.allocation).draws(noise.draws)
}
