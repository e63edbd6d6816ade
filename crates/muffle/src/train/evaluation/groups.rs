//! The same measures for each group of records: whether a model is as good for all of them.

use super::answers::Answers;
use super::question::{Counts, Question};
use super::share::Share;
use super::values::Values;
use crate::data::View;
use crate::error::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// Groups below this size are marked: an interval for a share of so few is up to 20 points wide.
const SMALL: u64 = 100;

/// Records by their value of a column.
pub struct Grouping {
    column: String,
    names: Vec<String>,
    /// Positions in the view, for each group.
    members: Vec<Vec<usize>>,
}

impl Grouping {
    /// The records of a view by a column with categories.
    pub fn by(view: &View, column: &str) -> Result<Grouping> {
        let dataset = view.dataset();
        let inputs = dataset.category_inputs(column).map_err(Error::Plan)?;
        let mut names = dataset.category_names(column);
        names.resize(inputs.len(), "other".to_string());
        let mut members = vec![Vec::new(); names.len()];
        view.categories(&inputs)
            .into_iter()
            .enumerate()
            .for_each(|(record, group)| members[group].push(record));
        Ok(Grouping { column: column.to_string(), names, members })
    }

    /// The records of a view by a column of numbers, cut at some of its values, which go up.
    pub fn by_ranges(view: &View, column: &str, edges: &[f64]) -> Result<Grouping> {
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
            return Err(Error::Plan("no value to cut the column at".to_string()));
        };
        if !edges.is_sorted_by(|one, next| one < next) {
            return Err(Error::Plan("the values to cut the column at have to go up".to_string()));
        }
        let input = view.dataset().number_input(column, edges).map_err(Error::Plan)?;
        let mut names = vec![format!("below {first}")];
        names.extend(edges.windows(2).map(|pair| format!("{} to {}", pair[0], pair[1])));
        names.push(format!("{last} and above"));
        if input.missing.is_some() {
            names.push("empty".to_string());
        }
        let mut members = vec![Vec::new(); names.len()];
        for (record, interval) in view.intervals(&input).into_iter().enumerate() {
            members[interval.unwrap_or(names.len() - 1)].push(record);
        }
        Ok(Grouping { column: column.to_string(), names, members })
    }

    fn report(&self, describe: impl Fn(&[usize]) -> GroupReport) -> GroupedBy {
        let groups = self.names.iter().zip(&self.members);
        let groups = groups.map(|(name, members)| GroupReport {
            name: name.clone(),
            records: members.len() as u64,
            small: (members.len() as u64) < SMALL,
            ..describe(members)
        });
        GroupedBy { column: self.column.clone(), groups: groups.collect() }
    }

    pub(super) fn of_answers(&self, answers: &Answers) -> GroupedBy {
        self.report(|members| {
            let of = |question: &Question| question.counts(members.iter().copied());
            let counts: Vec<Counts> = answers.questions.iter().map(of).collect();
            let (right, all) = answers.right(&counts);
            let rates =
                answers.asked().iter().map(|question| (question.name.clone(), Rates::of(&of(question))));
            GroupReport { accuracy: Share::new(right, all), rates: rates.collect(), ..GroupReport::default() }
        })
    }

    pub(super) fn of_values(&self, values: &Values) -> GroupedBy {
        self.report(|members| GroupReport {
            mean_absolute_error: values.mean_absolute_error(members),
            ..GroupReport::default()
        })
    }
}

/// Measures of all groups of a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupedBy {
    /// The column.
    pub column: String,
    /// Its groups, in the order of the declared categories, or of the numbers.
    pub groups: Vec<GroupReport>,
}

/// Measures of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupReport {
    /// The category, or the range of numbers.
    pub name: String,
    /// How many records it has.
    pub records: u64,
    /// Whether these are too few to say much.
    pub small: bool,
    /// Share of records whose class is right, or of labels on the right side; `null` for numbers.
    pub accuracy: Option<Share>,
    /// By class or label; with two classes only of the second.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rates>,
    /// Of each number, in its own units.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mean_absolute_error: BTreeMap<String, f64>,
}

/// How a class or label falls on a group. `null` where no record counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Share of records of which it is said. Where groups are to be treated alike whatever is true of them, these are alike
    /// (demographic parity).
    pub positive: Option<Share>,
    /// Share of the true ones that are found (equal opportunity).
    pub true_positive: Option<Share>,
    /// Share of the others of which it is said all the same (equalised odds, with the one above).
    pub false_positive: Option<Share>,
}

impl Rates {
    fn of(counts: &Counts) -> Rates {
        Rates {
            positive: counts.positive_rate(),
            true_positive: counts.recall(),
            false_positive: counts.false_positive_rate(),
        }
    }
}

impl GroupedBy {
    /// The largest difference between two groups that are not small, in the share that `rate` picks for a class or label.
    pub fn largest_gap(&self, class: &str, rate: fn(&Rates) -> Option<Share>) -> Option<f64> {
        let large = self.groups.iter().filter(|group| !group.small);
        let shares: Vec<f64> =
            large.filter_map(|group| rate(group.rates.get(class)?)).map(|share| share.share).collect();
        let most = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (shares.len() > 1).then_some(most - least)
    }
}
