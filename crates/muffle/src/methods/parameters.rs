//! The numbers of a method.

use super::entry::Entry;
use muffle_nn::model_file::nearest::nearest;
use std::collections::BTreeMap;

/// Every parameter of a method with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    values: BTreeMap<&'static str, f64>,
}

impl Parameters {
    /// The defaults, with some changed.
    pub fn new(entry: &Entry, changed: &BTreeMap<String, f64>) -> Result<Parameters, String> {
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
        Ok(Parameters { values })
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// If the method's row does not have it.
    pub fn get(&self, name: &str) -> f64 {
        *self.values.get(name).unwrap_or_else(|| panic!("the table has no parameter `{name}`"))
    }

    /// The value of a parameter that has to be positive.
    pub fn positive(&self, name: &str) -> Result<f64, String> {
        match self.get(name) {
            value if value > 0.0 => Ok(value),
            value => Err(format!("parameters.{name} = {value} is outside (0, infinity)")),
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
