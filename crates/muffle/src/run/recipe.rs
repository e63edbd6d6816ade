//! What every recipe has, whatever is trained.

use super::budgets;
use super::folder::NO_RUN;
use super::keys;
use crate::bundle::Bundle;
use crate::error::{Error, Result};
use crate::noise::Key;
use muffle_accounting::Adjacency;
use muffle_nn::model_file::explain::toml_error;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The part of a recipe that every run has: data, budget, seed, length of life.
///
/// In the file its keys stand beside those of the kind of training, in one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecipe {
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
    /// So many training records of a published set in place of its test split, which nothing looks at then: to choose settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_from_training: Option<u64>,
    /// The kind of training.
    #[serde(default = "kind", skip_serializing_if = "is_usual")]
    pub kind: String,
    /// Whether records are protected. Without privacy there is no epsilon.
    #[serde(default = "yes")]
    pub private: bool,
    /// The privacy to reach and not to exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Probability with which the guarantee may fail.
    #[serde(default = "delta")]
    pub delta: f64,
    /// Which data sets are neighbours; the usual relation of the kind of training if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjacency: Option<Adjacency>,
    /// The public number of records. A published data set brings its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Makes the run reproducible, and its noise known to whoever knows the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Threads; the machine's cores if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// How often the result is measured on the way, the end included.
    #[serde(default = "evaluations")]
    pub evaluations: u64,
    /// Seconds between checkpoints; slow disks are given more.
    #[serde(default = "checkpoint_seconds")]
    pub checkpoint_seconds: f64,
}

/// The kind of training of a recipe that does not say.
pub const USUAL_KIND: &str = "gradient";

fn kind() -> String {
    USUAL_KIND.to_string()
}

fn is_usual(kind: &str) -> bool {
    kind == USUAL_KIND
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

impl RunRecipe {
    /// The keys that every recipe may have.
    pub const KEYS: [&str; 15] = [
        "about",
        "data",
        "subset",
        "test_subset",
        "test_from_training",
        "kind",
        "private",
        "epsilon",
        "delta",
        "adjacency",
        "records",
        "seed",
        "threads",
        "evaluations",
        "checkpoint_seconds",
    ];

    /// Of this data set, with everything else as usual.
    pub fn new(data: &str) -> RunRecipe {
        RunRecipe {
            about: String::new(),
            data: data.to_string(),
            subset: None,
            test_subset: None,
            test_from_training: None,
            kind: kind(),
            private: yes(),
            epsilon: None,
            delta: delta(),
            adjacency: None,
            records: None,
            seed: None,
            threads: None,
            evaluations: evaluations(),
            checkpoint_seconds: checkpoint_seconds(),
        }
    }

    /// The key of a run: from its seed, or from the operating system.
    pub fn key(&self) -> Result<Key> {
        match self.seed {
            Some(seed) => Ok(Key::from_seed(seed)),
            None => Ok(Key::from_entropy()?),
        }
    }

    /// Checks the range of every number by itself.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let range =
            |key: &str, value: f64, allowed: &str| Err(format!("{key} = {value} is outside {allowed}"));
        if let Some(epsilon) = self.epsilon.filter(|&epsilon| !(epsilon > 0.0 && epsilon.is_finite())) {
            return range("epsilon", epsilon, "(0, infinity)");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return range("delta", self.delta, "(0, 1)");
        }
        if self.records == Some(0) {
            return range("records", 0.0, "1 and above");
        }
        if self.evaluations == 0 {
            return range("evaluations", 0.0, "1 and above");
        }
        if !(0.0..=86_400.0).contains(&self.checkpoint_seconds) {
            return range("checkpoint_seconds", self.checkpoint_seconds, "[0, 86400]");
        }
        Ok(())
    }
}

/// A recipe in its two parts, before anybody knows what its kind of training needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The file or the name of the recipe.
    pub origin: String,
    /// What every run has.
    pub run: RunRecipe,
    /// What its kind of training needs.
    pub training: toml::Table,
}

impl Parts {
    /// Reads a recipe and changes it by `key=value` settings.
    pub fn parse(origin: &str, text: &str, settings: &[String]) -> Result<Parts> {
        let table = text.parse().map_err(|error: toml::de::Error| Error::Recipe {
            origin: origin.to_string(),
            reason: toml_error(&error, &[]),
        })?;
        Parts::of_table(origin, table, settings)
    }

    /// A recipe put together in a program, changed by settings and checked as one that is read.
    pub fn new(
        origin: &str,
        run: &RunRecipe,
        training: &impl Serialize,
        settings: &[String],
    ) -> Result<Parts> {
        Parts::of_table(origin, Parts::table(run, training), settings)
    }

    fn of_table(origin: &str, mut table: toml::Table, settings: &[String]) -> Result<Parts> {
        let fail = |reason: String| Error::Recipe { origin: origin.to_string(), reason };
        let set = |table: &mut toml::Table| {
            keys::set_all(table, settings)
                .map_err(|(setting, reason)| Error::Setting { setting: setting.clone(), reason })
        };
        let mut asked = table.clone();
        set(&mut asked)?;
        budgets::settle(&mut table, &asked).map_err(fail)?;
        set(&mut table)?;
        table.remove(budgets::KEY);
        let (run, training): (toml::Table, toml::Table) =
            table.into_iter().partition(|(key, _)| RunRecipe::KEYS.contains(&key.as_str()));
        let run: RunRecipe = run.try_into().map_err(|error| fail(toml_error(&error, &[])))?;
        run.check().map_err(fail)?;
        Ok(Parts { origin: origin.to_string(), run, training })
    }

    /// Reads a recipe file, or that of a run from its folder or its model.
    pub fn read(path: &Path, settings: &[String]) -> Result<Parts> {
        let file = if path.is_dir() { path.join("recipe.toml") } else { path.to_path_buf() };
        if path.is_dir() && !file.exists() {
            return Err(Error::file(path, NO_RUN));
        }
        if file.extension().is_some_and(|extension| extension == "safetensors") {
            let reason =
                "bare weights do not say how they were trained; give the folder of a run, or a recipe";
            let bundle = Bundle::read(path)?.ok_or_else(|| Error::file(path, reason))?;
            return Parts::parse(&file.display().to_string(), &bundle.recipe, settings);
        }
        let text = regular_file::read_to_string(&file).map_err(|error| Error::file(&file, error))?;
        Parts::parse(&file.display().to_string(), &text, settings)
    }

    /// The recipe as a file: what every run has, then what its kind of training needs.
    pub fn to_toml(run: &RunRecipe, training: &impl Serialize) -> String {
        toml::to_string(&Parts::table(run, training)).expect("every table has a form in TOML")
    }

    fn table(run: &RunRecipe, training: &impl Serialize) -> toml::Table {
        let mut table = toml::Table::try_from(run).expect("every recipe has a form in TOML");
        table.extend(toml::Table::try_from(training).expect("every recipe has a form in TOML"));
        table
    }

    /// The part of a kind of training.
    pub fn training<T: for<'de> Deserialize<'de>>(&self) -> Result<T> {
        let parsed = self.training.clone().try_into();
        parsed.map_err(|error| self.refuse(toml_error(&error, &RunRecipe::KEYS)))
    }

    /// What is wrong with the recipe.
    pub fn refuse(&self, reason: String) -> Error {
        Error::Recipe { origin: self.origin.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of keys is that of the fields: each is taken, and nothing else.
    #[test]
    fn the_keys_are_the_fields() {
        let whole = RunRecipe {
            subset: Some(1),
            test_subset: Some(1),
            test_from_training: Some(1),
            kind: "other".to_string(),
            epsilon: Some(1.0),
            adjacency: Some(Adjacency::ZeroOut),
            records: Some(1),
            seed: Some(1),
            threads: Some(1),
            ..RunRecipe::new("x")
        };
        let table = toml::Table::try_from(&whole).unwrap();
        let mut keys = RunRecipe::KEYS.to_vec();
        keys.sort_unstable();
        let mut fields: Vec<&str> = table.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, keys);
    }
}
