//! What is audited.

use crate::mechanism::Mechanism;
use crate::methods::{Method, Step};
use crate::noise::Key;
use crate::train::{Plan, Result, mechanism};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::{Engine, Examples, Loss, Network, Options};
use std::sync::Arc;

/// Makes a method, ready for its first step.
pub type MakeMethod<'a> = Box<dyn Fn() -> Result<Box<dyn Method>> + 'a>;

/// Makes the mechanism of a run with a key, at a step.
pub type MakeMechanism<'a> = Box<dyn Fn(&Key, u64) -> Mechanism + 'a>;

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
    /// Standard deviation of the noise over the threshold.
    pub noise_multiplier: f64,
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
            mechanism: Box::new(|key, step| mechanism(plan, key).resumed_at(step)),
            noise_multiplier: plan.noise_multiplier_at(0),
            claim: plan.claim(),
            adjacency: plan.adjacency,
        }
    }

    /// An engine for the method; the machine's cores if `threads` is absent.
    pub(super) fn engine(&self, method: &dyn Method, threads: Option<usize>) -> Result<Engine> {
        let options = Options { threads, hooked: method.hooked(), ..Options::new(method.purpose()) };
        Ok(Engine::new(self.network.clone(), options)?)
    }

    /// One release of a run with this key.
    pub(super) fn release(
        &self,
        method: &mut dyn Method,
        engine: &mut Engine,
        key: &Key,
        step: u64,
        examples: &dyn Examples,
    ) -> Result<Vec<f32>> {
        let release = method.release(Step {
            engine,
            mechanism: &mut (self.mechanism)(key, step),
            parameters: &self.parameters,
            examples,
            loss: Loss::SoftmaxCrossEntropy,
            seed: 0,
            noise_multiplier: self.noise_multiplier,
            clip_factor: 1.0,
            claim: self.claim.clone(),
        })?;
        Ok(release.gradient.gradient().to_vec())
    }
}
