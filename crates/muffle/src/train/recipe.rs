//! A recipe: everything that decides a run, in one TOML file.

use super::canaries::CanaryChoice;
use super::class_weights::{ClassShares, ClassWeights};
use super::init::Init;
use super::initialisation::Initialisation;
use super::threshold::Threshold;
use super::validation::{Validation, ValidationRecords};
use super::views::ViewsOfRecord;
use crate::clip::ClipRule;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::mechanism::Noise;
use crate::methods::{self, Mode};
use crate::optimizer::OptimizerChoice;
use crate::run::{Parts, RunRecipe, USUAL_KIND};
use crate::sampler::SamplerChoice;
use crate::schedule::{Schedule, Scheduled, TimeUnit};
use muffle_nn::adapters::Adapters;
use muffle_nn::{Loss, ModelDescription};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A network: a name, a model file, or layers written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a model, the path of a model file, or a table with `layers`"
)]
pub enum ModelChoice {
    /// The name of a model, or the path of a model file.
    Named(String),
    /// Layers as in a model file; without `input` they take the shape of the data.
    Written(toml::Table),
}

impl From<&ModelDescription> for ModelChoice {
    /// A network made in a program, as its model file has it.
    fn from(model: &ModelDescription) -> ModelChoice {
        ModelChoice::Written(model.to_toml().parse().expect("a model file is TOML"))
    }
}

/// A private view of the data by its principal components, before training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalComponents {
    /// Components kept.
    pub dimensions: usize,
    /// Noise on the covariance matrix; paid for.
    pub noise_multiplier: f64,
}

impl PrincipalComponents {
    pub(crate) fn check(&self, private: bool) -> std::result::Result<(), String> {
        let noise = self.noise_multiplier;
        if self.dimensions == 0 {
            return Err("principal_components.dimensions = 0 is outside 1 and above".to_string());
        }
        if private && !(noise > 0.0 && noise.is_finite()) {
            return Err(format!("principal_components.noise_multiplier = {noise} is outside (0, infinity)"));
        }
        Ok(())
    }
}

/// A recipe of training by gradients: what every run has, and what this kind of training needs.
///
/// Of `epsilon`, `noise_multiplier` and the length (`steps` or `epochs`) any two are enough, and the third follows. With
/// all of them epsilon is a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// What every run has.
    pub run: RunRecipe,
    /// What training by gradients needs.
    pub training: GradientRecipe,
}

/// What training by gradients needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientRecipe {
    /// The network.
    pub model: ModelChoice,
    /// What training makes small; the usual loss of the data's targets if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The published method; `muffle methods` lists them.
    #[serde(default = "method")]
    pub method: String,
    /// Its sound form, or the literal algorithm.
    #[serde(default)]
    pub mode: Mode,
    /// The method's own numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,

    /// Standard deviation of the noise over the clipping threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Number of passes over the data, in place of `steps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,

    /// How records are drawn.
    #[serde(default)]
    pub sampler: SamplerChoice,
    /// Expected number of records in a step: the public divisor of every sum.
    pub batch_size: u64,

    /// How far one record may move the sum.
    pub clip: ClipRule,
    /// A factor on all thresholds, fixed in advance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_schedule: Option<Schedule>,
    /// The kind of noise and how it is shared.
    #[serde(default)]
    pub noise: Noise,
    /// A factor on the noise multiplier, fixed in advance; a calibrated schedule is scaled as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_schedule: Option<Schedule>,
    /// Lowers the noise where the accuracy on validation records stands still; `epsilon` is then the budget of a filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,

    /// What the loss of a record is multiplied by, for each class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<ClassWeights>,
    /// The shares of the classes, for balanced weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_shares: Option<ClassShares>,
    /// From which probability on the second of two classes is said; without it, the more likely one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,

    /// What becomes of a released gradient.
    #[serde(default)]
    pub optimizer: OptimizerChoice,
    /// A number or a schedule.
    pub learning_rate: Scheduled,
    /// The clock of all schedules.
    #[serde(default)]
    pub schedule_unit: TimeUnit,
    /// How weights start.
    #[serde(default)]
    pub initialisation: Initialisation,
    /// Public weights to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<Init>,
    /// Layers that stay as they start: patterns of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freeze: Vec<String>,
    /// Layers that stay as they start, with small ones beside them that are trained in their place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapters: Option<Adapters>,
    /// Decay of the moving average of the weights, which then is the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving_average: Option<f32>,
    /// Whether filters of convolutions are kept without a mean and of one length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weight_standardisation: bool,

    /// Several augmented views of each record, averaged before clipping.
    #[serde(default)]
    pub augmentation: ViewsOfRecord,
    /// Fixed features in place of the inputs: the first layers of the network that is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Features>,
    /// Private principal components in place of the inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal_components: Option<PrincipalComponents>,

    /// Canaries among the training records, to measure what the run gives away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<CanaryChoice>,
}

fn method() -> String {
    methods::REFERENCE.name.to_string()
}

impl GradientRecipe {
    /// Plain DP-SGD with one threshold, and everything else as usual.
    pub fn new(model: ModelChoice, batch_size: u64, threshold: f64, learning_rate: f64) -> GradientRecipe {
        GradientRecipe {
            model,
            loss: None,
            method: method(),
            mode: Mode::default(),
            parameters: BTreeMap::new(),
            noise_multiplier: None,
            steps: None,
            epochs: None,
            sampler: SamplerChoice::default(),
            batch_size,
            clip: ClipRule::Flat { threshold },
            clip_schedule: None,
            noise: Noise::default(),
            noise_schedule: None,
            validation: None,
            class_weights: None,
            class_shares: None,
            threshold: None,
            optimizer: OptimizerChoice::default(),
            learning_rate: Scheduled::Number(learning_rate),
            schedule_unit: TimeUnit::default(),
            initialisation: Initialisation::default(),
            init: None,
            freeze: Vec::new(),
            adapters: None,
            moving_average: None,
            weight_standardisation: false,
            augmentation: ViewsOfRecord::default(),
            features: None,
            principal_components: None,
            audit: None,
        }
    }

    /// Records beside the training that decide something, by the key that asks for them.
    pub(super) fn looked_at(&self) -> impl Iterator<Item = (&'static str, ValidationRecords)> {
        let validation = self.validation.and_then(|validation| validation.records);
        let threshold = self.threshold.and_then(|threshold| threshold.chosen()?.records);
        let asked = [("validation", validation), ("threshold", threshold)];
        asked.into_iter().filter_map(|(key, records)| Some((key, records?)))
    }

    /// The share of the training records that is not trained on.
    pub fn held_out(&self) -> f64 {
        self.looked_at().map(|(_, records)| records.share()).fold(0.0, f64::max)
    }
}

impl Recipe {
    /// Reads a recipe and changes it by `key=value` settings.
    pub fn parse(origin: &str, text: &str, settings: &[String]) -> Result<Recipe> {
        Recipe::of(&Parts::parse(origin, text, settings)?)
    }

    /// The recipe of two parts.
    pub fn of(parts: &Parts) -> Result<Recipe> {
        if parts.run.kind != USUAL_KIND {
            return Err(parts.refuse(format!("kind = \"{}\" is no training by gradients", parts.run.kind)));
        }
        let recipe = Recipe { run: parts.run.clone(), training: parts.training()? };
        recipe.check().map_err(|reason| parts.refuse(reason))?;
        Ok(recipe)
    }

    /// A recipe put together in a program, checked as one that is read.
    pub fn new(run: RunRecipe, training: GradientRecipe) -> Result<Recipe> {
        let recipe = Recipe { run, training };
        recipe.check().map_err(Error::Plan)?;
        Ok(recipe)
    }

    /// The same with `key=value` settings changed.
    pub fn with(&self, settings: &[String]) -> Result<Recipe> {
        Recipe::of(&Parts::new("the recipe", &self.run, &self.training, settings)?)
    }

    /// The same without what would make its noise or its canaries known to a reader.
    pub(super) fn without_seeds(&self) -> Recipe {
        let mut recipe = self.clone();
        (recipe.run.seed, recipe.training.audit) = (None, None);
        recipe
    }

    /// Reads a recipe file, or that of a run from its folder or its model.
    pub fn read(path: &Path, settings: &[String]) -> Result<Recipe> {
        Recipe::of(&Parts::read(path, settings)?)
    }

    /// The recipe as a file.
    pub fn to_toml(&self) -> String {
        Parts::to_toml(&self.run, &self.training)
    }

    /// Checks the range of every number by itself.
    fn check(&self) -> std::result::Result<(), String> {
        let training = &self.training;
        self.run.check()?;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let range =
            |key: &str, value: f64, allowed: &str| Err(format!("{key} = {value} is outside {allowed}"));
        if let Some(noise) = training.noise_multiplier.filter(|&noise| !(positive(noise) || noise == 0.0)) {
            return range("noise_multiplier", noise, "[0, infinity)");
        }
        if let Some(epochs) = training.epochs.filter(|&epochs| !positive(epochs)) {
            return range("epochs", epochs, "(0, infinity)");
        }
        if training.steps == Some(0) {
            return range("steps", 0.0, "1 and above");
        }
        if training.steps.is_some() && training.epochs.is_some() {
            return Err("steps and epochs are both given; keep one of them".to_string());
        }
        if training.batch_size == 0 {
            return range("batch_size", 0.0, "1 and above");
        }
        if let Some(decay) = training.moving_average.filter(|decay| !(0.0..1.0).contains(decay)) {
            return range("moving_average", f64::from(decay), "[0, 1)");
        }
        if let Some(components) = training.principal_components {
            components.check(self.run.private)?;
        }
        if let Some(validation) = training.validation {
            validation.check()?;
        }
        ClassWeights::check(training.class_weights.as_ref(), training.class_shares.as_ref())?;
        training.threshold.map_or(Ok(()), |threshold| threshold.check())?;
        training.clip.check()?;
        training.noise.check(&training.clip)?;
        training.optimizer.check()?;
        training.augmentation.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        data = "mnist"
        model = "cnn-small"
        epsilon = 3
        epochs = 2
        batch_size = 100
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
        optimizer = { kind = "sgd", momentum = 0.5 }
    "#;

    fn parse(settings: &[&str]) -> Result<Recipe> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Recipe::parse("small", SMALL, &settings)
    }

    fn refused(settings: &[&str]) -> String {
        parse(settings).unwrap_err().to_string()
    }

    #[test]
    fn a_written_recipe_reads_back() {
        let settings = ["clip.threshold=0.25", "learning_rate={kind=\"cosine\",initial=1,end=0,period=9}"];
        let recipe = parse(&settings).unwrap();
        assert_eq!(recipe.training.clip, ClipRule::Flat { threshold: 0.25 });
        assert_eq!(Recipe::parse("again", &recipe.to_toml(), &[]).unwrap(), recipe);
    }

    #[test]
    fn settings_change_any_key_and_replace_what_they_exclude() {
        let recipe = parse(&["steps=3", "sampler=balls-and-bins", "optimizer={kind=\"adam\"}"]).unwrap();
        assert_eq!((recipe.training.steps, recipe.training.epochs), (Some(3), None));
        assert_eq!(recipe.training.sampler, SamplerChoice::BallsAndBins);
        assert!(matches!(recipe.training.optimizer, OptimizerChoice::Adam { .. }));
        assert_eq!(parse(&["epsilon="]).unwrap().run.epsilon, None);
    }

    #[test]
    fn settings_may_come_in_any_order() {
        let table = "optimizer={kind=\"adam\"}";
        let adam = parse(&[table, "optimizer.constant=0.5"]).unwrap();
        assert_eq!(parse(&["optimizer.constant=0.5", table]).unwrap(), adam);
        // A single number becomes a schedule, key by key.
        let whole = parse(&["learning_rate={kind=\"time\",initial=2,rate=0.5}"]).unwrap();
        let keys = ["learning_rate.rate=0.5", "learning_rate.initial=2", "learning_rate.kind=time"];
        assert_eq!(parse(&keys).unwrap(), whole);
        let [one, two, three] = keys;
        assert_eq!(parse(&[three, one, two]).unwrap(), whole);
        let method = parse(&["method=icgc", "parameters.x=1"]).unwrap();
        assert_eq!(parse(&["parameters.x=1", "method=icgc"]).unwrap(), method);
        // What is said twice is meant as it was said last.
        assert_eq!(parse(&["epsilon=1", "epsilon=2"]).unwrap().run.epsilon, Some(2.0));
    }

    #[test]
    fn what_is_wrong_is_said_without_words_of_the_program() {
        for (setting, parts) in [
            ("epochs=x", ["`epochs`", "expected a number"]),
            ("batch_size=-3", ["`batch_size`", "expected a whole number, 0 or more"]),
            ("private=maybe", ["`private`", "expected true or false"]),
            ("clip=3", ["`clip`", "expected a table"]),
            ("clip={}", ["`clip`", "`kind` is missing"]),
            ("model=3", ["`model`", "the name of a model"]),
            ("learning_rate=abc", ["`learning_rate`", "expected a number, or a schedule"]),
            ("learning_rate.initial=1", ["`learning_rate`", "expected a number, or a schedule"]),
            ("epsilon.x=1", ["`epsilon`", "found a table, expected a number"]),
            ("sampler=3", ["`sampler`", "expected a text"]),
            ("principal_components=3", ["`principal_components`", "expected a table"]),
            ("adjacency=add-remove", ["unknown word `add-remove`", "did you mean `add_remove`?"]),
            ("data=", ["`data` is missing", "small"]),
        ] {
            let message = refused(&[setting]);
            assert!(parts.iter().all(|part| message.contains(part)), "{setting}: {message}");
            let words = ["field", "variant", "enum", "struct", "u64", "f64", "usize", "invalid"];
            assert!(!words.iter().any(|word| message.contains(word)), "{setting}: {message}");
        }
    }

    #[test]
    fn unknown_keys_name_the_nearest_known_one() {
        for (setting, meant) in [
            ("epsilonn=2", "`epsilon`"),
            ("clip.treshold=1", "`threshold`"),
            ("optimizer.momentun=0.5", "`momentum`"),
            ("sampler=poison", "`poisson`"),
        ] {
            let message = refused(&[setting]);
            assert!(message.contains(&format!("did you mean {meant}?")), "{message}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        for (setting, part) in [
            ("epsilon=0", "epsilon = 0 is outside"),
            ("epsilon=nan", "epsilon = NaN is outside"),
            ("delta=1", "delta = 1 is outside"),
            ("batch_size=0", "batch_size = 0"),
            ("moving_average=1", "moving_average = 1"),
            ("clip.threshold=-1", "clip.threshold = -1"),
            ("optimizer.momentum=1", "optimizer.momentum = 1"),
            ("augmentation.views=0", "augmentation.views = 0"),
            ("steps", "key=value"),
        ] {
            let message = refused(&[setting]);
            assert!(message.contains(part), "{setting}: {message}");
        }
        let both = Recipe::parse("r", &format!("{SMALL}\nsteps = 3"), &[]).unwrap_err().to_string();
        assert!(both.contains("steps and epochs are both given"), "{both}");
    }
}
