//! How the next candidate follows from those before.

use super::controller::Controller;
use super::genotype::Cell;
use crate::error::Result;
use crate::noise::Uniform;

/// How a search goes on from what it has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Every candidate differs from the best so far in one edge of its cell.
    #[default]
    Walk,
    /// A recurrent network draws cells and learns from their rewards which to draw.
    Controller,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 2] = [Strategy::Walk, Strategy::Controller];

    /// As on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Walk => "walk",
            Strategy::Controller => "controller",
        }
    }

    /// The strategy of this name.
    pub fn find(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// Before anything was seen.
    pub(super) fn guide(self) -> Result<Box<dyn Guide>> {
        Ok(match self {
            Strategy::Walk => Box::new(Walk { best: None }),
            Strategy::Controller => Box::new(Controller::new()?),
        })
    }
}

/// Proposes candidates.
///
/// # Guarantee
/// What is proposed depends on the records through rewards that were released only, and follows from them and from the draws: whoever
/// shows a new guide the same rewards goes on where the old one was.
pub(super) trait Guide {
    /// The next cell to try.
    fn propose(&mut self, uniform: &mut Uniform) -> Result<Cell>;

    /// Takes over what a cell was worth.
    fn learn(&mut self, cell: &Cell, reward: f64) -> Result<()>;
}

/// A walk of single changes.
struct Walk {
    best: Option<(Cell, f64)>,
}

impl Guide for Walk {
    fn propose(&mut self, uniform: &mut Uniform) -> Result<Cell> {
        Ok(match &self.best {
            Some((cell, _)) => cell.neighbour(uniform),
            None => Cell::random(uniform),
        })
    }

    fn learn(&mut self, cell: &Cell, reward: f64) -> Result<()> {
        if self.best.as_ref().is_none_or(|(_, highest)| reward > *highest) {
            self.best = Some((cell.clone(), reward));
        }
        Ok(())
    }
}
