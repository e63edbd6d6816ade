//! Columns of a table as inputs: numbers by declared ranges, categories as one value each.
//!
//! Everything that turns a cell into inputs is declared before the table is read. A minimum, a mean or the list of
//! categories taken from private rows would be a release without a price.

mod check;
mod date;
mod tokenizer;
mod tokens;

pub use date::Day;
pub use tokens::{Keep, Kind, Tokens};

use serde::{Deserialize, Serialize};
use std::path::Path;

/// One column and how it becomes inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// For numbers: the declared smallest and largest value. They become -1 and 1; what lies outside is moved to the
    /// nearer end.
    #[serde(default, deserialize_with = "known_range")]
    pub range: Option<[f64; 2]>,
    /// Takes the logarithm of 1 + value - smallest before scaling, for amounts that differ by powers of ten.
    #[serde(default)]
    pub logarithmic: bool,
    /// For numbers, in place of a range: a public mean and standard deviation.
    pub standard: Option<[f64; 2]>,
    /// For dates and times: the declared first and last. They become -1 and 1, as a range does.
    pub dates: Option<[Day; 2]>,
    /// For dates: how cells are written, as in `%d.%m.%Y`; without it as ISO 8601 has them.
    pub date_format: Option<String>,
    /// For numbers: the value of an empty cell; without it (and without `indicator`) an empty cell is an error.
    pub missing: Option<f64>,
    /// Cells that mean the same as an empty one, such as `NA`; without it those of the table.
    pub missing_values: Option<Vec<String>>,
    /// One more input, 1 if the cell is empty and 0 if not. The other inputs of an empty cell are 0, unless `missing` says
    /// more.
    #[serde(default)]
    pub indicator: bool,
    /// For categories: all of them; each becomes an input that is 0 or 1.
    pub categories: Option<Vec<String>>,
    /// For categories: one more input for any other value; without it an unknown value is an error.
    #[serde(default)]
    pub other: bool,
    /// For categories that are too many to list: as many inputs, one of which a public hash of the value sets to 1.
    pub hash: Option<usize>,
    /// For texts: a sequence of tokens.
    pub tokens: Option<Tokens>,
}

/// What a cell says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'c> {
    /// Nothing: it is empty, or one of the words for that.
    Missing,
    /// A number, or a date as days.
    Number(f64),
    /// A category or a text.
    Text(&'c str),
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
        let categories = self.categories.as_ref().map(|known| known.len() + usize::from(self.other));
        let tokens = self.tokens.as_ref().map(|tokens| tokens.length);
        categories.or(self.hash).or(tokens).unwrap_or(1) + usize::from(self.indicator)
    }

    /// Whether its cells are numbers, which a table may write with a decimal comma.
    pub fn is_number(&self) -> bool {
        self.range.is_some() || self.standard.is_some()
    }

    /// Reads what the column needs beside its declaration.
    pub(crate) fn load(&mut self, folder: &Path) -> crate::error::Result<()> {
        self.tokens.as_mut().map_or(Ok(()), |tokens| tokens.load(folder))
    }

    fn means_missing(&self, cell: &str) -> bool {
        self.missing_values.as_ref().is_some_and(|words| words.iter().any(|word| word == cell))
    }

    /// What a cell says.
    fn value<'c>(&self, cell: &'c str) -> std::result::Result<Value<'c>, String> {
        if cell.is_empty() || self.means_missing(cell) {
            return Ok(Value::Missing);
        }
        if self.dates.is_some() {
            let day = match &self.date_format {
                Some(pattern) => date::formatted(pattern, cell),
                None => date::iso(cell),
            };
            return day.map(Value::Number).ok_or_else(|| {
                let wanted = self.date_format.as_deref().unwrap_or("2024-12-31 (or declare `date_format`)");
                format!("{} is not a date like {wanted}", quoted(cell))
            });
        }
        if !self.is_number() {
            return Ok(Value::Text(cell));
        }
        let number = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        number.map(Value::Number).ok_or_else(|| {
            let shown = quoted(cell);
            match looks_missing(cell) {
                true => format!("{shown} is not a number; declare `missing_values = [{shown}]` if it stands for an empty cell"),
                false => format!("{shown} is not a number; correct it, or declare `categories` for this column"),
            }
        })
    }

    /// The number in a cell, none if it is empty.
    pub(crate) fn number_in(&self, cell: &str) -> std::result::Result<Option<f64>, String> {
        Ok(match self.value(cell)? {
            Value::Number(number) => Some(number),
            Value::Missing | Value::Text(_) => None,
        })
    }

    /// Appends bytes that stand for what a cell says, however it is written: 7, 7.0 and 7e0 are one number, and an empty cell
    /// is one of the words for it. Numbers are taken to single precision, which is what arrays hold.
    pub(crate) fn append_canonical(&self, cell: &str, bytes: &mut Vec<u8>) {
        match self.value(cell) {
            Ok(Value::Missing) => bytes.push(0),
            Ok(Value::Number(number)) => append_number(number, bytes),
            Ok(Value::Text(text)) if self.tokens.as_ref().is_some_and(|tokens| tokens.kind == Kind::Ids) => {
                let words: Vec<&str> = text.split_ascii_whitespace().collect();
                append_text(&words.join(" "), bytes);
            }
            Ok(Value::Text(text)) => append_text(text, bytes),
            // Whoever reads the row next refuses it.
            Err(_) => append_text(cell, bytes),
        }
    }

    /// Appends the inputs of one cell.
    pub(crate) fn encode(&self, cell: &str, inputs: &mut Vec<f32>) -> std::result::Result<(), String> {
        let value = self.value(cell)?;
        let missing = value == Value::Missing;
        match value {
            Value::Number(number) => inputs.push(self.scaled(number)),
            Value::Text(text) => self.encode_text(text, inputs)?,
            Value::Missing => match self.missing {
                Some(number) => inputs.push(self.scaled(number)),
                None if self.indicator => inputs.extend((1..self.width()).map(|_| 0.0)),
                None if self.is_number() => {
                    return Err(
                        "the cell is empty; fill it, or declare `missing = VALUE` or `indicator = true`"
                            .to_string(),
                    );
                }
                None if self.dates.is_some() => {
                    return Err("the cell is empty; fill it, or declare `indicator = true`".to_string());
                }
                None => self.encode_text("", inputs)?,
            },
        }
        if self.indicator {
            inputs.push(f32::from(u8::from(missing)));
        }
        Ok(())
    }

    /// Appends the inputs of a category or a text.
    fn encode_text(&self, text: &str, inputs: &mut Vec<f32>) -> std::result::Result<(), String> {
        if let Some(tokens) = &self.tokens {
            return tokens.encode(text, inputs);
        }
        let hot = match (&self.categories, self.hash) {
            (Some(categories), _) => {
                let found = categories.iter().position(|category| category == text);
                if found.is_none() && !self.other {
                    return Err(format!(
                        "category {} was not declared; add it to `categories`, or set `other = true`",
                        quoted(text)
                    ));
                }
                found.unwrap_or(categories.len())
            }
            (None, buckets) => bucket(text, buckets.unwrap_or(1)),
        };
        let inputs_of_category = self.width() - usize::from(self.indicator);
        inputs.extend((0..inputs_of_category).map(|index| if index == hot { 1.0 } else { 0.0 }));
        Ok(())
    }

    /// A number by the declared range, or by the declared mean and deviation.
    pub(crate) fn scaled(&self, value: f64) -> f32 {
        if let Some([mean, deviation]) = self.standard {
            return ((value - mean) / deviation) as f32;
        }
        let dates = self.dates.map(|dates| dates.map(|Day(days)| days));
        let [low, high] = self.range.or(dates).unwrap_or([0.0, 1.0]);
        let place = value.clamp(low, high) - low;
        let share =
            if self.logarithmic { place.ln_1p() / (high - low).ln_1p() } else { place / (high - low) };
        (2.0 * share - 1.0) as f32
    }
}

impl Column {
    /// The number that is scaled to this; of what lies outside the declared range, its nearer end.
    pub fn unscaled(&self, scaled: f32) -> f64 {
        let scaled = f64::from(scaled);
        if let Some([mean, deviation]) = self.standard {
            return scaled * deviation + mean;
        }
        let dates = self.dates.map(|dates| dates.map(|Day(days)| days));
        let [low, high] = self.range.or(dates).unwrap_or([0.0, 1.0]);
        let share = (0.5 * (scaled + 1.0)).clamp(0.0, 1.0);
        low + if self.logarithmic { (share * (high - low).ln_1p()).exp_m1() } else { share * (high - low) }
    }
}

/// A range that is declared, and not the place of one.
fn known_range<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<[f64; 2]>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a range is two numbers, as in [0, 120]")]
    enum Written {
        Known([f64; 2]),
        Open(String),
    }
    match Option::deserialize(deserializer)? {
        None => Ok(None),
        Some(Written::Known(range)) => Ok(Some(range)),
        Some(Written::Open(text)) => Err(serde::de::Error::custom(format!(
            "range = {text:?} is still to be filled in: declare [low, high] from public knowledge, or pay for one with \
             `muffle data ranges`"
        ))),
    }
}

/// Which of so many buckets a category falls into.
///
/// # Source
/// Fowler, Noll and Vo, FNV-1a with 64 bits, folded: fixed and public, so that it says nothing about the records.
fn bucket(category: &str, buckets: usize) -> usize {
    let hash = category.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    ((hash ^ hash >> 32) % buckets as u64) as usize
}

/// Whether a cell is one of the words by which programs say that there is nothing.
pub(crate) fn looks_missing(cell: &str) -> bool {
    ["na", "n/a", "nan", "null", "none", "nil", "-", "--", ".", "?", "#n/a"]
        .contains(&cell.to_ascii_lowercase().as_str())
}

/// Bytes that stand for a number, to single precision.
pub(crate) fn append_number(number: f64, bytes: &mut Vec<u8>) {
    // Adding zero makes one of both zeros.
    let number = number as f32 + 0.0;
    bytes.push(1);
    bytes.extend(number.to_le_bytes());
}

/// Bytes that stand for a text.
pub(crate) fn append_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(2);
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// A cell in quotes, no longer than fits into a message.
pub(crate) fn quoted(cell: &str) -> String {
    const MOST: usize = 60;
    match cell.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}...", &cell[..end]),
        None => format!("{cell:?}"),
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

    impl Column {
        fn named(name: &str) -> Column {
            Column { name: name.to_string(), ..Column::default() }
        }
    }

    fn dates() -> Column {
        let dates = ["2000-01-01", "2000-01-05"].map(|day| Day::try_from(day.to_string()).unwrap());
        Column { dates: Some(dates), ..Column::named("day") }
    }

    #[test]
    fn dates_are_scaled_by_the_declared_first_and_last() {
        assert_eq!(encode(&dates(), "2000-01-02T00:00"), Ok(vec![-0.5]));
        assert_eq!(encode(&dates(), "1999-01-01"), Ok(vec![-1.0]));
        let german = Column { date_format: Some("%d.%m.%Y".into()), ..dates() };
        assert_eq!(german.check(), Ok(()));
        assert_eq!(encode(&german, "3.1.2000"), Ok(vec![0.0]));
        assert!(encode(&german, "2000-01-03").unwrap_err().contains("not a date like %d.%m.%Y"));
        assert!(encode(&dates(), "3.1.2000").unwrap_err().contains("date_format"));
        assert!(encode(&dates(), "").unwrap_err().contains("indicator = true"));
    }

    #[test]
    fn words_for_nothing_are_empty_cells() {
        let words = Some(vec!["NA".to_string(), "?".to_string()]);
        let age = Column { missing_values: words.clone(), ..Column::number("age", 0.0, 100.0) };
        assert!(encode(&age, "NA").unwrap_err().contains("the cell is empty"));
        assert!(encode(&age, "n/a").unwrap_err().contains("missing_values = [\"n/a\"]"));
        let filled = Column { missing: Some(50.0), ..age.clone() };
        assert_eq!(encode(&filled, "?"), Ok(vec![0.0]));
        let shown = Column { indicator: true, ..age };
        assert_eq!(
            (shown.width(), encode(&shown, ""), encode(&shown, "75")),
            (2, Ok(vec![0.0, 1.0]), Ok(vec![0.5, 0.0]))
        );
        assert_eq!(encode(&Column { missing: Some(0.0), ..shown }, "NA"), Ok(vec![-1.0, 1.0]));
        let job = Column { missing_values: words, indicator: true, ..Column::categories("job", &["a", "b"]) };
        assert_eq!(encode(&job, "?"), Ok(vec![0.0, 0.0, 1.0]));
        assert_eq!(encode(&job, "b"), Ok(vec![0.0, 1.0, 0.0]));
    }

    #[test]
    fn a_hash_that_never_changes_finds_the_bucket() {
        let city = Column { hash: Some(8), ..Column::named("city") };
        assert_eq!(city.width(), 8);
        let hot = |cell: &str| encode(&city, cell).unwrap().iter().position(|input| *input == 1.0);
        // As a few lines of Python give them; trained models rest on these.
        assert_eq!(["Paris", "Oslo", "Rome", ""].map(hot), [Some(6), Some(2), Some(7), Some(1)]);
        let mut counts = [0; 8];
        (0..8000).for_each(|city| counts[bucket(&format!("city {city}"), 8)] += 1);
        // Standard deviation 30.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_same_cell_written_otherwise_is_the_same() {
        let canonical = |column: &Column, cell: &str| {
            let mut bytes = Vec::new();
            column.append_canonical(cell, &mut bytes);
            bytes
        };
        let age = Column { missing_values: Some(vec!["NA".into()]), ..Column::number("age", 0.0, 100.0) };
        assert_eq!(canonical(&age, "7"), canonical(&age, "7.0e0"));
        assert_eq!(canonical(&age, "-0"), canonical(&age, "0"));
        assert_eq!(canonical(&age, ""), canonical(&age, "NA"));
        assert_ne!(canonical(&age, "7"), canonical(&age, "8"));
        assert_eq!(canonical(&dates(), "2000-01-02"), canonical(&dates(), "2000-01-02T00:00:00Z"));
    }

    #[test]
    fn a_message_quotes_no_book() {
        let message = encode(&Column::number("age", 0.0, 1.0), &"word\n".repeat(1000)).unwrap_err();
        assert!(message.len() < 300 && !message.contains('\n'), "{message}");
    }

    #[test]
    fn a_column_must_declare_its_range() {
        let refused = |column: Column, part: &str| {
            let reason = column.check().unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        refused(Column::named("age"), "spend privacy");
        refused(Column::number("age", 3.0, 3.0), "empty");
        refused(Column::number("age", f64::NAN, 3.0), "not finite");
        refused(Column::categories("c", &["a", "a"]), "each once");
        refused(Column { standard: Some([0.0, 1.0]), ..Column::number("age", 0.0, 3.0) }, "give one of");
        refused(Column { missing: Some(0.0), ..Column::categories("c", &["a"]) }, "`missing` is for numbers");
        refused(Column { date_format: Some("%d".into()), ..dates() }, "needs %Y");
        refused(Column { hash: Some(1), ..Column::named("c") }, "2 to 65536 buckets");
        let words = Some(vec!["NA".to_string()]);
        refused(Column { missing_values: words, ..Column::categories("c", &["a", "NA"]) }, "missing_values");
        assert_eq!(Column::number("age", 0.0, 3.0).check(), Ok(()));
    }
}
