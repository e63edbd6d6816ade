//! What a recipe of a committee of teachers says.

use super::queries::Asking;
use super::sanitised::SanitisedEpsilon;
use super::student::SelfTraining;
use super::votes::Votes;
use crate::learner::Learner;
use crate::methods::Mode;
use muffle_accounting::Event;
use serde::{Deserialize, Serialize};

/// A recipe of teachers, votes and a student, beside what every run has.
///
/// Of `epsilon`, the noise on the votes and `queries` any two are enough, and the third follows. With all of them epsilon is a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PateRecipe {
    /// The published method.
    #[serde(default = "method")]
    pub method: String,
    /// Its sound form, or the published practice: an epsilon computed from the votes, which is then published as it is.
    #[serde(default)]
    pub mode: Mode,
    /// Teachers among whom the records are split.
    pub teachers: usize,
    /// Records of the public pool that the teachers are asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    /// How votes are answered.
    pub votes: Votes,
    /// So many of the first test records are declared to be the public pool; the others stay for testing. Without it, the data
    /// have a public pool of their own (`public` in their description).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_from_test: Option<usize>,
    /// Which records of the pool are asked about.
    #[serde(default)]
    pub asking: Asking,
    /// How a teacher learns.
    pub teacher: Learner,
    /// How the student learns.
    pub student: Learner,
    /// How the student learns from records without an answer; it does not if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_training: Option<SelfTraining>,
    /// Releases an epsilon that follows the votes, and pays for it; it stays internal if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitised: Option<SanitisedEpsilon>,
}

/// The name of the method.
pub(super) const METHOD: &str = "pate";

fn method() -> String {
    METHOD.to_string()
}

impl PateRecipe {
    /// A committee of so many teachers, with everything else as usual.
    pub fn new(teachers: usize, votes: Votes, teacher: Learner, student: Learner) -> PateRecipe {
        PateRecipe {
            method: method(),
            mode: Mode::default(),
            teachers,
            queries: None,
            votes,
            public_from_test: None,
            asking: Asking::default(),
            teacher,
            student,
            self_training: None,
            sanitised: None,
        }
    }

    /// What so many queries cost, and what is released behind them.
    pub(super) fn cost(&self, queries: u64) -> Event {
        let behind = self.sanitised.map(|sanitised| sanitised.event());
        Event::compose([self.votes.cost(queries)].into_iter().chain(behind))
    }

    /// Checks the range of every number by itself.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.method != METHOD {
            return Err(format!(
                "method = \"{}\" is no method of this kind of training; leave it out",
                self.method
            ));
        }
        if self.teachers < 2 {
            return Err(format!("teachers = {} is outside 2 and above", self.teachers));
        }
        if self.queries == Some(0) {
            return Err("queries = 0 is outside 1 and above".to_string());
        }
        self.votes.check(self.teachers)?;
        self.sanitised.map_or(Ok(()), |sanitised| sanitised.check(&self.votes))?;
        if self.sanitised.is_some() && self.mode == Mode::AsPublished {
            return Err(
                "sanitised is what the published practice does without; leave out one of sanitised and mode"
                    .to_string(),
            );
        }
        self.teacher.check().map_err(|reason| format!("teacher.{reason}"))?;
        self.student.check().map_err(|reason| format!("student.{reason}"))?;
        self.self_training.as_ref().map_or(Ok(()), |rule| rule.check(self.student.batch_size))
    }
}
