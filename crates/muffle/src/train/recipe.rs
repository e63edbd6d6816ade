//! A recipe: everything that decides a run, in one TOML file.

use super::canaries::CanaryChoice;
use super::choices::{
    ClipRule, Initialisation, Noise, OptimizerChoice, SamplerChoice, Scheduled, TimeUnit, ViewsOfRecord,
};
use super::error::{Result, TrainError};
use super::keys;
use super::run_folder::NO_RUN;
use super::validation::Validation;
use crate::methods::Mode;
use crate::schedule::Schedule;
use muffle_accounting::Adjacency;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A network: a name, a model file, or layers written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ModelChoice {
    /// The name of a model, or the path of a model file.
    Named(String),
    /// Layers as in a model file; without `input` they take the shape of the data.
    Written(toml::Table),
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

/// Everything that decides a run.
///
/// Of `epsilon`, `noise_multiplier` and the length (`steps` or `epochs`) any two are enough, and the third follows. With
/// all of them epsilon is a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it is, in one line.
    #[serde(default)]
    pub about: String,
    /// A data set by name or path.
    pub data: String,
    /// So many training records of a published set, in place of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subset: Option<u64>,
    /// So many test records in place of all, where a network is slow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_subset: Option<u64>,
    /// The network.
    pub model: ModelChoice,
    /// The published method; `muffle methods` lists them.
    #[serde(default = "method")]
    pub method: String,
    /// Its sound form, or the literal algorithm.
    #[serde(default)]
    pub mode: Mode,
    /// The method's own numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// Whether gradients are clipped and noised. Without privacy there is no epsilon.
    #[serde(default = "yes")]
    pub private: bool,

    /// The privacy to reach and not to exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Standard deviation of the noise over the clipping threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// Number of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Number of passes over the data, in place of `steps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// Probability with which the guarantee may fail.
    #[serde(default = "delta")]
    pub delta: f64,
    /// Which data sets are neighbours; the usual relation of the sampler if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjacency: Option<Adjacency>,

    /// How records are drawn.
    #[serde(default)]
    pub sampler: SamplerChoice,
    /// Expected number of records in a step: the public divisor of every sum.
    pub batch_size: u64,
    /// The public number of records: with the batch size it gives the sample rate. A published data set brings its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,

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
    /// Decay of the moving average of the weights, which then is the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moving_average: Option<f32>,

    /// Several augmented views of each record, averaged before clipping.
    #[serde(default)]
    pub augmentation: ViewsOfRecord,
    /// Private principal components in place of the inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal_components: Option<PrincipalComponents>,

    /// Canaries among the training records, to measure what the run gives away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<CanaryChoice>,

    /// Makes the run reproducible, and its noise known to whoever knows the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Threads; the machine's cores if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// How often the test accuracy is measured on the way, the end included.
    #[serde(default = "evaluations")]
    pub evaluations: u64,
    /// Seconds between checkpoints; slow disks are given more.
    #[serde(default = "checkpoint_seconds")]
    pub checkpoint_seconds: f64,
}

fn method() -> String {
    "dp-sgd".to_string()
}

fn yes() -> bool {
    true
}

fn delta() -> f64 {
    1e-5
}

fn evaluations() -> u64 {
    10
}

fn checkpoint_seconds() -> f64 {
    15.0
}

impl Recipe {
    /// Reads a recipe and changes it by `key=value` settings.
    pub fn parse(origin: &str, text: &str, settings: &[String]) -> Result<Recipe> {
        let fail = |reason: String| TrainError::Recipe { origin: origin.to_string(), reason };
        let mut table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| fail(error.to_string().trim_end().to_string()))?;
        for setting in settings {
            keys::set(&mut table, setting)
                .map_err(|reason| TrainError::Setting { setting: setting.clone(), reason })?;
        }
        let parsed = table.try_into().map_err(|error: toml::de::Error| fail(keys::explained(&error)));
        parsed.and_then(|recipe: Recipe| recipe.check().map(|()| recipe).map_err(fail))
    }

    /// Reads a recipe file, or that of a run from its folder.
    pub fn read(path: &Path, settings: &[String]) -> Result<Recipe> {
        let file = if path.is_dir() { path.join("recipe.toml") } else { path.to_path_buf() };
        if path.is_dir() && !file.exists() {
            return Err(TrainError::file(path, NO_RUN));
        }
        if file.extension().is_some_and(|extension| extension == "safetensors") {
            let reason =
                "a weight file does not say how it was trained; give the folder of its run, or a recipe";
            return Err(TrainError::file(path, reason));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| TrainError::file(&file, error))?;
        Recipe::parse(&file.display().to_string(), &text, settings)
    }

    /// The recipe as a file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every recipe has a form in TOML")
    }

    /// Checks the range of every number by itself.
    fn check(&self) -> std::result::Result<(), String> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let range =
            |key: &str, value: f64, allowed: &str| Err(format!("{key} = {value} is outside {allowed}"));
        if let Some(epsilon) = self.epsilon.filter(|&epsilon| !positive(epsilon)) {
            return range("epsilon", epsilon, "(0, infinity)");
        }
        if let Some(noise) = self.noise_multiplier.filter(|&noise| !(positive(noise) || noise == 0.0)) {
            return range("noise_multiplier", noise, "[0, infinity)");
        }
        if let Some(epochs) = self.epochs.filter(|&epochs| !positive(epochs)) {
            return range("epochs", epochs, "(0, infinity)");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return range("delta", self.delta, "(0, 1)");
        }
        if self.steps == Some(0) {
            return range("steps", 0.0, "1 and above");
        }
        if self.steps.is_some() && self.epochs.is_some() {
            return Err("steps and epochs are both given; keep one of them".to_string());
        }
        if self.batch_size == 0 {
            return range("batch_size", 0.0, "1 and above");
        }
        if self.records == Some(0) {
            return range("records", 0.0, "1 and above");
        }
        if let Some(decay) = self.moving_average.filter(|decay| !(0.0..1.0).contains(decay)) {
            return range("moving_average", f64::from(decay), "[0, 1)");
        }
        if self.evaluations == 0 {
            return range("evaluations", 0.0, "1 and above");
        }
        if !(0.0..=86_400.0).contains(&self.checkpoint_seconds) {
            return range("checkpoint_seconds", self.checkpoint_seconds, "[0, 86400]");
        }
        if let Some(components) = self.principal_components {
            if components.dimensions == 0 {
                return range("principal_components.dimensions", 0.0, "1 and above");
            }
            if self.private && !positive(components.noise_multiplier) {
                return range(
                    "principal_components.noise_multiplier",
                    components.noise_multiplier,
                    "(0, infinity)",
                );
            }
        }
        if let Some(validation) = self.validation {
            validation.check()?;
        }
        self.clip.check()?;
        self.noise.check(&self.clip)?;
        self.optimizer.check()?;
        self.augmentation.check()
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
        assert_eq!(recipe.clip, ClipRule::Flat { threshold: 0.25 });
        assert_eq!(Recipe::parse("again", &recipe.to_toml(), &[]).unwrap(), recipe);
    }

    #[test]
    fn settings_change_any_key_and_replace_what_they_exclude() {
        let recipe = parse(&["steps=3", "sampler=balls-and-bins", "optimizer={kind=\"adam\"}"]).unwrap();
        assert_eq!((recipe.steps, recipe.epochs), (Some(3), None));
        assert_eq!(recipe.sampler, SamplerChoice::BallsAndBins);
        assert!(matches!(recipe.optimizer, OptimizerChoice::Adam { .. }));
        assert_eq!(parse(&["epsilon="]).unwrap().epsilon, None);
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
            ("noise.draws=0", "noise.draws = 0"),
            ("steps", "key=value"),
        ] {
            let message = refused(&[setting]);
            assert!(message.contains(part), "{setting}: {message}");
        }
        let both = Recipe::parse("r", &format!("{SMALL}\nsteps = 3"), &[]).unwrap_err().to_string();
        assert!(both.contains("steps and epochs are both given"), "{both}");
    }
}
