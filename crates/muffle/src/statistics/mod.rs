//! Statistics of measured results: how sure a mean is, and whether a difference is more than chance.
//!
//! Nothing here is private: these functions describe accuracies and losses that are already published.

mod error;
mod factors;
mod kruskal_wallis;
mod mann_whitney;
mod mean;
mod paired;
mod ranks;
mod shapiro_wilk;
pub(crate) mod tails;

pub use error::StatisticsError;
pub use factors::{FactorRow, FactorStudy, LevelNormality, SeveralLevels, TwoLevels};
pub use kruskal_wallis::{KruskalWallis, kruskal_wallis};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use mean::{Interval, Mean};
pub use paired::{Paired, paired};
pub use shapiro_wilk::{ShapiroWilk, shapiro_wilk};
