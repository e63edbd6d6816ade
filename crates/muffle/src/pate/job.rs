//! A committee of teachers, as a job for a run and as a row of the table of kinds.

use super::plan::PatePlan;
use super::trainer::PateTrainer;
use super::votes::Votes;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::{About, Mode, Verdict};
use crate::run::{Job, Kind, Parts, Pilot, Terms, Trainer};
use muffle_accounting::Event;
use serde_json::{Map, Value, json};

/// Training by a committee of teachers.
pub static KIND: Kind = Kind {
    name: "pate",
    about: "a committee of teachers, a noisy vote, and a student that may be published",
    methods: || METHODS.to_vec(),
    usual: None,
    plan: |parts, dataset| Ok(Box::new(PatePlan::new(parts, dataset)?)),
};

/// The published methods of this kind.
pub static METHODS: &[&About] = &[&ABOUT];

static ABOUT: About = About {
    name: super::recipe::METHOD,
    paper: "Papernot et al. 2017, Semi-supervised knowledge transfer for deep learning from private training data; \
            Papernot et al. 2018, Scalable private learning with PATE",
    year: 2017,
    idea: "teachers on parts of the records vote on public ones, and a student learns from the noisy winners",
    verdict: Verdict::Conditional,
    modes: &[Mode::Sound, Mode::AsPublished],
    composes: "a split by a hash of each record, plain training, Laplace or Gaussian noise on votes, a semi-supervised student",
    steps: "a query asks all teachers for the class of a public record and releases the winner after noise on the counts",
    guarantee: "one record changes one teacher, which moves two counts by one vote: every query is paid for at that price, \
                whatever the votes, also where a test leaves it without an answer",
    breaks: "the published epsilon is computed from the votes themselves: a function of private data that is printed without noise. \
             Here that figure is internal, and the one that is proved holds whatever the votes",
    parameters: &[],
    settings: &[],
    settings_as_published: &[],
};

impl PatePlan {
    /// The recipe without what would make its noise known to a reader.
    pub(super) fn without_seed(&self) -> String {
        let run = crate::run::RunRecipe { seed: None, ..self.run.clone() };
        Parts::to_toml(&run, &self.recipe)
    }
}

impl Job for PatePlan {
    fn terms(&self) -> Terms {
        PatePlan::terms(self)
    }

    fn recipe(&self) -> String {
        Parts::to_toml(&self.run, &self.recipe)
    }

    fn cost(&self) -> Result<Event> {
        Ok(PatePlan::cost(self))
    }

    fn outline(&self) -> Vec<(&'static str, String)> {
        let recipe = &self.recipe;
        let noise = recipe.votes.noise().unwrap_or_default();
        let (teacher, student) = (self.teacher.parameter_len(), self.student.1.parameter_len());
        let mut outline = vec![
            (
                "teachers",
                format!("{} of {teacher} parameters, {} steps each", recipe.teachers, recipe.teacher.steps),
            ),
            ("queries", format!("{} of {} public records", self.queries, self.pool)),
            ("answers afforded", self.affordable.map_or("no limit".to_string(), |count| count.to_string())),
            (
                "noise on votes",
                match recipe.votes {
                    Votes::Laplace { .. } => format!("Laplace, scale {noise:.2} votes"),
                    _ => format!("Gaussian, deviation {noise:.2} votes"),
                },
            ),
        ];
        if let (Some(threshold), Some(check)) = (recipe.votes.threshold(), recipe.votes.check_deviation()) {
            outline.push(("threshold", format!("{threshold} votes, tested with deviation {check:.2}")));
        }
        if let Some(most) = self.claimed {
            outline.push(("claim", format!("what the votes make of it, at most {most:.4}")));
        }
        outline.push(("student", format!("{student} parameters, {} steps", recipe.student.steps)));
        outline
    }

    fn figures(&self) -> Map<String, Value> {
        let figures = [
            ("teachers", json!(self.recipe.teachers)),
            ("queries", json!(self.queries)),
            ("affordable_answers", json!(self.affordable)),
            ("votes", json!(self.recipe.votes)),
            ("threshold", json!(self.recipe.votes.threshold())),
            ("noise", json!(self.recipe.votes.noise())),
            ("public_pool", json!(self.pool)),
            ("parameters", json!(self.student.1.parameter_len())),
            ("steps", json!(PatePlan::terms(self).steps)),
        ];
        figures.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }

    fn breaks(&self) -> Option<&'static str> {
        self.claimed.map(|_| ABOUT.breaks)
    }

    fn pilot(&self, public: &Dataset) -> Result<Option<Pilot>> {
        Ok(Some(self.expected(public)?.pilot(self)))
    }

    fn with_seed(&self, seed: Option<u64>) -> Box<dyn Job> {
        let mut plan = self.clone();
        plan.run.seed = seed;
        Box::new(plan)
    }

    fn trainer(&self, dataset: &Dataset) -> Result<Box<dyn Trainer>> {
        Ok(Box::new(PateTrainer::new(self, dataset, self.run.key()?)?))
    }
}
