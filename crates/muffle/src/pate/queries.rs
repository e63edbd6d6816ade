//! Which records of the public pool the teachers are asked about.

use super::clusters::typical;
use crate::data::View;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_nn::Examples;
use serde::{Deserialize, Serialize};

/// Which records of the pool are asked about. The pool is public, so the choice costs nothing; it does not depend on the key of a
/// run, so that a run that is continued asks on where it stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asking {
    /// Any, in a random order.
    #[default]
    Random,
    /// One from the middle of each of as many clusters: records that stand for many others, and on which teachers agree.
    Typical,
}

impl Asking {
    /// Positions in a pool, in the order in which they are asked about.
    pub(super) fn choose(self, pool: &View, count: usize) -> Vec<usize> {
        let uniform = || Uniform::new(&Key::from_seed(0), Stream::new(Purpose::Sampling, 0));
        match self {
            Asking::Random => {
                let mut positions: Vec<usize> = (0..pool.len()).collect();
                uniform().shuffle(&mut positions);
                positions.truncate(count);
                positions
            }
            Asking::Typical => typical(pool, count, &mut uniform()),
        }
    }
}
