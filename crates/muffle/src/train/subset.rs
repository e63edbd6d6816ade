//! The data of a recipe: all records, or so many of a published set.

use super::error::{Result, TrainError};
use super::recipe::Recipe;
use crate::data::{Dataset, Search, Visibility, load};
use crate::noise::Key;
use crate::sampler::{FixedSize, Sampler};

impl Recipe {
    /// Loads the data, with the training records that the recipe asks for.
    ///
    /// # Guarantee
    /// Which records are left depends on their positions alone, and never on a seed of the run.
    pub fn dataset(&self, search: &Search) -> Result<Dataset> {
        let dataset = load(&self.data, search)?;
        match self.subset {
            Some(records) => subset(&dataset, records),
            None => Ok(dataset),
        }
    }
}

fn subset(dataset: &Dataset, records: u64) -> Result<Dataset> {
    let all = dataset.train().split().len();
    if dataset.visibility() == Visibility::Private {
        return Err(TrainError::Plan(
            "subset: which rows of a private table are left would tell how many there are; give a file with fewer rows"
                .to_string(),
        ));
    }
    if records == 0 || records > all as u64 {
        return Err(TrainError::Plan(format!(
            "subset = {records}: `{}` has 1 to {all} to give",
            dataset.name()
        )));
    }
    let chosen = FixedSize::new(&Key::from_seed(0), all, records as usize).draw(0);
    Ok(dataset.with_splits(dataset.train().split().select(&chosen), dataset.test().split().clone())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Records, Scaling, Split};
    use muffle_nn::Shape;

    fn numbers(visibility: Visibility) -> Dataset {
        let records = Records::Floats((0..50).map(|value| value as f32).collect());
        let split = Split { records, labels: (0..50).map(|record| record % 2).collect() };
        let classes = vec!["even".to_string(), "odd".to_string()];
        let scaling = Scaling::identity("as is");
        Dataset::new("numbers", Shape::Vector(1), classes, scaling, visibility, split.clone(), split).unwrap()
    }

    #[test]
    fn different_records_with_their_labels_and_the_whole_test_split() {
        let found = subset(&numbers(Visibility::Public), 20).unwrap();
        let Records::Floats(values) = &found.train().split().records else { panic!("floats") };
        let mut different = values.clone();
        different.sort_by(f32::total_cmp);
        different.dedup();
        assert_eq!((different.len(), found.test().split().len()), (20, 50));
        for (value, label) in values.iter().zip(&found.train().split().labels) {
            assert_eq!(*value as u32 % 2, *label);
        }
    }

    #[test]
    fn impossible_numbers_and_private_tables_are_refused() {
        let refused = |visibility, records| subset(&numbers(visibility), records).unwrap_err().to_string();
        assert!(refused(Visibility::Public, 0).contains("1 to 50"));
        assert!(refused(Visibility::Public, 51).contains("1 to 50"));
        assert!(refused(Visibility::Private, 20).contains("fewer rows"));
    }
}
