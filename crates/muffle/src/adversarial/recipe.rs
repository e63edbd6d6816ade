//! What a recipe of a generator and its critic says.

use super::objective::Objective;
use crate::data::Dataset;
use crate::error::Result;
use crate::learner::Learner;
use crate::optimizer::OptimizerChoice;
use crate::run::{Parts, RunRecipe};
use crate::schedule::Scheduled;
use crate::train::{GradientRecipe, Initialisation, ModelChoice, Recipe};
use serde::{Deserialize, Serialize};

/// A recipe of a generator and its critic, beside what every run has.
///
/// The critic is trained by gradients of records, and the keys for that are those of every recipe of gradients: `model`, `batch_size`,
/// `epochs`, `clip`, `optimizer` and so on. What the generator needs stands in a table of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct AdversarialRecipe {
    /// How the critic is trained.
    pub critic: GradientRecipe,
    /// How the generator is.
    pub generator: GeneratorRecipe,
    /// The classifier that learns from generated records and is tested on others, to see what they are worth.
    pub classifier: Option<Learner>,
}

/// What a generator needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorRecipe {
    /// The network, from random numbers and a class to a record.
    pub model: ModelChoice,
    /// Random numbers that it begins with.
    #[serde(default = "latent")]
    pub latent: usize,
    /// What critic and generator play for.
    #[serde(default)]
    pub objective: Objective,
    /// Steps of the critic for each of the generator.
    #[serde(default = "critic_steps")]
    pub critic_steps: u64,
    /// Steps of the generator behind the last of the critic, where the objective needs no more of the records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// Records that are generated in a step.
    pub batch_size: usize,
    /// A number or a schedule over the steps of the generator.
    pub learning_rate: Scheduled,
    /// What becomes of its gradient.
    #[serde(default = "optimizer")]
    pub optimizer: OptimizerChoice,
    /// How its weights start.
    #[serde(default)]
    pub initialisation: Initialisation,
    /// Decay of the moving average of its weights, which then is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving_average: Option<f32>,
    /// Whether classes are told to both networks, where records have any.
    #[serde(default = "yes")]
    pub conditional: bool,
    /// One class whose records alone are learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u32>,
    /// The critic's weights are cut to ± this number after every step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_clip: Option<f32>,
    /// λ of the gradient penalty.
    #[serde(default = "penalty")]
    pub penalty: f32,
    /// So many test records are declared public, with their labels, for methods that look at public ones; nothing is measured on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_from_test: Option<usize>,
    /// Generated records that are measured at the end; as many as there are records to learn from if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<usize>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn latent() -> usize {
    64
}

fn critic_steps() -> u64 {
    5
}

fn optimizer() -> OptimizerChoice {
    OptimizerChoice::Adam { betas: [0.5, 0.9], constant: 1e-8 }
}

fn yes() -> bool {
    true
}

fn penalty() -> f32 {
    10.0
}

/// Keys of a recipe of gradients that mean nothing to a critic.
fn meaningless(critic: &GradientRecipe) -> Option<&'static str> {
    let given = [
        ("loss", critic.loss.is_some()),
        ("validation", critic.validation.is_some()),
        ("class_weights", critic.class_weights.is_some()),
        ("threshold", critic.threshold.is_some()),
        ("moving_average", critic.moving_average.is_some()),
        ("augmentation", critic.augmentation != Default::default()),
        ("features", critic.features.is_some()),
        ("principal_components", critic.principal_components.is_some()),
        ("audit", critic.audit.is_some()),
        ("init", critic.init.is_some()),
        ("freeze", !critic.freeze.is_empty()),
        ("adapters", critic.adapters.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
}

impl AdversarialRecipe {
    /// The part of a recipe that is about both networks.
    pub fn of(parts: &Parts) -> Result<AdversarialRecipe> {
        let mut parts = parts.clone();
        let Some(generator) = parts.training.remove("generator") else {
            return Err(parts.refuse(
                "the table [generator] is missing: it says how the network that makes records is trained"
                    .to_string(),
            ));
        };
        let classifier = parts.training.remove("classifier");
        let inner = |table: toml::Value, name: &str| -> Result<toml::Table> {
            match table {
                toml::Value::Table(table) => Ok(table),
                _ => Err(parts.refuse(format!("{name} is a table of its own"))),
            }
        };
        let generator = Parts { training: inner(generator, "generator")?, ..parts.clone() }.training()?;
        let classifier = classifier
            .map(|table| Parts { training: inner(table, "classifier")?, ..parts.clone() }.training())
            .transpose()?;
        let recipe = AdversarialRecipe { critic: parts.training()?, generator, classifier };
        recipe.check(&parts.run).map_err(|reason| parts.refuse(reason))?;
        Ok(recipe)
    }

    /// Checks the range of every number by itself.
    fn check(&self, run: &RunRecipe) -> std::result::Result<(), String> {
        if let Some(key) = meaningless(&self.critic) {
            return Err(format!("{key} says nothing to a critic; leave it out"));
        }
        // Shares of classes are those by which the generator is asked.
        let critic = GradientRecipe { class_shares: None, ..self.critic.clone() };
        Recipe::new(run.clone(), critic).map_err(|error| error.to_string())?;
        let own = &self.generator;
        let positive = |value: f32| value > 0.0 && value.is_finite();
        for (key, value) in [
            ("latent", own.latent as u64),
            ("critic_steps", own.critic_steps),
            ("batch_size", own.batch_size as u64),
        ] {
            if value == 0 {
                return Err(format!("generator.{key} = 0 is outside 1 and above"));
            }
        }
        if let Some(clip) = own.weight_clip.filter(|clip| !positive(*clip)) {
            return Err(format!("generator.weight_clip = {clip} is outside (0, infinity)"));
        }
        if !positive(own.penalty) {
            return Err(format!("generator.penalty = {} is outside (0, infinity)", own.penalty));
        }
        if own.objective.fixed() != (own.steps > 0) {
            return Err(
                "generator.steps goes with generator.objective = \"moments\", whose generator learns behind the last step of the \
                 critic; all others have a step of it after every generator.critic_steps"
                    .to_string(),
            );
        }
        if own.objective == Objective::Wasserstein && own.weight_clip.is_none() {
            return Err(
                "generator.objective = \"wasserstein\" needs generator.weight_clip: without a limit on its weights the critic grows \
                 for ever; 0.01 is usual"
                    .to_string(),
            );
        }
        self.learner().check().map_err(|reason| format!("generator.{reason}"))?;
        self.classifier
            .as_ref()
            .map_or(Ok(()), |learner| learner.check().map_err(|reason| format!("classifier.{reason}")))
    }

    /// How the generator learns from the gradients that the critic gives it.
    pub(super) fn learner(&self) -> Learner {
        let own = &self.generator;
        Learner {
            model: own.model.clone(),
            // It ends when the critic does.
            steps: 1,
            batch_size: own.batch_size,
            learning_rate: own.learning_rate.clone(),
            optimizer: own.optimizer,
            initialisation: own.initialisation,
            augmentation: Default::default(),
            moving_average: own.moving_average,
        }
    }

    /// The data with what the recipe declares public.
    pub fn divided(&self, dataset: &Dataset) -> Result<Dataset> {
        match self.generator.public_from_test {
            Some(count) => Ok(dataset.clone().with_public_from_test(count)?),
            None => Ok(dataset.clone()),
        }
    }

    /// As a table of a file.
    pub(super) fn to_table(&self) -> toml::Table {
        let table = |value: toml::ser::Error| -> toml::Table { panic!("every recipe has a form: {value}") };
        let mut all = toml::Table::try_from(&self.critic).unwrap_or_else(table);
        let generator = toml::Table::try_from(&self.generator).unwrap_or_else(table);
        all.insert("generator".to_string(), toml::Value::Table(generator));
        if let Some(classifier) = &self.classifier {
            let classifier = toml::Table::try_from(classifier).unwrap_or_else(table);
            all.insert("classifier".to_string(), toml::Value::Table(classifier));
        }
        all
    }
}
