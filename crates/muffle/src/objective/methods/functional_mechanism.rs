//! The functional mechanism, and its head with Gaussian noise.

use super::{CENTRE, Entry, INTERCEPT, Learns, QUADRATIC, RIDGE};
use crate::methods::{About, Mode, Verdict};

/// Its row.
pub static ENTRY: Entry = Entry {
    about: About {
        name: "functional-mechanism",
        paper: "Zhang, Zhang, Xiao, Yang, Winslett, Functional mechanism: regression analysis under differential privacy, PVLDB",
        year: 2012,
        idea: "add noise to the coefficients of the loss, once, and find its least value",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "fixed features of a norm of at most 1; a release of their mean, then one of the coefficients of a loss of degree \
                   two; eigenvalues",
        steps: "with features h and targets t of each record, release Σh with multiplier c·σ and go on with h less that mean, scaled \
                into the unit ball; release Σt·hᵀ and κ·Σh·hᵀ with multiplier σ; raise negative eigenvalues of Σh·hᵀ to zero, add a \
                ridge in proportion to the noise, and solve. noise = \"laplace\" bounds features in L1 norm and is what was published \
                (with parameters.centre = 0, parameters.quadratic = 0.25, and adjacency = \"replace_one\"); noise = \"gaussian\" bounds \
                them in L2 norm, and is far better where there are many features",
        guarantee: "two mechanisms on sums over all records: of the mean, of sensitivity 1, and of the coefficients, of sensitivity \
                    √(τ² + κ²) (Gaussian) or τ + κ (Laplace), where τ bounds the targets of a record: ½ for two classes, 1 for more. \
                    Whatever is solved for is free (R9)",
        breaks: "",
        parameters: &[QUADRATIC, INTERCEPT, CENTRE, RIDGE],
        settings: &[],
        settings_as_published: &[],
    },
    learns: Learns::Nothing,
    planted: &[],
    planted_as_published: &[],
};
