//! The functional mechanism with a larger share of the budget for features that matter.

use super::{CENTRE, Entry, INTERCEPT, Learns, QUADRATIC, RIDGE};
use crate::methods::{About, Mode, Parameter, Verdict};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "privr",
        paper: "Gong, Pan, Xie, Differential privacy preservation in regression analysis based on relevance, Knowledge-Based Systems",
        year: 2019,
        idea: "less noise on the coefficients of features that matter to the output",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "functional-mechanism twice, and the mean relevance of each feature between",
        steps: "release the coefficients of a first model; release the sum of every record's absolute relevances, of L1 norm 1, with \
                Laplace noise; weigh features above a threshold by 1 and the others by less, scaled into the unit ball again, and release the \
                coefficients of the model that stays. A feature that is weighed by less has more noise, in its own units",
        guarantee: "the mechanisms of functional-mechanism, one more for the coefficients of the first model, and one for the relevances, of \
                    sensitivity 1 in L1 norm",
        breaks: "which features are strong is computed from the records without noise, and only the last coefficients are charged (R1, R6): a \
                 record that tips a feature over the threshold changes the coefficients of all records",
        parameters: &[
            Parameter {
                name: "draft",
                default: 3.0,
                meaning: "the noise on the coefficients of the first model over that on those of the last; none as published",
            },
            Parameter {
                name: "relevance",
                default: 8.0,
                meaning: "the noise multiplier of the relevance over that of the last coefficients; none as published",
            },
            Parameter {
                name: "threshold",
                default: 1.0,
                meaning: "over the mean relevance: features above are strong; the paper's is not in our sources",
            },
            Parameter {
                name: "weak",
                default: 0.5,
                meaning: "the weight of weak features beside strong ones",
            },
            QUADRATIC,
            INTERCEPT,
            CENTRE,
            RIDGE,
        ],
        settings: &["noise=laplace"],
        settings_as_published: &[],
    },
    learns: Learns::Weak,
    // Nearly all of a record in one number: of Laplace noise, several that share its norm show less. A record whose feature nobody else
    // has is weak, and would move its coefficient by that weight only.
    planted: &["parameters={intercept=0.001,quadratic=0.01,weak=0.99}"],
    planted_as_published: &[],
};
