//! Columns of a table as inputs: numbers by declared ranges, categories as one value each.
//!
//! Everything that turns a cell into inputs is declared before the table is read. A minimum, a mean or the list of
//! categories taken from private rows would be a release without a price.

use serde::{Deserialize, Serialize};

/// One column and how it becomes inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// For numbers: the declared smallest and largest value. They become -1 and 1; what lies outside is moved to the
    /// nearer end.
    pub range: Option<[f64; 2]>,
    /// Takes the logarithm of 1 + value - smallest before scaling, for amounts that differ by powers of ten.
    #[serde(default)]
    pub logarithmic: bool,
    /// For numbers, in place of a range: a public mean and standard deviation.
    pub standard: Option<[f64; 2]>,
    /// For numbers: the value of an empty cell; without it an empty cell is an error.
    pub missing: Option<f64>,
    /// For categories: all of them; each becomes an input that is 0 or 1.
    pub categories: Option<Vec<String>>,
    /// For categories: one more input for any other value; without it an unknown value is an error.
    #[serde(default)]
    pub other: bool,
}

impl Column {
    /// A number with a declared range.
    pub fn number(name: &str, low: f64, high: f64) -> Column {
        Column { name: name.to_string(), range: Some([low, high]), ..Column::default() }
    }

    /// An amount with a declared range, on a logarithmic scale.
    pub fn amount(name: &str, low: f64, high: f64) -> Column {
        Column { logarithmic: true, ..Column::number(name, low, high) }
    }

    /// Declared categories.
    pub fn categories(name: &str, categories: &[&str]) -> Column {
        let categories = categories.iter().map(|category| category.to_string()).collect();
        Column { name: name.to_string(), categories: Some(categories), ..Column::default() }
    }

    /// Number of inputs it becomes.
    pub fn width(&self) -> usize {
        self.categories.as_ref().map_or(1, |categories| categories.len() + usize::from(self.other))
    }

    /// Checks that the declaration says one thing.
    pub fn check(&self) -> std::result::Result<(), String> {
        let name = &self.name;
        match (&self.range, &self.standard, &self.categories) {
            (None, None, None) => Err(format!(
                "column `{name}` declares nothing; a number needs `range = [low, high]` (or `standard = [mean, \
                 deviation]` from a public source), a category needs `categories = [...]`: they are not computed from \
                 the records, because that would spend privacy"
            )),
            (Some([low, high]), None, None) => {
                if low < high && low.is_finite() && high.is_finite() {
                    Ok(())
                } else {
                    Err(format!("column `{name}`: range {low} to {high} is empty or not finite"))
                }
            }
            (None, Some([mean, deviation]), None) => {
                if mean.is_finite() && deviation.is_finite() && *deviation > 0.0 && !self.logarithmic {
                    Ok(())
                } else {
                    Err(format!(
                        "column `{name}`: `standard` wants a mean and a positive deviation, and no logarithm"
                    ))
                }
            }
            (None, None, Some(categories)) => {
                let mut sorted: Vec<&String> = categories.iter().collect();
                sorted.sort();
                sorted.dedup();
                if categories.is_empty() || sorted.len() < categories.len() {
                    Err(format!("column `{name}`: categories must be given, each once"))
                } else if self.logarithmic || self.missing.is_some() {
                    Err(format!("column `{name}`: `logarithmic` and `missing` are for numbers"))
                } else {
                    Ok(())
                }
            }
            _ => Err(format!("column `{name}`: give one of `range`, `standard` and `categories`")),
        }
    }

    /// Appends the inputs of one cell.
    pub(super) fn encode(&self, cell: &str, inputs: &mut Vec<f32>) -> std::result::Result<(), String> {
        if let Some(categories) = &self.categories {
            let found = categories.iter().position(|category| category == cell);
            if found.is_none() && !self.other {
                return Err(format!(
                    "category {cell:?} was not declared; add it to `categories`, or set `other = true`"
                ));
            }
            let hot = found.unwrap_or(categories.len());
            inputs.extend((0..self.width()).map(|index| if index == hot { 1.0 } else { 0.0 }));
            return Ok(());
        }
        let value = match (cell, self.missing) {
            ("", Some(value)) => value,
            ("", None) => return Err("the cell is empty; fill it, or declare `missing = VALUE`".to_string()),
            _ => cell.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
                format!("{cell:?} is not a number; correct it, or declare `categories` for this column")
            })?,
        };
        inputs.push(match (self.range, self.standard) {
            (Some([low, high]), _) => {
                let place = value.clamp(low, high) - low;
                let share = if self.logarithmic {
                    place.ln_1p() / (high - low).ln_1p()
                } else {
                    place / (high - low)
                };
                (2.0 * share - 1.0) as f32
            }
            (None, Some([mean, deviation])) => ((value - mean) / deviation) as f32,
            (None, None) => return Err("the column declares no range".to_string()),
        });
        Ok(())
    }
}

/// Number of inputs of all columns.
pub fn width(columns: &[Column]) -> usize {
    columns.iter().map(Column::width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(column: &Column, cell: &str) -> std::result::Result<Vec<f32>, String> {
        let mut inputs = Vec::new();
        column.encode(cell, &mut inputs).map(|()| inputs)
    }

    #[test]
    fn numbers_are_scaled_by_what_is_declared() {
        let age = Column::number("age", 0.0, 100.0);
        assert_eq!(encode(&age, "25"), Ok(vec![-0.5]));
        assert_eq!(encode(&age, "1e3"), Ok(vec![1.0]));
        assert_eq!(encode(&Column::amount("gain", 0.0, 99.0), "9"), Ok(vec![0.0]));
        let standard = Column { name: "z".into(), standard: Some([10.0, 2.0]), ..Column::default() };
        assert_eq!(encode(&standard, "14"), Ok(vec![2.0]));
        assert!(encode(&age, "old").unwrap_err().contains("not a number"));
        assert!(encode(&age, "inf").is_err() && encode(&age, "NaN").is_err());
        assert!(encode(&age, "").unwrap_err().contains("missing = VALUE"));
        assert_eq!(encode(&Column { missing: Some(50.0), ..age }, ""), Ok(vec![0.0]));
    }

    #[test]
    fn a_category_is_one_input_among_its_kind() {
        let colour = Column::categories("colour", &["red", "blue"]);
        assert_eq!(encode(&colour, "blue"), Ok(vec![0.0, 1.0]));
        assert!(encode(&colour, "green").unwrap_err().contains("other = true"));
        assert_eq!(encode(&Column { other: true, ..colour }, "green"), Ok(vec![0.0, 0.0, 1.0]));
    }

    #[test]
    fn a_column_must_declare_its_range() {
        let refused = |column: Column, part: &str| {
            let reason = column.check().unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        refused(Column { name: "age".into(), ..Column::default() }, "spend privacy");
        refused(Column::number("age", 3.0, 3.0), "empty");
        refused(Column::number("age", f64::NAN, 3.0), "not finite");
        refused(Column::categories("c", &["a", "a"]), "each once");
        refused(Column { standard: Some([0.0, 1.0]), ..Column::number("age", 0.0, 3.0) }, "give one of");
        assert_eq!(Column::number("age", 0.0, 3.0).check(), Ok(()));
    }
}
