//! A few private steps on either of two neighbours.

use super::game::Game;
use super::neighbours::Neighbours;
use super::subject::Subject;
use crate::State;
use crate::error::Result;
use crate::methods::Method;
use crate::noise::Key;
use muffle_nn::{Batch, Engine};
use std::ops::Range;

/// Plays steps of the real method; the parameters stay where they are.
pub struct StepsGame<'a> {
    subject: &'a Subject<'a>,
    neighbours: Neighbours,
    engine: Engine,
    /// Where the network is.
    parameters: Vec<f32>,
    /// What the method knows after its history.
    state: State,
}

/// The key of the history, which every play shares.
const HISTORY: u64 = 0;

impl<'a> StepsGame<'a> {
    /// Runs the history.
    pub fn new(subject: &'a Subject<'a>, neighbours: Neighbours) -> Result<StepsGame<'a>> {
        let mut method = (subject.method)()?;
        // Plays are short: starting threads for them would take longer than they do.
        let engine = subject.engine(&*method, Some(1))?;
        let mut parameters = subject.parameters.clone();
        if neighbours.blank {
            parameters[subject.network.parameters()[0].range.clone()].fill(0.0);
        }
        let mut game = StepsGame { subject, neighbours, engine, parameters, state: State::new() };
        for step in 0..game.neighbours.history {
            game.release(&mut *method, &Key::from_seed(HISTORY), step, false)?;
        }
        game.state = method.state();
        Ok(game)
    }

    fn release(&mut self, method: &mut dyn Method, key: &Key, step: u64, present: bool) -> Result<Vec<f32>> {
        let place = step.saturating_sub(self.neighbours.history) as usize;
        let (with, without): &(Batch, Batch) = &self.neighbours.steps[place];
        let examples = if present { with } else { without };
        self.subject.release(method, &mut self.engine, &self.parameters, key, step, examples)
    }
}

impl Game for StepsGame<'_> {
    fn name(&self) -> &str {
        self.neighbours.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let mut method = (self.subject.method)()?;
        method.restore(&self.state)?;
        let (first, key) = (self.neighbours.history, Key::from_seed(seed));
        let mut releases = (first..first + self.neighbours.steps.len() as u64)
            .map(|step| self.release(&mut *method, &key, step, present))
            .collect::<Result<Vec<_>>>()?;
        let mut seen = releases.pop().unwrap_or_default();
        if self.neighbours.difference {
            for (value, first) in seen.iter_mut().zip(&releases[0]) {
                *value = first - *value;
            }
        }
        Ok(seen)
    }

    fn parts(&self) -> Vec<Range<usize>> {
        self.subject.network.parameters().iter().map(|tensor| tensor.range.clone()).collect()
    }
}
