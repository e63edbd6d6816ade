//! What a record's own report gives away.

use super::game::Game;
use crate::error::Result;
use crate::ledger::{Access, Ledger};
use crate::mechanism::{Mechanism, Reporting};
use crate::noise::Key;
use crate::objective::{Plan, REPORTS};
use muffle_nn::{Batch, Examples, Target};
use std::ops::Range;

/// A record whose one input is at one end of its range, with the first class, or at the other end, with the last: the attacker sees how
/// much likelier the report is for one than for the other. With more inputs a record of the same price shows less.
pub(super) struct ReportGame {
    range: [f64; 2],
    classes: u32,
    noise_multiplier: f64,
    label_epsilon: f64,
}

impl ReportGame {
    /// Of a plan whose records report themselves.
    pub fn of(plan: &Plan) -> Option<ReportGame> {
        let (reports, noise_multiplier) = (plan.learned.reports?, plan.noise_multiplier);
        let label_epsilon = plan.label_epsilon(noise_multiplier);
        let classes = plan.classes as u32;
        Some(ReportGame { range: reports.range, classes, noise_multiplier, label_epsilon })
    }
}

impl Game for ReportGame {
    fn name(&self) -> &str {
        "a record at the other end of the range with another label, by its report"
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let [low, high] = self.range;
        let (end, class) = if present { (high, self.classes - 1) } else { (low, 0) };
        let record = Batch::new(vec![end as f32], vec![class]);
        let ReportGame { classes, noise_multiplier, label_epsilon, .. } = *self;
        let reporting = Reporting { range: self.range, shares: &[1.0], classes, label_epsilon };
        let event = Reporting::event(noise_multiplier, classes, label_epsilon);
        let receipt = Ledger::in_memory().pay_one(Access::all(REPORTS, 0, event))?;
        let mechanism = Mechanism::new(Key::from_seed(seed), 1.0);
        let reported = mechanism.reported(&record, noise_multiplier, &reporting, receipt);
        let mut input = [0.0];
        reported.read(0, &mut input);
        let input = f64::from(input[0]);
        let scale = noise_multiplier * 0.5 * (high - low);
        let ratio = ((input - low).abs() - (input - high).abs()) / scale;
        let label = match reported.target(0) {
            Target::Class(class) if class + 1 == classes => label_epsilon,
            Target::Class(0) => -label_epsilon,
            _ => 0.0,
        };
        Ok(vec![(ratio + label) as f32])
    }

    fn parts(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}
