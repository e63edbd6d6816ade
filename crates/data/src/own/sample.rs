//! What the cells of a public column look like.

use crate::column::{Day, looks_missing};
use std::collections::BTreeSet;

/// More different values than this are not listed.
const MOST_CATEGORIES: usize = 50;

/// Longer cells than this, in the mean, are texts.
const TEXT: usize = 30;

/// The cells of a public column so far.
#[derive(Default)]
pub struct Sample {
    rows: usize,
    missing: bool,
    words_for_nothing: BTreeSet<String>,
    not_numbers: bool,
    not_dates: bool,
    bytes: usize,
    range: Option<[f64; 2]>,
    /// Whether numbers had a decimal comma, and whether they had a point.
    comma: bool,
    point: bool,
    /// The first and the last day.
    days: Option<[String; 2]>,
    /// Different values, one more than are listed at most.
    values: BTreeSet<String>,
}

/// What cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// ISO dates or times.
    Date,
    /// Few different values.
    Category,
    /// Many different values.
    Many,
    /// Many different long values.
    Text,
}

/// What a column seems to hold.
pub struct Guess {
    /// What its cells are.
    pub kind: Kind,
    /// Whether cells were empty.
    pub missing: bool,
    /// Words that stood for empty cells.
    pub words_for_nothing: Vec<String>,
    /// The smallest and the largest number.
    pub range: Option<[f64; 2]>,
    /// Whether numbers had a decimal comma.
    pub comma: bool,
    /// Whether numbers had a decimal point.
    pub point: bool,
    /// The first and the last day.
    pub days: Option<[String; 2]>,
    /// The different values, if they are few.
    pub values: Vec<String>,
}

impl Sample {
    /// Adds a cell.
    pub fn add(&mut self, cell: &str) {
        if cell.is_empty() || looks_missing(cell) {
            self.missing = true;
            if !cell.is_empty() {
                self.words_for_nothing.insert(cell.to_string());
            }
            return;
        }
        self.rows += 1;
        self.bytes += cell.len();
        let comma = cell.contains(',') && !cell.contains('.');
        let written = if comma { cell.replacen(',', ".", 1) } else { cell.to_string() };
        match written.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => {
                self.comma |= comma;
                self.point |= cell.contains('.');
                let [low, high] = self.range.unwrap_or([number; 2]);
                self.range = Some([low.min(number), high.max(number)]);
            }
            None => self.not_numbers = true,
        }
        match Day::try_from(cell.to_string()).ok().and(cell.get(..10)) {
            // Days in ISO's form are in order as texts.
            Some(day) => {
                let [first, last] = self.days.take().unwrap_or_else(|| [day.to_string(), day.to_string()]);
                self.days = Some([first.min(day.to_string()), last.max(day.to_string())]);
            }
            None => self.not_dates = true,
        }
        if self.values.len() <= MOST_CATEGORIES {
            self.values.insert(cell.to_string());
        }
    }

    /// What the column seems to hold.
    pub fn guess(self) -> Guess {
        let many = self.values.len() > MOST_CATEGORIES;
        let kind = match self.bytes / self.rows.max(1) {
            _ if self.rows > 0 && !self.not_numbers => Kind::Number,
            _ if self.rows > 0 && !self.not_dates => Kind::Date,
            mean if many && mean > TEXT => Kind::Text,
            _ if many => Kind::Many,
            _ => Kind::Category,
        };
        Guess {
            kind,
            missing: self.missing,
            words_for_nothing: self.words_for_nothing.into_iter().collect(),
            comma: self.comma && kind == Kind::Number,
            point: self.point && kind == Kind::Number,
            days: self.days,
            range: self.range,
            values: if many { vec!["?".to_string()] } else { self.values.into_iter().collect() },
        }
    }
}
