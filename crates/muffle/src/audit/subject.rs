//! What is audited.

use crate::error::Result;
use crate::ledger::{Access, Ledger};
use crate::mechanism::{Gradients, Mechanism};
use crate::methods::{Method, Preparation, Step};
use crate::noise::Key;
use crate::train::{METHOD, Plan, STEPS};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::{Engine, Examples, Loss, Network, Options};
use std::sync::Arc;

/// Makes a method, ready for its first step.
pub type MakeMethod<'a> = Box<dyn Fn() -> Result<Box<dyn Method>> + Sync + 'a>;

/// Makes the mechanism of a run with a key.
pub type MakeMechanism<'a> = Box<dyn Fn(&Key) -> Mechanism + Sync + 'a>;

/// The noise multiplier of a step, and the factor on its thresholds.
pub type Strength<'a> = Box<dyn Fn(u64) -> Result<(f64, f64)> + Sync + 'a>;

/// The parts of a private step, as they run in training.
pub struct Subject<'a> {
    /// The network.
    pub network: Arc<Network>,
    /// Where it is.
    pub parameters: Vec<f32>,
    /// What turns gradients into a release.
    pub method: MakeMethod<'a>,
    /// What draws its noise.
    pub mechanism: MakeMechanism<'a>,
    /// Which number the noise of a step has; one for each, if all is well.
    pub number: fn(u64) -> u64,
    /// How strong noise and clip are, as the schedules have it.
    pub strength: Strength<'a>,
    /// What training makes small.
    pub loss: Loss,
    /// What a form that is not proved runs on.
    pub claim: Option<Event>,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
}

impl<'a> Subject<'a> {
    /// The step of a plan.
    pub fn of(plan: &'a Plan, parameters: Vec<f32>) -> Subject<'a> {
        Subject {
            network: plan.network.clone(),
            parameters,
            method: Box::new(|| plan.build_method()),
            mechanism: Box::new(|key| plan.mechanism(key)),
            number: |step| step,
            strength: Box::new(|step| Ok((plan.noise_multiplier_at(step), plan.clip_factor(step)?))),
            loss: plan.loss,
            claim: plan.claim(),
            adjacency: plan.adjacency,
        }
    }

    /// An engine for the method; the machine's cores if `threads` is absent.
    pub(super) fn engine(&self, method: &dyn Method, threads: Option<usize>) -> Result<Engine> {
        let options = Options { threads, hooked: method.hooked(), ..Options::new(method.purpose()) };
        Ok(Engine::new(self.network.clone(), options)?)
    }

    /// Lets the method learn from these records what it learns of all records, at these parameters, if anything.
    pub(super) fn prepare(
        &self,
        method: &mut dyn Method,
        parameters: &mut [f32],
        key: &Key,
        examples: &dyn Examples,
    ) -> Result<()> {
        let Some(event) = method.preparation() else { return Ok(()) };
        let access = Access::all(METHOD, 0, self.claim.clone().unwrap_or(event));
        method.prepare(Preparation {
            parameters,
            examples,
            mechanism: &(self.mechanism)(key),
            receipt: Ledger::in_memory().pay_one(access)?,
            noise_multiplier: (self.strength)(0)?.0,
        })?;
        Ok(())
    }

    /// What the first step at the parameters would release of these examples by its own method, with noise of this seed; sums as they are
    /// without privacy.
    pub fn first_release(&self, examples: &dyn Examples, seed: u64) -> Result<Vec<f32>> {
        let mut method = (self.method)()?;
        let mut engine = self.engine(&*method, Some(1))?;
        self.release(&mut *method, &mut engine, &self.parameters, &Key::from_seed(seed), 0, examples)
    }

    /// One release of a run with this key, at these parameters.
    pub(super) fn release(
        &self,
        method: &mut dyn Method,
        engine: &mut Engine,
        parameters: &[f32],
        key: &Key,
        step: u64,
        examples: &dyn Examples,
    ) -> Result<Vec<f32>> {
        let (noise_multiplier, clip_factor) = (self.strength)(step)?;
        let release = self.claim.clone().unwrap_or_else(|| method.event(noise_multiplier));
        let access = Access::all(STEPS, (self.number)(step), release);
        let released = method.release(Step {
            gradients: Gradients { engine, parameters, examples, loss: self.loss, seed: 0 },
            mechanism: &(self.mechanism)(key),
            receipt: Ledger::in_memory().pay_one(access)?,
            noise_multiplier,
            clip_factor,
        })?;
        Ok(released.gradient.gradient().to_vec())
    }
}
