//! The numbers of a method.

use super::entry::About;
use muffle_nn::model_file::nearest::nearest;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Every parameter of a method with its value.
#[derive(Clone, Debug)]
pub struct Parameters {
    values: BTreeMap<&'static str, f64>,
    /// Those that were asked for, so that a row cannot declare one that nobody reads.
    read: RefCell<BTreeSet<&'static str>>,
}

impl Parameters {
    /// The defaults, with some changed.
    pub fn new(entry: &About, changed: &BTreeMap<String, f64>) -> Result<Parameters, String> {
        let mut values: BTreeMap<&'static str, f64> =
            entry.parameters.iter().map(|parameter| (parameter.name, parameter.default)).collect();
        for (name, value) in changed {
            let known =
                entry.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
                    let names: Vec<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
                    let meant = nearest(name, names.iter().copied());
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    match names.is_empty() {
                        true => format!("parameters.{name}: method `{}` has no parameters", entry.name),
                        false => format!(
                            "parameters.{name}: method `{}` has {}{meant}",
                            entry.name,
                            names.join(", ")
                        ),
                    }
                })?;
            if !value.is_finite() {
                return Err(format!("parameters.{name} = {value} is not a finite number"));
            }
            values.insert(known.name, *value);
        }
        Ok(Parameters { values, read: RefCell::default() })
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// If the method's row does not have it.
    pub fn get(&self, name: &str) -> f64 {
        let found = self.values.get_key_value(name);
        let (name, value) = found.unwrap_or_else(|| panic!("the table has no parameter `{name}`"));
        self.read.borrow_mut().insert(name);
        *value
    }

    /// The parameters that were asked for.
    pub fn read(&self) -> Vec<&'static str> {
        self.read.borrow().iter().copied().collect()
    }

    /// The value of a parameter that has to be positive.
    pub fn positive(&self, name: &str) -> Result<f64, String> {
        match self.get(name) {
            value if value > 0.0 => Ok(value),
            value => Err(format!("parameters.{name} = {value} is outside (0, infinity)")),
        }
    }

    /// The value of a parameter that is what a release costs by itself.
    pub fn epsilon(&self, name: &str) -> Result<f64, String> {
        match self.get(name) {
            value if (1e-6..=1e6).contains(&value) => Ok(value),
            value => Err(format!("parameters.{name} = {value} is outside [1e-6, 1e6]")),
        }
    }

    /// The value of a parameter that has to lie between zero and one.
    pub fn share(&self, name: &str) -> Result<f64, String> {
        match self.get(name) {
            value if value > 0.0 && value < 1.0 => Ok(value),
            value => Err(format!("parameters.{name} = {value} is outside (0, 1)")),
        }
    }
}
