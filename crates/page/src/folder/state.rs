//! How far a run is.

use muffle::run::{Certificate, Status, is_at_work};
use std::path::Path;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// A process trains in its folder.
    Running,
    /// It is to be run, and nothing was spent yet.
    Planned,
    /// It ended before its last step, and can be continued.
    Interrupted,
    /// It failed, or what is in its folder does not hold together.
    Refused,
    /// All steps were taken.
    Finished,
}

impl State {
    /// All of them.
    pub const ALL: [State; 5] =
        [State::Running, State::Planned, State::Interrupted, State::Refused, State::Finished];

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Planned => "planned",
            State::Interrupted => "interrupted",
            State::Refused => "refused",
            State::Finished => "finished",
        }
    }

    /// Of the run in a folder, by its certificate and by what was spent, with the reason where it is refused.
    pub fn of(
        folder: &Path,
        certificate: Option<&Result<Certificate, String>>,
        spent: bool,
    ) -> (State, Option<String>) {
        let finished = matches!(certificate, Some(Ok(certificate)) if certificate.status == Status::Finished);
        if !finished && is_at_work(folder) {
            return (State::Running, None);
        }
        match certificate {
            Some(Err(reason)) => (State::Refused, Some(reason.clone())),
            Some(Ok(certificate)) => match certificate.status {
                Status::Finished => (State::Finished, None),
                Status::Interrupted => (State::Interrupted, None),
                Status::Diverged => (
                    State::Refused,
                    Some(
                        "it diverged, so that it cannot be continued; start another one with a smaller learning rate"
                            .to_string(),
                    ),
                ),
            },
            None if spent => (State::Interrupted, None),
            None => (State::Planned, None),
        }
    }
}
