//! Groups beside one of them, seed by seed.

use super::groups::Group;
use super::results::Results;
use crate::statistics::{Paired, StatisticsError, paired};
use std::fmt::Write;

/// A group beside the one that it is compared with.
pub struct Difference {
    /// The place of the group in the experiment.
    pub group: usize,
    /// The test over the seeds that both have.
    pub test: Result<Paired, StatisticsError>,
}

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

impl Results<'_> {
    /// Every other group less the one whose first factor has this level: the one that has most other levels in common with it.
    ///
    /// Runs of a seed share what is drawn of it, so that differences vary less than the runs do.
    pub fn against(&self, level: &str) -> Vec<Difference> {
        let groups = &self.experiment.groups;
        let in_common =
            |one: &Group, other: &Group| one.levels.iter().zip(&other.levels).filter(|(a, b)| a == b).count();
        let others = groups.iter().enumerate().filter(|(_, group)| group.levels[0] != level);
        others
            .filter_map(|(place, group)| {
                let like = groups.iter().enumerate().filter(|(_, other)| other.levels[0] == level);
                // At another epsilon, the last factor, there is nothing to compare.
                let like = like.filter(|(_, other)| other.levels.last() == group.levels.last());
                let (baseline, _) = like.max_by_key(|(_, other)| in_common(group, other))?;
                let (first, second): (Vec<f64>, Vec<f64>) = self.pairs(baseline, place).into_iter().unzip();
                Some(Difference { group: place, test: paired(&first, &second) })
            })
            .collect()
    }

    /// The figures of two groups with every seed that both have finished.
    fn pairs(&self, one: usize, other: usize) -> Vec<(f64, f64)> {
        let figures = |group: usize| {
            let cells =
                self.experiment.cells.iter().zip(self.outcomes).filter(move |(cell, _)| cell.group == group);
            cells.filter_map(|(cell, outcome)| Some((cell.number, self.measure.of(&outcome.as_ref()?.test)?)))
        };
        let partner =
            |number: u64| figures(other).find(|(seed, _)| *seed == number).map(|(_, figure)| figure);
        figures(one).filter_map(|(number, figure)| Some((figure, partner(number)?))).collect()
    }

    /// A table of [differences](Results::against), in Markdown.
    pub fn differences(&self, level: &str) -> String {
        let factors = &self.experiment.factors;
        let mut text = format!(
            "| {} | pairs | {} less that of {level} | 95 % interval | p |\n",
            factors.join(" | "),
            self.measure.heading()
        );
        text += &format!("|{}---|---|---|---|\n", "---|".repeat(factors.len()));
        for Difference { group, test } in self.against(level) {
            let levels = self.experiment.groups[group].levels.join(" | ");
            let _ = match test {
                Ok(Paired { difference, p, .. }) => {
                    let shown = |figure: f64| self.measure.shown(figure);
                    let interval = difference.interval(CONFIDENCE).map_or("-".into(), |interval| {
                        format!("{} to {}", shown(interval.low), shown(interval.high))
                    });
                    writeln!(
                        text,
                        "| {levels} | {} | {} | {interval} | {p:.4} |",
                        difference.count,
                        shown(difference.mean)
                    )
                }
                Err(reason) => writeln!(text, "| {levels} | - | - | - | none: {reason} |"),
            };
        }
        text
    }
}
