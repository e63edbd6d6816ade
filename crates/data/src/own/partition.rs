//! Training or test, decided for each record by itself.

use super::row::Row;
use super::rows::{label, number};
use crate::column::{Column, append_number, append_text};
use crate::task::Task;
use sha2::{Digest, Sha256};

/// Whether a record belongs to the test split, by a hash of its own content.
///
/// # Guarantee
/// The answer depends on the record and the fraction alone: adding or removing one record never moves another, so
/// neighbouring data sets stay neighbouring after the split. Equal records fall on the same side.
pub fn is_test(content: &[u8], fraction: f64) -> bool {
    let mut hash = Sha256::new();
    hash.update(b"muffle split");
    hash.update(content);
    let digest = hash.finalize();
    let word = u64::from_le_bytes(std::array::from_fn(|index| digest[index]));
    (word as f64) < fraction * 2f64.powi(64)
}

/// What a cell means to the content of a record.
enum Part<'a> {
    Input(&'a Column),
    Class,
    Label,
    Value,
}

/// What rows of a table say, apart from how their file says it.
pub struct Content<'a> {
    /// The place of each cell, its column and what it means, in the order of the names.
    parts: Vec<(usize, &'a str, Part<'a>)>,
}

impl<'a> Content<'a> {
    /// The content of rows with these columns, then those of the target.
    pub fn new(columns: &'a [Column], targets: &[&'a str], task: &Task) -> Content<'a> {
        let inputs = columns.iter().map(|column| (column.name.as_str(), Part::Input(column)));
        let targets = targets.iter().map(|name| {
            let part = match task {
                Task::Labels(_) => Part::Label,
                Task::Values(_) => Part::Value,
                Task::Classes(_) | Task::None => Part::Class,
            };
            (*name, part)
        });
        let mut parts: Vec<_> =
            inputs.chain(targets).enumerate().map(|(place, (name, part))| (place, name, part)).collect();
        parts.sort_by_key(|(_, name, _)| *name);
        Content { parts }
    }

    /// Bytes that stand for a row, and that no row with another content has.
    ///
    /// # Guarantee
    /// They are the same for CSV, Parquet and arrays, for every order of the columns, and for every way of writing a number,
    /// a date or an empty cell; other columns of the file do not matter.
    pub fn of(&self, row: &Row) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (place, name, part) in &self.parts {
            let cell = row.cell(*place);
            append_text(name, &mut bytes);
            let read = match part {
                Part::Input(column) => {
                    column.append_canonical(cell, &mut bytes);
                    continue;
                }
                Part::Label => label(cell).ok().map(f64::from),
                Part::Value => number(cell),
                Part::Class => None,
            };
            match read {
                Some(number) => append_number(number, &mut bytes),
                // What should have been a number is refused by whoever reads the row next.
                None => append_text(cell, &mut bytes),
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Position;
    use super::*;

    #[test]
    fn the_fraction_is_met() {
        let count = (0..10_000u32).filter(|record| is_test(&record.to_le_bytes(), 0.2)).count();
        // Standard deviation 40.
        assert!((1_800..2_200).contains(&count), "{count}");
        assert!(!is_test(b"a", 0.0) && is_test(b"a", 1.0));
    }

    #[test]
    fn content_is_what_a_row_says() {
        let content = |columns: &[Column], cells: &[&str], task: &Task| {
            Content::new(columns, &["ill"], task).of(&Row::new(Position::Row(1), cells.to_vec()))
        };
        let (age, job) = (Column::number("age", 0.0, 100.0), Column::categories("job", &["a", "b"]));
        let one = [age.clone(), job.clone()];
        let other = [job, age];
        let labels = Task::Labels(vec!["ill".into()]);
        let known = content(&one, &["7", "a", "yes"], &labels);
        assert_eq!(known, content(&other, &["a", "7.00", "1"], &labels));
        assert_ne!(known, content(&one, &["7", "b", "yes"], &labels));
        assert_ne!(known, content(&one, &["7", "a", "no"], &labels));
        let classes = Task::Classes(vec!["yes".into(), "1".into()]);
        assert_ne!(content(&one, &["7", "a", "yes"], &classes), content(&one, &["7", "a", "1"], &classes));
    }
}
