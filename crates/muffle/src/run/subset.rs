//! The data of a recipe: all records, or so many of a published set.

use super::recipe::RunRecipe;
use crate::data::{Dataset, Search, Split, Visibility, load};
use crate::error::{Error, Result};
use crate::noise::Key;
use crate::sampler::{FixedSize, Sampler};

impl RunRecipe {
    /// Loads the data, with the training and test records that the recipe asks for.
    ///
    /// # Guarantee
    /// Which records are left depends on their positions alone, and never on a seed of the run.
    pub fn dataset(&self, search: &Search) -> Result<Dataset> {
        let dataset = load(&self.data, search)?;
        let dataset = match self.test_from_training {
            Some(records) => set_aside(&dataset, records)?,
            None => dataset,
        };
        if (self.subset, self.test_subset) == (None, None) {
            return Ok(dataset);
        }
        smaller(&dataset, self.subset, self.test_subset)
    }
}

/// So many training records in place of the test split, spread over all of them.
fn set_aside(dataset: &Dataset, records: u64) -> Result<Dataset> {
    refuse_private(dataset, "test_from_training")?;
    let all = dataset.train().split();
    if records == 0 || records >= all.len() as u64 {
        let (name, most) = (dataset.name(), all.len() - 1);
        return Err(Error::Plan(format!("test_from_training = {records}: `{name}` has 1 to {most} to give")));
    }
    let mut is_aside = vec![false; all.len()];
    chosen(all.len(), records).into_iter().for_each(|record| is_aside[record] = true);
    let (test, train): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|record| is_aside[*record]);
    Ok(dataset.with_splits(all.select(&train), all.select(&test))?)
}

/// Positions of so many records, the same every time.
fn chosen(all: usize, records: u64) -> Vec<usize> {
    FixedSize::new(&Key::from_seed(0), all, records as usize).draw(0)
}

fn refuse_private(dataset: &Dataset, key: &str) -> Result<()> {
    match dataset.visibility() {
        Visibility::Public => Ok(()),
        Visibility::Private => Err(Error::Plan(format!(
            "{key}: which rows of a private table are left would tell how many there are; give a file with fewer rows"
        ))),
    }
}

fn smaller(dataset: &Dataset, train: Option<u64>, test: Option<u64>) -> Result<Dataset> {
    refuse_private(dataset, "subset")?;
    let train = subset(dataset.train().split(), train, "subset", dataset.name())?;
    let test = subset(dataset.test().split(), test, "test_subset", dataset.name())?;
    Ok(dataset.with_splits(train, test)?)
}

/// So many records of a split, spread over all of it.
fn subset(split: &Split, records: Option<u64>, key: &str, name: &str) -> Result<Split> {
    let Some(records) = records else { return Ok(split.clone()) };
    let all = split.len();
    if records == 0 || records > all as u64 {
        return Err(Error::Plan(format!("{key} = {records}: `{name}` has 1 to {all} to give")));
    }
    Ok(split.select(&chosen(all, records)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Records, Scaling};
    use muffle_nn::Shape;

    fn numbers(visibility: Visibility) -> Dataset {
        let records = Records::Floats((0..50).map(|value| value as f32).collect());
        let split = Split::classified(records, (0..50).map(|record| record % 2).collect());
        let classes = vec!["even".to_string(), "odd".to_string()];
        let scaling = Scaling::identity("as is");
        Dataset::new("numbers", Shape::Vector(1), classes, scaling, visibility, split.clone(), split).unwrap()
    }

    #[test]
    fn different_records_with_their_labels() {
        let whole = numbers(Visibility::Public);
        for (train, test, expected) in
            [(Some(20), None, [20, 50]), (None, Some(7), [50, 7]), (Some(50), Some(1), [50, 1])]
        {
            let found = smaller(&whole, train, test).unwrap();
            for (split, expected) in [found.train().split(), found.test().split()].into_iter().zip(expected) {
                let Records::Floats(values) = &split.records else { panic!("floats") };
                let mut different = values.clone();
                different.sort_by(f32::total_cmp);
                different.dedup();
                assert_eq!(different.len(), expected);
                for (value, label) in values.iter().zip(split.labels()) {
                    assert_eq!(*value as u32 % 2, *label);
                }
            }
        }
    }

    /// Every training record is on one side, and the test split is on neither.
    #[test]
    fn records_set_aside_are_not_trained_on() {
        let whole = numbers(Visibility::Public);
        let divided = set_aside(&whole, 15).unwrap();
        let values = |split: &Split| split.records.clone().into_floats();
        let (train, test) = (values(divided.train().split()), values(divided.test().split()));
        assert_eq!((train.len(), test.len()), (35, 15));
        let mut all = [train, test].concat();
        all.sort_by(f32::total_cmp);
        assert_eq!(all, values(whole.train().split()));
        let refused = |visibility, records| set_aside(&numbers(visibility), records).unwrap_err().to_string();
        assert!(refused(Visibility::Public, 50).contains("1 to 49"));
        assert!(refused(Visibility::Private, 5).contains("fewer rows"));
    }

    #[test]
    fn impossible_numbers_and_private_tables_are_refused() {
        let refused =
            |visibility, train, test| smaller(&numbers(visibility), train, test).unwrap_err().to_string();
        assert!(refused(Visibility::Public, Some(0), None).contains("subset = 0: `numbers` has 1 to 50"));
        assert!(refused(Visibility::Public, Some(51), None).contains("1 to 50"));
        assert!(refused(Visibility::Public, None, Some(51)).contains("test_subset = 51"));
        assert!(refused(Visibility::Private, Some(20), None).contains("fewer rows"));
        assert!(refused(Visibility::Private, None, Some(20)).contains("fewer rows"));
    }
}
