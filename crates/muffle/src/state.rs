//! What has to be remembered between steps, for checkpoints.

use std::collections::BTreeMap;

/// Named vectors.
pub type State = BTreeMap<String, Vec<f32>>;

/// A saved state does not fit what it is restored into.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum StateError {
    /// A vector is missing.
    #[error("the saved state has no `{0}`; was it saved by another optimizer?")]
    Missing(&'static str),
    /// A vector has another length.
    #[error(
        "`{name}` has {found} values in the saved state instead of {expected}; was it saved for another network?"
    )]
    Length {
        /// Which.
        name: &'static str,
        /// Values needed.
        expected: usize,
        /// Values saved.
        found: usize,
    },
}

/// Copies a named vector out of a saved state.
pub(crate) fn restore(state: &State, name: &'static str, into: &mut [f32]) -> Result<(), StateError> {
    let saved = state.get(name).ok_or(StateError::Missing(name))?;
    if saved.len() != into.len() {
        return Err(StateError::Length { name, expected: into.len(), found: saved.len() });
    }
    into.copy_from_slice(saved);
    Ok(())
}

/// Adds the vectors of a part, under its name.
pub(crate) fn put(state: &mut State, part: &str, inner: State) {
    state.extend(inner.into_iter().map(|(name, values)| (format!("{part}.{name}"), values)));
}

/// The vectors of a part, as it named them.
pub(crate) fn part(state: &State, part: &str) -> State {
    let inner = |(name, values): (&String, &Vec<f32>)| {
        Some((name.strip_prefix(part)?.strip_prefix('.')?.to_string(), values.clone()))
    };
    state.iter().filter_map(inner).collect()
}
