//! Made-up records to try things on: nobody's, and the same for the same seed.
//!
//! They are as untidy as real ones and have something to learn in them.

mod notes;
mod patients;
#[cfg(feature = "images")]
mod scans;

use crate::error::{DataError, Result};
use muffle_nn::initialise::SplitMix;
use std::path::Path;

/// What records there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeUp {
    /// A hospital's table: semicolons, decimal commas, missing values, dates, and few of the class that matters.
    Patients,
    /// Small grey images of two kinds, in a folder for each.
    Scans,
    /// Short texts with a class.
    Notes,
}

/// Which of them, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What they are.
    pub kind: MadeUp,
    /// How many.
    pub records: usize,
    /// Another seed gives other records of the same kind.
    pub seed: u64,
    /// Whether the answer is told: without it they are new records to be scored.
    pub labelled: bool,
}

impl Order {
    /// Writes the records: a file, or for images a folder. What is there already is not replaced.
    pub fn write(&self, path: &Path) -> Result<()> {
        if path.exists() {
            let error = "it exists already; choose another name, or remove it first";
            return Err(DataError::system(path, std::io::Error::other(error)));
        }
        let table = match self.kind {
            MadeUp::Patients => patients::table(self),
            MadeUp::Notes => notes::table(self),
            #[cfg(feature = "images")]
            MadeUp::Scans => return scans::write(self, path),
            #[cfg(not(feature = "images"))]
            MadeUp::Scans => {
                return Err(DataError::Feature { what: path.display().to_string(), feature: "images" });
            }
        };
        muffle_nn::atomic_file::write(path, table).map_err(|error| DataError::system(path, error))
    }

    /// Randomness that belongs to one record, whatever the others.
    fn dice(&self, record: usize) -> Dice {
        let own = SplitMix::new(record as u64).bits();
        Dice(SplitMix::new(self.seed ^ own))
    }
}

/// What is random about a record.
struct Dice(SplitMix);

impl Dice {
    /// Uniform between 0 and 1.
    fn unit(&mut self) -> f64 {
        self.0.uniform()
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// About normal: a sum of twelve.
    fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0)
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[(self.unit() * words.len() as f64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_records_and_more_of_them_change_none() {
        for kind in [MadeUp::Patients, MadeUp::Notes] {
            let text = |records, seed| {
                let order = Order { kind, records, seed, labelled: true };
                match kind {
                    MadeUp::Patients => patients::table(&order),
                    _ => notes::table(&order),
                }
            };
            assert_eq!(text(50, 1), text(50, 1));
            assert_ne!(text(50, 1), text(50, 2));
            assert!(text(60, 1).starts_with(&text(50, 1)));
        }
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("patients.csv");
        let order = Order { kind: MadeUp::Patients, records: 3, seed: 1, labelled: false };
        order.write(&path).unwrap();
        let refused = order.write(&path).unwrap_err().to_string();
        assert!(refused.contains("exists already"), "{refused}");
    }
}
