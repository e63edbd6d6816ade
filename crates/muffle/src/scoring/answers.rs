//! From outputs of a network to a table of answers.

use crate::data::own::stream::Ids;
use crate::data::written::{Cells, Format, Heading, Kind, Layout, Part};
use crate::data::{Quantity, Task};
use crate::error::{Error, Result};
use crate::train::evaluation::predicted;

/// How outputs are answered: a class with the probabilities of all, labels with theirs, or numbers in their own units.
pub struct Answers {
    task: Task,
    threshold: Option<f64>,
    /// The table they go to.
    pub layout: Layout,
}

impl Answers {
    /// Of a task, in a table whose first column is what rows are called by. A threshold is the probability from which on a record
    /// is of the second of two classes, or has a label.
    pub fn new(
        task: &Task,
        id: &str,
        named: bool,
        threshold: Option<f64>,
        format: Format,
    ) -> Result<Answers> {
        check(task, threshold).map_err(Error::Plan)?;
        let heading = |name: String, kind| Heading { name, kind };
        let shares = |names: &[String]| -> Vec<Heading> {
            names.iter().map(|name| heading(format!("probability_{name}"), Kind::Shares)).collect()
        };
        let mut headings = vec![heading(id.to_string(), if named { Kind::Texts } else { Kind::Numbers })];
        match task {
            Task::Classes(names) => {
                headings.push(heading("class".to_string(), Kind::Names(names.as_slice().into())));
                headings.extend(shares(names));
            }
            Task::Labels(names) => {
                headings.extend(names.iter().map(|name| heading(name.clone(), Kind::Flags)));
                headings.extend(shares(names));
            }
            Task::Values(quantities) => {
                headings.extend(quantities.iter().map(|value| heading(value.name.clone(), Kind::Values)));
            }
            Task::None => {}
        }
        if threshold.is_some() {
            headings.push(heading("threshold".to_string(), Kind::Values));
        }
        Ok(Answers { task: task.clone(), threshold, layout: Layout { format, headings } })
    }

    /// The rows of some records with these outputs, made ready to be written.
    pub fn part(&self, ids: Ids, outputs: &[f32]) -> Part {
        let count = ids.len();
        let mut columns = vec![Cells::from(ids)];
        match &self.task {
            Task::Classes(names) => self.classes(names.len(), outputs, &mut columns),
            Task::Labels(names) => self.labels(names.len(), outputs, &mut columns),
            Task::Values(quantities) => values(quantities, outputs, &mut columns),
            Task::None => {}
        }
        columns.extend(self.threshold.map(|threshold| Cells::Values(vec![threshold; count])));
        self.layout.part(columns)
    }

    fn classes(&self, count: usize, outputs: &[f32], columns: &mut Vec<Cells>) {
        let rows = outputs.len() / count;
        let mut classes = Vec::with_capacity(rows);
        let mut shares = vec![Vec::with_capacity(rows); count];
        let mut probabilities = vec![0.0; count];
        for outputs in outputs.chunks_exact(count) {
            softmax(outputs, &mut probabilities);
            classes.push(match self.threshold {
                Some(threshold) => u32::from(probabilities[1] >= threshold),
                None => predicted(outputs) as u32,
            });
            for (share, probability) in shares.iter_mut().zip(&probabilities) {
                share.push(*probability as f32);
            }
        }
        columns.push(Cells::Names(classes));
        columns.extend(shares.into_iter().map(Cells::Shares));
    }

    fn labels(&self, count: usize, outputs: &[f32], columns: &mut Vec<Cells>) {
        let threshold = self.threshold.unwrap_or(0.5);
        let share = |label: usize| -> Vec<f64> {
            let logits = outputs.iter().skip(label).step_by(count);
            logits.map(|logit| 1.0 / (1.0 + (-f64::from(*logit)).exp())).collect()
        };
        let shares: Vec<Vec<f64>> = (0..count).map(share).collect();
        let flags = |share: &Vec<f64>| Cells::Flags(share.iter().map(|share| *share >= threshold).collect());
        columns.extend(shares.iter().map(flags));
        let single = |share: &Vec<f64>| Cells::Shares(share.iter().map(|share| *share as f32).collect());
        columns.extend(shares.iter().map(single));
    }
}

fn values(quantities: &[Quantity], outputs: &[f32], columns: &mut Vec<Cells>) {
    for (index, quantity) in quantities.iter().enumerate() {
        let outputs = outputs.iter().skip(index).step_by(quantities.len());
        columns.push(Cells::Values(outputs.map(|output| quantity.in_units(*output)).collect()));
    }
}

fn check(task: &Task, threshold: Option<f64>) -> std::result::Result<(), String> {
    let Some(threshold) = threshold else { return Ok(()) };
    if !(0.0..=1.0).contains(&threshold) {
        return Err(format!("a threshold of {threshold} is outside [0, 1]"));
    }
    match task {
        Task::Labels(_) => Ok(()),
        Task::Classes(names) if names.len() == 2 => Ok(()),
        Task::Classes(names) => Err(format!(
            "a threshold decides between two classes, and there are {}: the most probable is taken",
            names.len()
        )),
        Task::Values(_) | Task::None => {
            Err("a threshold decides between two classes, and there are none".to_string())
        }
    }
}

fn softmax(outputs: &[f32], probabilities: &mut [f64]) {
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for (probability, output) in probabilities.iter_mut().zip(outputs) {
        *probability = f64::from(output - largest).exp();
    }
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|probability| *probability /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn text(task: &Task, threshold: Option<f64>, outputs: &[f32]) -> String {
        let answers = Answers::new(task, "record", false, threshold, Format::Csv).unwrap();
        let ids = Ids::Numbers((0..(outputs.len() / task.outputs()) as u64).collect());
        match answers.part(ids, outputs) {
            Part::Text(text) => String::from_utf8(text).unwrap(),
            Part::Cells(_) => panic!("text"),
        }
    }

    /// The logarithm of 3 gives odds of 3 to 1.
    #[test]
    fn answers_are_those_of_the_task() {
        let odds = 3f32.ln();
        let classes = Task::Classes(names(&["no", "yes"]));
        assert_eq!(
            text(&classes, None, &[odds, 0.0, 0.0, 0.0]),
            "0,no,0.750000,0.250000\n1,no,0.500000,0.500000\n"
        );
        assert_eq!(text(&classes, Some(0.2), &[odds, 0.0]), "0,yes,0.750000,0.250000,0.200000\n");
        let labels = Task::Labels(names(&["ill", "old"]));
        assert_eq!(text(&labels, None, &[odds, -odds]), "0,1,0,0.750000,0.250000\n");
        assert_eq!(text(&labels, Some(0.9), &[odds, -odds]), "0,0,0,0.750000,0.250000,0.900000\n");
        let values = Task::Values(vec![Quantity { name: "price".into(), range: [100.0, 500.0] }]);
        assert_eq!(text(&values, None, &[0.25, 1.5]), "0,200.000000\n1,700.000000\n");
    }

    #[test]
    fn a_threshold_needs_two_sides() {
        let refused = |task: &Task, threshold| {
            Answers::new(task, "record", false, Some(threshold), Format::Csv).err().unwrap().to_string()
        };
        let three = Task::Classes(names(&["a", "b", "c"]));
        assert!(refused(&three, 0.5).contains("there are 3"));
        assert!(refused(&Task::Classes(names(&["a", "b"])), 1.5).contains("outside [0, 1]"));
    }
}
