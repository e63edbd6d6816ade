//! What is known of each record of a split.

use super::task::Task;
use muffle_nn::examples::Target;

/// The targets of all records, in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// The class of each record.
    Classes(Vec<u32>),
    /// For each record, 1 for every label it has and 0 for the others.
    Labels(Table),
    /// For each record its numbers, scaled by their ranges to 0 to 1.
    Values(Table),
    /// Nothing is known of so many records.
    None(usize),
}

/// As many numbers for each record as a task has outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    width: usize,
    values: Vec<f32>,
}

impl Table {
    /// Values record after record.
    ///
    /// # Panics
    /// If they do not divide into rows of this width.
    pub fn new(width: usize, values: Vec<f32>) -> Table {
        assert!(
            width > 0 && values.len().is_multiple_of(width),
            "{} values in rows of {width}",
            values.len()
        );
        Table { width, values }
    }

    /// The values of one record.
    pub fn row(&self, record: usize) -> &[f32] {
        &self.values[record * self.width..][..self.width]
    }

    fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn select(&self, positions: &[usize]) -> Table {
        let values = positions.iter().flat_map(|&record| self.row(record)).copied().collect();
        Table { width: self.width, values }
    }

    fn followed_by(self, others: Table) -> Table {
        assert_eq!(self.width, others.width, "values of a record");
        Table { width: self.width, values: [self.values, others.values].concat() }
    }
}

impl Targets {
    /// Number of records.
    pub fn len(&self) -> usize {
        match self {
            Targets::Classes(labels) => labels.len(),
            Targets::Labels(table) | Targets::Values(table) => table.len(),
            Targets::None(records) => *records,
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The target of one record.
    pub fn target(&self, record: usize) -> Target<'_> {
        match self {
            Targets::Classes(labels) => Target::Class(labels[record]),
            Targets::Labels(table) | Targets::Values(table) => Target::Values(table.row(record)),
            Targets::None(_) => Target::None,
        }
    }

    /// The targets of the records at these positions, in this order.
    pub(crate) fn select(&self, positions: &[usize]) -> Targets {
        match self {
            Targets::Classes(labels) => {
                Targets::Classes(positions.iter().map(|&record| labels[record]).collect())
            }
            Targets::Labels(table) => Targets::Labels(table.select(positions)),
            Targets::Values(table) => Targets::Values(table.select(positions)),
            Targets::None(_) => Targets::None(positions.len()),
        }
    }

    /// These targets and then others of the same kind.
    ///
    /// # Panics
    /// If the others are of another kind.
    pub(crate) fn followed_by(self, others: Targets) -> Targets {
        match (self, others) {
            (Targets::Classes(first), Targets::Classes(second)) => Targets::Classes([first, second].concat()),
            (Targets::Labels(first), Targets::Labels(second)) => Targets::Labels(first.followed_by(second)),
            (Targets::Values(first), Targets::Values(second)) => Targets::Values(first.followed_by(second)),
            (Targets::None(first), Targets::None(second)) => Targets::None(first + second),
            (first, second) => panic!("targets of two kinds: {first:?} and {second:?}"),
        }
    }

    /// Whether they are what a task asks for; if not, what is wrong with which record.
    pub(crate) fn fit(&self, task: &Task, which: &str) -> Result<(), String> {
        let (table, wrong): (&Table, fn(f32) -> bool) = match (self, task) {
            (Targets::None(_), Task::None) => return Ok(()),
            (Targets::Classes(labels), Task::Classes(names)) => {
                let outside = labels.iter().position(|&label| label as usize >= names.len());
                return outside.map_or(Ok(()), |record| {
                    Err(format!(
                        "record {record} of the {which} split has label {}, but there are {} classes (0 to {}); \
                         correct the label or declare more classes",
                        labels[record],
                        names.len(),
                        names.len() - 1
                    ))
                });
            }
            (Targets::Labels(table), Task::Labels(_)) => (table, |value| value != 0.0 && value != 1.0),
            (Targets::Values(table), Task::Values(_)) => (table, |value| !(0.0..=1.0).contains(&value)),
            _ => {
                return Err(format!(
                    "the targets of the {which} split are not of the kind that the task declares"
                ));
            }
        };
        if table.width != task.outputs() {
            return Err(format!(
                "{} targets of a record of the {which} split, {} declared",
                table.width,
                task.outputs()
            ));
        }
        match table.values.iter().position(|value| wrong(*value)) {
            Some(place) => Err(format!(
                "record {} of the {which} split has target {}; labels are 0 or 1, values are scaled to 0 to 1",
                place / table.width,
                table.values[place]
            )),
            None => Ok(()),
        }
    }
}
