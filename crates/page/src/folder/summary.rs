//! What a list shows of a run.

use super::run::Run;
use super::state::State;
use muffle::methods::Mode;
use muffle::train::Evaluation;

/// A run in a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Where it is, seen from the folder of all runs.
    pub name: String,
    /// How far it is.
    pub state: State,
    /// Why it is refused.
    pub reason: Option<String>,
    /// Its data.
    pub data: String,
    /// Its method.
    pub method: String,
    /// Whether it is a form as its paper prints it, of which nothing is proved.
    pub as_published: bool,
    /// Whether records are protected at all.
    pub private: bool,
    /// The epsilon that it must not exceed.
    pub budget: Option<f64>,
    /// What was spent, and whether that holds only if a seed is secret.
    pub spent: Option<(f64, bool)>,
    /// What was measured last on test records, in words.
    pub figure: String,
    /// Steps taken.
    pub step: u64,
    /// Steps in all.
    pub steps: Option<u64>,
    /// When something last changed, in seconds since 1970.
    pub changed: u64,
}

impl Summary {
    pub(super) fn of(run: &Run) -> Summary {
        let (recipe, certificate) = (run.recipe.as_ref(), run.certificate.as_ref());
        let word = |key: &str| {
            let value = recipe.and_then(|recipe| recipe.training.get(key)?.as_str());
            value.unwrap_or_default().to_string()
        };
        let mode = certificate.map(|certificate| certificate.mode.name().to_string());
        let test = run.metrics.last().map(|metric| Evaluation::of(&metric.measured));
        Summary {
            name: run.name.clone(),
            state: run.state,
            reason: run.reason.clone(),
            data: recipe.map_or(String::new(), |recipe| recipe.run.data.clone()),
            method: certificate.map_or_else(|| word("method"), |certificate| certificate.method.clone()),
            as_published: mode.unwrap_or_else(|| word("mode")) == Mode::AsPublished.name(),
            private: recipe.is_none_or(|recipe| recipe.run.private),
            budget: recipe.and_then(|recipe| recipe.run.epsilon),
            spent: run.spent(),
            figure: test.map_or(String::new(), |test| test.in_words()),
            step: run.step(),
            steps: run.steps(),
            changed: run.changed,
        }
    }

    /// A run that an experiment has in mind, or that failed before it had a folder.
    pub(super) fn without_folder(name: String, refused: Option<String>) -> Summary {
        Summary {
            name,
            state: if refused.is_some() { State::Refused } else { State::Planned },
            reason: refused,
            data: String::new(),
            method: String::new(),
            as_published: false,
            private: true,
            budget: None,
            spent: None,
            figure: String::new(),
            step: 0,
            steps: None,
            changed: 0,
        }
    }
}
