//! From a recipe and its data to numbers: the critic's noise and steps, and both networks.

use super::recipe::AdversarialRecipe;
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::methods::Mode;
use crate::run::{Parts, RunRecipe, Terms};
use crate::train::network::describe;
use crate::train::{ClassShares, DataShape, GradientRecipe, Plan, Recipe, TargetShape};
use muffle_nn::network::{Node, Operation};
use muffle_nn::shape::Shape;
use muffle_nn::{ModelDescription, Network};
use serde_json::json;
use std::sync::Arc;

/// A recipe whose open questions are answered.
#[derive(Clone)]
pub struct AdversarialPlan {
    /// The rest of the recipe; that of the critic is in its plan.
    pub recipe: AdversarialRecipe,
    /// How the critic is trained: noise, steps and price are those of the run.
    pub critic: Plan,
    /// The network that makes records, and how it is published.
    pub generator: (ModelDescription, Arc<Network>),
    /// The network that learns from generated records, if there is one.
    pub classifier: Option<Arc<Network>>,
    /// Classes that both networks are told; none if the records have none, or it is not to be told.
    pub classes: usize,
}

impl AdversarialPlan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, all steps of the critic and the count of classes are priced at no more than that.
    pub fn new(parts: &Parts, dataset: &Dataset) -> Result<AdversarialPlan> {
        let recipe = AdversarialRecipe::of(parts)?;
        let dataset = &recipe.divided(dataset)?;
        let classes = match dataset.task() {
            Task::Classes(names) if recipe.generator.conditional && recipe.generator.class.is_none() => {
                names.len()
            }
            _ => 0,
        };
        check_class(&recipe, dataset)?;
        if dataset.vocabulary().is_some() || dataset.columns().iter().any(|column| column.tokens.is_some()) {
            return Err(Error::Plan(
                "the records are texts, and a generator makes numbers and categories: leave the texts out"
                    .to_string(),
            ));
        }
        let shares = recipe.critic.class_shares.clone();
        if let Some(ClassShares::Public(shares)) = &shares
            && (shares.len() != classes || !shares.iter().all(|share| *share >= 0.0 && share.is_finite()))
        {
            return Err(Error::Plan(format!(
                "class_shares has {} numbers, and {classes} classes are told: give one of at least zero for each",
                shares.len()
            )));
        }
        if shares.is_some() && classes == 0 {
            return Err(Error::Plan("class_shares: no classes are told; leave it out".to_string()));
        }
        let data = DataShape {
            targets: if classes > 0 { TargetShape::Classes(classes) } else { TargetShape::Values(1) },
            records: positions(&recipe, dataset).map_or(dataset.train().split().len(), |own| own.len()),
            ..DataShape::of(dataset)
        };
        // Public shares cost nothing, and the plan of the critic has no use for them.
        let counted = shares.filter(|shares| matches!(shares, ClassShares::Counted { .. }));
        let critic = GradientRecipe { class_shares: counted, ..recipe.critic.clone() };
        let critic = Plan::new(Recipe { run: parts.run.clone(), training: critic }, &data)?;
        if critic.filter_order.is_some() {
            return Err(Error::Plan(format!(
                "method `{}` chooses its noise on the way, which a critic cannot; take another",
                critic.method.name
            )));
        }
        check_features(&recipe, &critic.network)?;
        check_public(&critic, dataset)?;
        let description =
            describe(&recipe.generator.model, Shape::Vector(recipe.generator.latent + classes))?;
        let network = Arc::new(description.network()?);
        check_generator(&network, recipe.generator.latent + classes, dataset.input())?;
        let classifier = match (&recipe.classifier, dataset.task()) {
            (Some(learner), Task::Classes(names)) => Some(learner.network(dataset.input(), names.len())?.1),
            (Some(_), _) => {
                return Err(Error::Plan(
                    "classifier: the data have no classes to learn; leave it out".to_string(),
                ));
            }
            (None, _) => None,
        };
        if classifier.is_some() && classes == 0 {
            return Err(Error::Plan(
                "classifier: generated records have no class where none is told; leave it out, or set conditional = true"
                    .to_string(),
            ));
        }
        let mut recipe = recipe;
        recipe.critic = GradientRecipe {
            class_shares: recipe.critic.class_shares.take(),
            ..critic.recipe.training.clone()
        };
        let mut plan =
            AdversarialPlan { recipe, critic, generator: (description, network), classifier, classes };
        let length = plan.generator_steps(plan.terms().steps);
        plan.recipe.generator.learning_rate.end_with(Some(length)).map_err(Error::Plan)?;
        Ok(plan)
    }

    /// What every run has.
    pub fn run(&self) -> &RunRecipe {
        &self.critic.recipe.run
    }

    /// Outputs of the critic: one for each class that is told.
    pub fn outputs(&self) -> usize {
        self.classes.max(1)
    }

    /// Steps that the generator has taken after so many of the run.
    pub fn generator_steps(&self, step: u64) -> u64 {
        match self.recipe.generator.objective.fixed() {
            true => step.saturating_sub(self.critic.steps),
            false => step / self.recipe.generator.critic_steps,
        }
    }

    /// The record's own part of the loss: the whole of it in a published form, without the generated record otherwise.
    pub fn paired(&self) -> bool {
        self.recipe.critic.mode == Mode::AsPublished
    }

    /// The shares of the classes, where they are known without a look at the records.
    pub fn known_shares(&self) -> Option<Vec<f32>> {
        match &self.recipe.critic.class_shares {
            Some(ClassShares::Counted { .. }) => None,
            Some(ClassShares::Public(shares)) => {
                let whole: f64 = shares.iter().sum();
                Some(shares.iter().map(|share| (share / whole) as f32).collect())
            }
            None => Some(vec![1.0 / self.outputs() as f32; self.outputs()]),
        }
    }

    /// What the run has to keep to.
    pub fn terms(&self) -> Terms {
        let mut terms = self.critic.terms();
        terms.steps += self.recipe.generator.steps;
        let generator = &self.recipe.generator;
        terms.training.insert(
            "generator".to_string(),
            json!({
                "objective": generator.objective,
                "critic_steps": generator.critic_steps,
                "sees": "the critic's released weights, and no record",
            }),
        );
        terms
    }

    /// The recipe as a file.
    pub fn to_toml(&self) -> String {
        Parts::to_toml(self.run(), &self.recipe.to_table())
    }

    /// The same without what would make its noise known to a reader.
    pub(super) fn without_seed(&self) -> String {
        let run = RunRecipe { seed: None, ..self.run().clone() };
        Parts::to_toml(&run, &self.recipe.to_table())
    }
}

/// Where the records of the one class lie that is learned from; `None` if all are.
///
/// A record is among them or not by its own class alone, so that a neighbour differs in one record at most.
pub(super) fn positions(recipe: &AdversarialRecipe, dataset: &Dataset) -> Option<Vec<usize>> {
    let class = recipe.generator.class?;
    let split = dataset.train().split();
    Some((0..split.len()).filter(|&record| split.labels()[record] == class).collect())
}

/// A method that follows public records needs some.
fn check_public(critic: &Plan, dataset: &Dataset) -> Result<()> {
    match critic.build_method()?.follows_public() && dataset.public().is_none() {
        true => Err(Error::Plan(format!(
            "method `{}` is to follow public records, and the data have none: name them in their description, or take some of the test \
             records with generator.public_from_test",
            critic.method.name
        ))),
        false => Ok(()),
    }
}

fn check_class(recipe: &AdversarialRecipe, dataset: &Dataset) -> Result<()> {
    let Some(class) = recipe.generator.class else { return Ok(()) };
    match dataset.task() {
        Task::Classes(names) if (class as usize) < names.len() => Ok(()),
        Task::Classes(names) => Err(Error::Plan(format!(
            "generator.class = {class}: the data have classes 0 to {}",
            names.len() - 1
        ))),
        _ => Err(Error::Plan("generator.class: the data have no classes; leave it out".to_string())),
    }
}

/// A critic whose gradient on a record is to be the same for ever is a product of its only tensor with features, at its end.
fn check_features(recipe: &AdversarialRecipe, critic: &Network) -> Result<()> {
    let is_product = |node: &Node| matches!(&node.operation, Operation::Layer(layer) if layer.is_bilinear());
    let last = critic.nodes().last().filter(|node| is_product(node) && node.tensors.len() == 1);
    let only_last = critic.parameters().len() == 1 && last.is_some();
    match recipe.generator.objective.fixed() && !only_last {
        true => Err(Error::Plan(
            "generator.objective = \"moments\" needs a critic of layers without parameters and one dense layer without a bias \
             behind them"
                .to_string(),
        )),
        false => Ok(()),
    }
}

fn check_generator(network: &Network, inputs: usize, record: Shape) -> Result<()> {
    if network.input() != Shape::Vector(inputs) {
        return Err(Error::Plan(format!(
            "the generator takes {}: it should take [{inputs}], its random numbers and one number for each class; leave `input` out",
            network.input()
        )));
    }
    if network.output() != record {
        return Err(Error::Plan(format!(
            "the generator makes records of shape {}, the data have {record}: change its last layers",
            network.output()
        )));
    }
    match network.mixing_layer() {
        Some(layer) => Err(Error::Plan(format!(
            "the layer `{}` mixes the records of a batch; take group normalisation in its place",
            layer.name
        ))),
        None => Ok(()),
    }
}
