//! What records are looked at for.

use crate::ledger::Purpose;

/// The mean of the features.
pub const CENTRE: Purpose = Purpose::new("centre");
/// What finds features again in their code.
pub const DECODER: Purpose = Purpose::new("decoder");
/// The coefficients of a first model, by which features are weighed.
pub const DRAFT: Purpose = Purpose::new("draft");
/// How much each feature, or input, matters to a model.
pub const RELEVANCE: Purpose = Purpose::new("relevance");
/// What filters have not learned yet.
pub const STATISTICS: Purpose = Purpose::new("statistics");
/// The coefficients of the objective.
pub const COEFFICIENTS: Purpose = Purpose::new("coefficients");
/// What records report of themselves.
pub const REPORTS: Purpose = Purpose::new("reports");
/// A step of a published layer.
pub const PRETRAINING: Purpose = Purpose::new("pretraining");
/// A step of a published head.
pub const HEAD: Purpose = Purpose::new("head");
/// The smallest and largest values that a published layer sees.
pub const EXTREMES: Purpose = Purpose::new("extremes");
