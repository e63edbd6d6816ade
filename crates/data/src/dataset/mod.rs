//! A data set in memory: records as they were stored, targets, and the public constants that scale them.

mod categories;
mod view;

pub use categories::NumberInput;
pub use view::View;

use super::column::{self, Column};
use super::error::{DataError, Result};
use super::limits;
use super::scaling::Scaling;
use super::targets::Targets;
use super::task::Task;
use half::f16;
use muffle_nn::shape::Shape;

/// Stored values, record after record.
#[derive(Clone, Debug, PartialEq)]
pub enum Records {
    /// Pixels: a quarter of the memory of floats, converted when read.
    Bytes(Vec<u8>),
    /// Features.
    Floats(Vec<f32>),
    /// Features made by the program, in half the memory. Nothing scales them.
    Halves(Vec<f16>),
}

impl Records {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Records::Bytes(values) => values.len(),
            Records::Floats(values) => values.len(),
            Records::Halves(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records at these positions, each of `width` values, in this order.
    fn select(&self, width: usize, positions: &[usize]) -> Records {
        fn part<T: Copy>(values: &[T], width: usize, positions: &[usize]) -> Vec<T> {
            positions.iter().flat_map(|&at| &values[at * width..][..width]).copied().collect()
        }
        match self {
            Records::Bytes(values) => Records::Bytes(part(values, width, positions)),
            Records::Floats(values) => Records::Floats(part(values, width, positions)),
            Records::Halves(values) => Records::Halves(part(values, width, positions)),
        }
    }

    /// These records and then others; as floats if either are.
    fn followed_by(self, others: Records) -> Records {
        match (self, others) {
            (Records::Bytes(first), Records::Bytes(second)) => Records::Bytes([first, second].concat()),
            (first, second) => Records::Floats([first.into_floats(), second.into_floats()].concat()),
        }
    }

    /// As floats, whatever they were.
    pub fn into_floats(self) -> Vec<f32> {
        match self {
            Records::Bytes(values) => values.into_iter().map(f32::from).collect(),
            Records::Floats(values) => values,
            Records::Halves(values) => values.into_iter().map(f16::to_f32).collect(),
        }
    }
}

/// Records with what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Values, record after record, images row by row with channels side by side.
    pub records: Records,
    /// What each record should give.
    pub targets: Targets,
}

impl Split {
    /// Records with a class each.
    pub fn classified(records: Records, labels: Vec<u32>) -> Split {
        Split { records, targets: Targets::Classes(labels) }
    }

    /// The class of each record; none if the targets are others.
    pub fn labels(&self) -> &[u32] {
        match &self.targets {
            Targets::Classes(labels) => labels,
            _ => &[],
        }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The records at these positions, in this order; a position may come twice.
    ///
    /// # Panics
    /// If a position lies outside the split.
    pub fn select(&self, positions: &[usize]) -> Split {
        let width = self.records.len() / self.len().max(1);
        Split { records: self.records.select(width, positions), targets: self.targets.select(positions) }
    }

    /// These records and then others of the same width, with targets of the same kind.
    pub fn followed_by(self, others: Split) -> Split {
        Split {
            records: self.records.followed_by(others.records),
            targets: self.targets.followed_by(others.targets),
        }
    }

    /// How many records each class has. On private records this is a statistic: not to be shown for free.
    pub fn class_counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        for &label in self.labels() {
            counts[label as usize] += 1;
        }
        counts
    }
}

/// Who may see statistics of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// A published benchmark: the whole world has it.
    Public,
    /// The user's own records.
    Private,
}

/// A training and a test split with what describes them.
#[derive(Clone, Debug)]
pub struct Dataset {
    name: String,
    input: Shape,
    task: Task,
    scaling: Scaling,
    visibility: Visibility,
    columns: Vec<Column>,
    /// The column of a table that holds the class.
    label: Option<String>,
    /// How many tokens there are, if records are arrays of token numbers.
    vocabulary: Option<u32>,
    train: Split,
    test: Split,
    /// Whether a hash of each record decided between the two.
    split_by_hash: bool,
    public: Option<Split>,
    /// Further views of the training records, where they were made in advance.
    further: Vec<Records>,
}

impl Dataset {
    /// Records of classes: checks that shape, scaling, classes and splits fit together.
    pub fn new(
        name: &str,
        input: Shape,
        classes: Vec<String>,
        scaling: Scaling,
        visibility: Visibility,
        train: Split,
        test: Split,
    ) -> Result<Dataset> {
        Dataset::with_task(name, input, Task::Classes(classes), scaling, visibility, train, test)
    }

    /// Records for any task: checks that shape, scaling, task and splits fit together.
    pub fn with_task(
        name: &str,
        input: Shape,
        task: Task,
        scaling: Scaling,
        visibility: Visibility,
        train: Split,
        test: Split,
    ) -> Result<Dataset> {
        let dataset = Dataset {
            name: name.to_string(),
            input,
            task,
            scaling,
            visibility,
            columns: Vec::new(),
            label: None,
            vocabulary: None,
            train,
            test,
            split_by_hash: false,
            public: None,
            further: Vec::new(),
        };
        if input.is_empty() || input.len() > limits::MAXIMUM_RECORD {
            return Err(dataset.refusal(format!("a record of shape {input} cannot be an input of a network")));
        }
        dataset.task.check().map_err(|reason| dataset.refusal(reason))?;
        let channels = *input.sizes().first().unwrap_or(&0);
        if !dataset.scaling.fits(channels) {
            return Err(dataset.refusal(format!("the scaling constants do not fit {channels} channels")));
        }
        for (which, split) in [("training", &dataset.train), ("test", &dataset.test)] {
            dataset.check(which, split, &dataset.task)?;
        }
        Ok(dataset)
    }

    /// Checks that a split holds records of this shape with the targets of a task.
    fn check(&self, which: &str, split: &Split, task: &Task) -> Result<()> {
        let input = self.input;
        if split.is_empty() {
            let reason = format!("the {which} split is empty; check how records are split");
            return Err(self.refusal(reason));
        }
        if split.len().checked_mul(input.len()) != Some(split.records.len()) {
            let values = split.records.len();
            let reason =
                format!("{values} values in the {which} split for {} records of shape {input}", split.len());
            return Err(self.refusal(reason));
        }
        split.targets.fit(task, which).map_err(|reason| self.refusal(reason))?;
        let position = match &split.records {
            Records::Bytes(_) => None,
            Records::Floats(values) => values.iter().position(|value| !value.is_finite()),
            Records::Halves(values) => values.iter().position(|value| !value.is_finite()),
        };
        if let Some(position) = position {
            let record = position / input.len();
            return Err(
                self.refusal(format!("record {record} of the {which} split has a value that is not finite"))
            );
        }
        Ok(())
    }

    fn refusal(&self, reason: String) -> DataError {
        DataError::Description { file: format!("data set `{}`", self.name), reason }
    }

    /// The same with other records in its training and test splits.
    pub fn with_splits(&self, train: Split, test: Split) -> Result<Dataset> {
        let (task, scaling) = (self.task.clone(), self.scaling.clone());
        let other = Dataset::with_task(&self.name, self.input, task, scaling, self.visibility, train, test)?;
        let (columns, label) = (self.columns.clone(), self.label.clone());
        let (public, split_by_hash) = (self.public.clone(), self.split_by_hash);
        Ok(Dataset { columns, label, public, split_by_hash, vocabulary: self.vocabulary, ..other })
    }

    /// The same with a pool of records that the user declares to be public: outside every guarantee, to be read as often
    /// as one likes. They have the targets of the task, or none.
    pub fn with_public(self, public: Split) -> Result<Dataset> {
        let unlabelled = matches!(public.targets, Targets::None(_));
        self.check("public", &public, if unlabelled { &Task::None } else { &self.task })?;
        Ok(Dataset { public: Some(public), ..self })
    }

    /// The same with the first records of the test split, in the order of the files, as the public pool; the others stay
    /// for testing.
    pub fn with_public_from_test(self, count: usize) -> Result<Dataset> {
        if count == 0 || count >= self.test.len() {
            let most = self.test.len() - 1;
            return Err(self.refusal(format!("{count} public records of the test split; choose 1 to {most}")));
        }
        let positions: Vec<usize> = (0..self.test.len()).collect();
        let public = self.test.select(&positions[..count]);
        let test = self.test.select(&positions[count..]);
        Dataset { test, ..self }.with_public(public)
    }

    /// The same with further views of every training record, made in advance: records in the order of the training split.
    ///
    /// # Panics
    /// If a view does not have as many values as the training records.
    pub fn with_further_views(self, further: Vec<Records>) -> Dataset {
        let values = self.train.records.len();
        assert!(further.iter().all(|view| view.len() == values), "views of {values} values each");
        Dataset { further, ..self }
    }

    /// Further views of the training records; none unless they were made in advance.
    pub fn further_views(&self) -> &[Records] {
        &self.further
    }

    /// The same, known to be the rows of a table.
    ///
    /// # Panics
    /// If the columns do not become as many inputs as a record has.
    pub fn with_columns(self, columns: Vec<Column>) -> Dataset {
        assert_eq!(column::width(&columns), self.input.len(), "inputs of the columns");
        Dataset { columns, ..self }
    }

    /// The same, with the class of a row in the column of this name.
    pub fn with_label(self, label: Option<String>) -> Dataset {
        Dataset { label, ..self }
    }

    /// The same, known to hold token numbers below this, if it is given.
    pub fn with_vocabulary(self, vocabulary: Option<u32>) -> Dataset {
        Dataset { vocabulary, ..self }
    }

    /// How many tokens there are, if records are arrays of token numbers.
    pub fn vocabulary(&self) -> Option<u32> {
        self.vocabulary
    }

    /// The same, known to be split by a hash of each record: a record that is replaced can change sides.
    pub fn with_split_by_hash(self) -> Dataset {
        Dataset { split_by_hash: true, ..self }
    }

    /// Whether a hash of each record decides between training and test. Then the test split is made of the same private records
    /// as the training split, and the number of either changes if a record is replaced.
    pub fn is_split_by_hash(&self) -> bool {
        self.split_by_hash
    }

    /// The name it is asked for by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape of one record.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// What is known of every record.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Names of the classes, in the order of the labels; none if the task is another.
    pub fn classes(&self) -> &[String] {
        self.task.classes()
    }

    /// The public constants between stored values and inputs.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// Whether the records are published or the user's own.
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }

    /// The columns of a table, in the order of the inputs they become; none for other data.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of a table that holds the class, if the table says so.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The records to learn from.
    pub fn train(&self) -> View<'_> {
        View::new(self, &self.train)
    }

    /// The records to measure on.
    pub fn test(&self) -> View<'_> {
        View::new(self, &self.test)
    }

    /// The records that are declared to be public, if there are any.
    pub fn public(&self) -> Option<View<'_>> {
        self.public.as_ref().map(|public| View::new(self, public))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Table;
    use crate::task::Quantity;
    use muffle_nn::examples::{Examples, Target};

    #[test]
    fn records_are_chosen_and_joined_with_their_labels() {
        let bytes = Split::classified(Records::Bytes(vec![1, 2, 3, 4, 5, 6]), vec![0, 1, 2]);
        let chosen = bytes.select(&[2, 0, 2]);
        assert_eq!(chosen, Split::classified(Records::Bytes(vec![5, 6, 1, 2, 5, 6]), vec![2, 0, 2]));
        let joined = bytes.select(&[1]).followed_by(bytes.select(&[0]));
        assert_eq!(joined, bytes.select(&[1, 0]));
        let floats = Split::classified(Records::Floats(vec![0.5, 0.25]), vec![3]);
        let mixed = bytes.select(&[1]).followed_by(floats);
        assert_eq!(mixed, Split::classified(Records::Floats(vec![3.0, 4.0, 0.5, 0.25]), vec![1, 3]));
    }

    /// Two records of one input each.
    fn dataset(task: Task, targets: Targets) -> Result<Dataset> {
        let split = Split { records: Records::Floats(vec![0.0, 1.0]), targets };
        let scaling = Scaling::identity("");
        Dataset::with_task("d", Shape::Vector(1), task, scaling, Visibility::Private, split.clone(), split)
    }

    #[test]
    fn every_task_gives_its_targets() {
        let rows = |values: [f32; 4]| Table::new(2, values.to_vec());
        let names = || vec!["a".to_string(), "b".to_string()];
        let quantities = names().into_iter().map(|name| Quantity { name, range: [0.0, 8.0] });
        let values =
            dataset(Task::Values(quantities.collect()), Targets::Values(rows([0.0, 0.5, 1.0, 0.25])));
        let values = values.unwrap();
        assert_eq!(values.train().target(1), Target::Values(&[1.0, 0.25]));
        assert_eq!(values.test().select(vec![1, 0]).target(1), Target::Values(&[0.0, 0.5]));
        assert!(values.classes().is_empty());
        let chosen = values.train().split().select(&[1]).followed_by(values.train().split().select(&[0]));
        assert_eq!(chosen, values.train().split().select(&[1, 0]));
        let labels = dataset(Task::Labels(names()), Targets::Labels(rows([0.0, 1.0, 1.0, 1.0]))).unwrap();
        assert_eq!(labels.train().target(0), Target::Values(&[0.0, 1.0]));
        let none = dataset(Task::None, Targets::None(2)).unwrap();
        assert_eq!(none.train().target(0), Target::None);

        let refused = |task: Task, targets: Targets, part: &str| {
            let message = dataset(task, targets).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        };
        refused(Task::Labels(names()), Targets::Labels(rows([0.0, 1.0, 0.5, 1.0])), "record 1");
        refused(Task::Labels(names()), Targets::Values(rows([0.0; 4])), "kind");
        refused(Task::Labels(vec!["a".into()]), Targets::Labels(rows([0.0; 4])), "2 targets of a record");
        refused(Task::Labels(names()), Targets::None(2), "kind");
    }

    #[test]
    fn a_public_pool_has_the_targets_of_the_task_or_none() {
        let names = vec!["a".to_string(), "b".to_string()];
        let dataset = dataset(Task::Classes(names), Targets::Classes(vec![0, 1])).unwrap();
        assert!(dataset.public().is_none());
        let pool = |values: &[f32], targets| Split { records: Records::Floats(values.to_vec()), targets };
        let unlabelled = dataset.clone().with_public(pool(&[0.5, 2.0, 3.0], Targets::None(3))).unwrap();
        let mut input = [0.0];
        unlabelled.public().unwrap().read(1, &mut input);
        assert_eq!((input, unlabelled.public().unwrap().target(1)), ([2.0], Target::None));
        let splits = || (dataset.train().split().clone(), dataset.test().split().clone());
        let (train, test) = splits();
        assert!(unlabelled.with_splits(train, test).unwrap().public().is_some());
        let labelled = dataset.clone().with_public(pool(&[0.5], Targets::Classes(vec![1]))).unwrap();
        assert_eq!(labelled.public().unwrap().label(0), 1);
        let message = dataset.with_public(pool(&[0.5], Targets::Classes(vec![2]))).unwrap_err().to_string();
        assert!(message.contains("record 0 of the public split"), "{message}");
    }

    #[test]
    fn the_first_test_records_may_become_public() {
        let names = vec!["a".to_string(), "b".to_string()];
        let dataset = dataset(Task::Classes(names), Targets::Classes(vec![0, 1])).unwrap();
        let divided = dataset.clone().with_public_from_test(1).unwrap();
        assert_eq!(divided.public().unwrap().split(), &dataset.test().split().select(&[0]));
        assert_eq!(divided.test().split(), &dataset.test().split().select(&[1]));
        assert_eq!(divided.train().split(), dataset.train().split());
        for count in [0, 2] {
            let message = dataset.clone().with_public_from_test(count).unwrap_err().to_string();
            assert!(message.contains("choose 1 to 1"), "{message}");
        }
    }
}
