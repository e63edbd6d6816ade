//! Critic and generator, step by step.

use super::maker::Maker;
use super::penalty::Judge;
use super::plan::AdversarialPlan;
use super::rows::Rows;
use crate::State;
use crate::clip::{Clip, PerLayer};
use crate::data::View;
use crate::error::{Error, Result};
use crate::gradient_norms::mean_norms;
use crate::learner::Pupil;
use crate::ledger::Receipt;
use crate::mechanism::{Gradients, Mechanism};
use crate::methods::{Method, Release, Step};
use crate::noise::{self, Key, Uniform};
use crate::optimizer::Optimizer;
use crate::state::{part, put, restore};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Engine, Examples, Options, Purpose};
use std::sync::Arc;

/// Tells random numbers about public records from those about others.
const PUBLIC: u64 = 0x7075_626c_6963;

/// The last released gradient in a saved state.
const RELEASED: &str = "released";

/// A critic and a generator in training.
pub(super) struct Duel {
    plan: Arc<AdversarialPlan>,
    /// Of the critic, for records.
    engine: Engine,
    /// Of the critic, for what is generated.
    of_made: Engine,
    /// Of the critic, for gradients at its inputs.
    judge: Engine,
    method: Box<dyn Method>,
    mechanism: Mechanism,
    optimizer: Box<dyn Optimizer>,
    /// Of the critic.
    pub parameters: Vec<f32>,
    /// The last released gradient on records, where it does not depend on the critic's weights.
    released: Vec<f32>,
    pub maker: Maker,
    pub generator: Pupil,
}

/// What a generator made.
struct Made {
    classes: Vec<u32>,
    /// The inputs of the generator.
    asked: Vec<f32>,
    /// What it made of them, as the critic reads it.
    rows: Rows,
}

impl Duel {
    /// First weights, and everything that a step needs.
    pub fn new(plan: Arc<AdversarialPlan>, key: &Key) -> Result<Duel> {
        let seed = |network: u64| {
            Uniform::new(key, noise::Stream::new(noise::Purpose::Initialisation, network)).bits()
        };
        let (critic, threads) = (&plan.critic, plan.run().threads);
        let method = critic.build_method()?;
        let engine = |purpose, input_gradients| {
            let options = Options { threads, input_gradients, ..Options::new(purpose) };
            Engine::new(critic.network.clone(), options)
        };
        let own = &plan.recipe.generator;
        let generator = Pupil::new(&plan.recipe.learner(), plan.generator.1.clone(), threads, seed(1))?;
        let parameters = own_start(&plan, seed(0));
        Ok(Duel {
            engine: engine(method.purpose(), false)?,
            of_made: engine(if own.objective.fixed() { Purpose::Plain } else { Purpose::PerExample }, false)?,
            judge: engine(Purpose::Plain, true)?,
            mechanism: critic.mechanism(key),
            optimizer: critic.recipe.training.optimizer.optimizer(parameters.len()),
            maker: Maker::new(plan.generator.1.clone(), own.latent, plan.classes, threads)?,
            generator: generator.minimising(muffle_nn::Loss::Linear),
            method,
            parameters,
            released: Vec::new(),
            plan,
        })
    }

    /// What a step with this noise is charged for, before sampling.
    pub fn event(&self, step: u64) -> muffle_accounting::Event {
        self.plan.critic.event(&*self.method, self.plan.critic.noise_multiplier_at(step))
    }

    /// One row of targets for each class: the value at the class that is asked about.
    fn targets(&self, classes: &[u32], value: f32) -> Vec<f32> {
        let outputs = self.plan.outputs();
        let mut targets = vec![0.0; classes.len() * outputs];
        for (row, &class) in targets.chunks_exact_mut(outputs).zip(classes) {
            row[class as usize] = value;
        }
        targets
    }

    /// Records as the critic's loss has them: each with all inputs at which its part of the loss is asked for.
    ///
    /// # Guarantee
    /// What is random about a record follows who it is and not who else is there: its part of the sum is the same in every batch.
    fn records(&mut self, view: &View, seed: u64) -> Result<Rows> {
        let (width, count) = (self.plan.critic.network.input().len(), view.len());
        let objective = self.plan.recipe.generator.objective;
        let class = |record: usize| if self.plan.classes > 0 { view.label(record) } else { 0 };
        let classes: Vec<u32> = (0..count).map(class).collect();
        let identities: Vec<u64> = (0..count).map(|record| view.identity(record)).collect();
        let mut inputs = vec![0.0; count * width];
        inputs.chunks_exact_mut(width).enumerate().for_each(|(record, input)| view.read(record, input));
        let mut views = vec![(inputs, self.targets(&classes, objective.real()))];
        if self.plan.paired() || objective.penalised() {
            let (mut asked, mut between) = (Vec::new(), Vec::new());
            for (class, identity) in classes.iter().zip(&identities) {
                let mut random = SplitMix::new(SplitMix::new(seed ^ SplitMix::new(*identity).bits()).bits());
                between.push(random.uniform() as f32);
                asked.extend(self.maker.inputs(&[*class], &mut random));
            }
            let made = self.maker.make(self.generator.parameters(), &asked)?;
            if objective.penalised() {
                let penalised = self.penalised(&views[0].0, &made, &classes, &between)?;
                views.extend(penalised);
            }
            if self.plan.paired() {
                views.push((made, self.targets(&classes, -objective.real())));
            }
        }
        Ok(Rows { identities, ..interleaved(&views, width, self.plan.outputs()) })
    }

    /// The inputs and targets by which each record has the gradient of its penalty, at a point so far between it and what was made.
    fn penalised(
        &mut self,
        records: &[f32],
        made: &[f32],
        classes: &[u32],
        between: &[f32],
    ) -> Result<[(Vec<f32>, Vec<f32>); 2]> {
        let (width, outputs) = (self.plan.critic.network.input().len(), self.plan.outputs());
        let mut points = records.to_vec();
        for ((point, made), share) in
            points.chunks_exact_mut(width).zip(made.chunks_exact(width)).zip(between)
        {
            point.iter_mut().zip(made).for_each(|(point, made)| *point += share * (made - *point));
        }
        let points = Rows::new(width, outputs, points, self.targets(classes, 1.0));
        let mut judge = Judge { engine: &mut self.judge, parameters: &self.parameters };
        let penalties = judge.penalties(&points, self.plan.recipe.generator.penalty)?;
        Ok([1.0, -1.0].map(|sign: f32| {
            let side = usize::from(sign < 0.0);
            let inputs = penalties.iter().flat_map(|penalty| penalty.neighbours[side].iter().copied());
            let rows = points.targets.chunks_exact(outputs).zip(&penalties);
            let targets =
                rows.flat_map(|(row, penalty)| row.iter().map(move |at| sign * at * penalty.weight));
            (inputs.collect(), targets.collect())
        }))
    }

    /// One step of the critic; how many records were left out because they are not finite.
    pub fn criticise(
        &mut self,
        view: &View,
        receipt: Receipt,
        step: u64,
        shares: &[f32],
        seed: u64,
    ) -> Result<usize> {
        let plan = self.plan.clone();
        let (objective, training) = (plan.recipe.generator.objective, &plan.critic.recipe.training);
        let mut random = SplitMix::new(seed);
        let clip_factor = plan.critic.clip_factor(step)?;
        if self.method.follows_public() {
            self.look_at_public(view, seed)?;
        }
        let made = match plan.paired() || objective.fixed() {
            true => None,
            false => {
                let rule: Box<dyn Clip> = match self.method.thresholds() {
                    Some(own) => Box::new(PerLayer::new(own.iter().map(|own| clip_factor * own).collect())),
                    None => training.clip.rule(&plan.critic.network, clip_factor).map_err(Error::Plan)?,
                };
                Some(self.sum_over_made(shares, plan.run().private.then_some(&*rule), &mut random)?)
            }
        };
        let rows = self.records(view, seed)?;
        let Release { mut gradient, unprotected } = self.method.release(Step {
            gradients: Gradients {
                engine: &mut self.engine,
                parameters: &self.parameters,
                examples: &rows,
                loss: objective.loss(),
                seed,
            },
            mechanism: &self.mechanism,
            receipt,
            noise_multiplier: plan.critic.noise_multiplier_at(step),
            clip_factor,
        })?;
        if objective.fixed() {
            self.released = gradient.gradient().to_vec();
            return Ok(unprotected.0.excluded.len());
        }
        if let Some(made) = made {
            gradient.add(&made, 1.0 / plan.recipe.generator.batch_size as f32);
        }
        let learning_rate = training.learning_rate.at(plan.critic.time(step)) as f32;
        self.optimizer.step(&mut self.parameters, &gradient, learning_rate);
        if let Some(limit) = plan.recipe.generator.weight_clip {
            self.parameters.iter_mut().for_each(|value| *value = value.clamp(-limit, limit));
        }
        Ok(unprotected.0.excluded.len())
    }

    /// Tells the method how long the gradients of public records are, tensor by tensor: a batch of them, drawn anew.
    ///
    /// # Source
    /// Xu et al. 2019, as Shen and Zhong 2021 print it in Algorithm 4.
    fn look_at_public(&mut self, view: &View, seed: u64) -> Result<()> {
        let public = view.dataset().public().expect("the plan has asked for public records");
        let mut random = SplitMix::new(seed ^ PUBLIC);
        let count = (self.plan.critic.recipe.training.batch_size as usize).min(public.len());
        let drawn = |_| (random.bits() % public.len() as u64) as usize;
        let drawn = public.select((0..count).map(drawn).collect::<Vec<_>>());
        let rows = self.records(&drawn, seed ^ PUBLIC)?;
        let loss = self.plan.recipe.generator.objective.loss();
        let means = mean_norms(&mut self.of_made, &self.parameters, &rows, loss, seed, 0.0)?;
        self.method.follow_public(&means);
        Ok(())
    }

    /// The gradients on generated records, each clipped like a record, so that both sides weigh alike. Their sum owes nothing to
    /// records but through released weights (R9).
    fn sum_over_made(
        &mut self,
        shares: &[f32],
        rule: Option<&dyn Clip>,
        random: &mut SplitMix,
    ) -> Result<Vec<f32>> {
        let objective = self.plan.recipe.generator.objective;
        let Made { rows, .. } = self.made(shares, -objective.real(), random)?;
        let weigh = |norms: &[f64], factors: &mut [f32]| match rule {
            Some(rule) => rule.factors(norms, factors),
            None => factors.fill(1.0),
        };
        self.of_made.weighted_sum(&self.parameters, &rows, objective.loss(), random.bits(), &weigh)?;
        Ok(self.of_made.gradient().to_vec())
    }

    /// One step of the generator, by what the critic would rather see.
    pub fn generate(&mut self, shares: &[f32], seed: u64) -> Result<()> {
        let mut random = SplitMix::new(seed);
        let objective = self.plan.recipe.generator.objective;
        let Made { asked, rows, .. } = self.made(shares, objective.real(), &mut random)?;
        self.please(asked, &rows, random.bits())
    }

    /// One step of the generator by a critic that is as good as it can be for what was released: its weights are the difference of
    /// the means of the features, those of generated records being of the very ones that the step is about.
    pub fn follow(&mut self, shares: &[f32], seed: u64) -> Result<()> {
        let mut random = SplitMix::new(seed);
        let objective = self.plan.recipe.generator.objective;
        let Made { classes, asked, mut rows } = self.made(shares, -objective.real(), &mut random)?;
        self.of_made.sum(&self.parameters, &rows, objective.loss(), 0)?;
        let means = self.released.iter().zip(self.of_made.gradient());
        let count = classes.len() as f32;
        self.parameters = means.map(|(records, made)| -(records + made / count)).collect();
        rows.targets = self.targets(&classes, objective.real());
        self.please(asked, &rows, 0)
    }

    /// Records as the generator makes them by now, of random classes, with what their loss is to count.
    fn made(&mut self, shares: &[f32], target: f32, random: &mut SplitMix) -> Result<Made> {
        let classes = self.maker.classes(shares, self.plan.recipe.generator.batch_size, random);
        let asked = self.maker.inputs(&classes, random);
        let made = self.maker.make(self.generator.parameters(), &asked)?;
        let width = self.plan.critic.network.input().len();
        let rows = Rows::new(width, self.plan.outputs(), made, self.targets(&classes, target));
        Ok(Made { classes, asked, rows })
    }

    /// Moves the generator along what the critic would rather see in place of what it made of these inputs.
    fn please(&mut self, asked: Vec<f32>, rows: &Rows, seed: u64) -> Result<()> {
        let loss = self.plan.recipe.generator.objective.loss();
        let mut slopes = vec![0.0; rows.inputs.len()];
        self.judge.input_gradients(&self.parameters, rows, loss, seed, &mut slopes)?;
        self.generator.learn(&Rows::new(self.maker.width(), rows.width, asked, slopes))
    }

    /// Whether weights are no finite numbers any more.
    pub fn diverged(&self) -> bool {
        !self.parameters.iter().chain(self.generator.parameters()).all(|value| value.is_finite())
    }

    /// Everything that the next step depends on, beside the key.
    pub fn state(&self) -> State {
        let mut critic = State::from([("parameters".to_string(), self.parameters.clone())]);
        put(&mut critic, "optimizer", self.optimizer.state());
        put(&mut critic, "method", self.method.state());
        if !self.released.is_empty() {
            critic.insert(RELEASED.to_string(), self.released.clone());
        }
        let mut state = State::new();
        put(&mut state, "critic", critic);
        put(&mut state, "generator", self.generator.state());
        state
    }

    /// Continues from a saved state after `step` steps of the critic.
    pub fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        let critic = part(state, "critic");
        restore(&critic, "parameters", &mut self.parameters)?;
        self.optimizer.restore(&part(&critic, "optimizer"))?;
        self.method.restore(&part(&critic, "method"))?;
        self.released = critic.get(RELEASED).cloned().unwrap_or_default();
        self.generator.restore(&part(state, "generator"), self.plan.generator_steps(step))
    }
}

/// The first weights of the critic, within their limit.
fn own_start(plan: &AdversarialPlan, seed: u64) -> Vec<f32> {
    let mut parameters = plan.critic.recipe.training.initialisation.parameters(&plan.critic.network, seed);
    if let Some(limit) = plan.recipe.generator.weight_clip {
        parameters.iter_mut().for_each(|value| *value = value.clamp(-limit, limit));
    }
    parameters
}

/// The views of each record one after the other.
fn interleaved(views: &[(Vec<f32>, Vec<f32>)], width: usize, outputs: usize) -> Rows {
    let count = views[0].0.len() / width;
    let mut rows = Rows::new(width, outputs, Vec::new(), Vec::new());
    rows.views = views.len();
    for record in 0..count {
        for (inputs, targets) in views {
            rows.inputs.extend_from_slice(&inputs[record * width..][..width]);
            rows.targets.extend_from_slice(&targets[record * outputs..][..outputs]);
        }
    }
    rows
}
