//! Input noise by relevance, as one release: inputs that matter count for more in the features of a head.

use super::{CENTRE, Entry, FLOOR, INTERCEPT, Learns, QUADRATIC, REGIONS, RIDGE};
use crate::methods::{About, Mode, Parameter, Verdict};

const RELEVANCE: Parameter = Parameter {
    name: "relevance",
    default: 8.0,
    meaning: "the noise multiplier of the relevance over that of the coefficients",
};

const ABOUT: About = About {
    name: "adlm-head",
    paper: "Phan et al., Adaptive Laplace mechanism: differential privacy preservation in deep learning, ICDM",
    year: 2017,
    idea: "weigh inputs by their relevance, and train by one release",
    verdict: Verdict::Unsound,
    modes: &[Mode::Sound],
    composes: "private average relevance, functional-mechanism on features of the weighed inputs",
    steps: "release the sum of every record's absolute relevances, of L1 norm 1, with Laplace noise, at a network whose weights are random \
            and so public: the features with a random layer behind them. Feed every input times the root of its share β (with regions: \
            of the weight α of its region), and release the coefficients of functional-mechanism on the features of that",
    guarantee: "the mechanisms of functional-mechanism, and one for the relevances, of sensitivity 1 in L1 norm",
    breaks: "see the method of this name without -head",
    parameters: &[RELEVANCE, FLOOR, QUADRATIC, INTERCEPT, CENTRE, RIDGE],
    settings: &[],
    settings_as_published: &[],
};

/// Feature by feature.
pub static ADLM: Entry = Entry {
    about: ABOUT,
    learns: Learns::Shares { regions: false },
    planted: &[],
    planted_as_published: &[],
};

/// Region by region.
pub static AFRRS: Entry = Entry {
    about: About {
        name: "afrrs-head",
        paper: "Wang et al., Preserving differential privacy in deep learning based on feature relevance region segmentation",
        year: 2023,
        idea: "weigh regions of inputs by their relevance, and train by one release",
        composes: "private average relevance, regions by average linkage, functional-mechanism on features of the weighed inputs",
        parameters: &[RELEVANCE, FLOOR, REGIONS, QUADRATIC, INTERCEPT, CENTRE, RIDGE],
        ..ABOUT
    },
    learns: Learns::Shares { regions: true },
    planted: &["parameters.regions=3"],
    planted_as_published: &[],
};
