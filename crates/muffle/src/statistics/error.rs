//! Samples that a test has nothing to say about.

/// Why a statistic does not exist.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// Too few or too many values.
    #[error("{test} takes {allowed} values, there are {given}")]
    Size {
        /// Which test.
        test: &'static str,
        /// How many values it takes.
        allowed: &'static str,
        /// How many there are.
        given: usize,
    },
    /// A value that is not a number.
    #[error("{test} takes finite values, there is a {value}")]
    NotFinite {
        /// Which test.
        test: &'static str,
        /// The value.
        value: f64,
    },
    /// Nothing varies.
    #[error("{test} has nothing to compare: all values are equal")]
    AllEqual {
        /// Which test.
        test: &'static str,
    },
}

/// Refuses values that have no order.
pub(super) fn check_finite<'a>(
    test: &'static str,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<(), StatisticsError> {
    match values.into_iter().find(|value| !value.is_finite()) {
        Some(value) => Err(StatisticsError::NotFinite { test, value: *value }),
        None => Ok(()),
    }
}
