//! Input noise by relevance, as each record could add it itself.

use super::{Entry, FLOOR, HIGH, INTERCEPT, LOW, Learns, QUADRATIC, REGIONS};
use crate::methods::{About, Mode, Parameter, Verdict};

const RELEVANCE: Parameter = Parameter {
    name: "relevance",
    default: 50.0,
    meaning: "the noise multiplier of the relevance over that of the inputs: ε₂/ε₁",
};
const LABELS: Parameter = Parameter {
    name: "labels",
    default: 0.05,
    meaning: "what a label costs over what the inputs cost: ε₃/ε₂",
};
const RIDGE: Parameter = Parameter {
    name: "ridge",
    default: 0.0,
    meaning: "what is added to the eigenvalues, as a part of the records times the norm of a record: the reports bring their own noise",
};

const ABOUT: About = About {
    name: "adlm-local",
    paper: "Phan et al., Adaptive Laplace mechanism: differential privacy preservation in deep learning, ICDM",
    year: 2017,
    idea: "every record adds noise to its inputs, less where they matter, and answers about its label at random: then train freely",
    verdict: Verdict::Unsound,
    modes: &[Mode::Sound],
    composes: "private average relevance, Laplace noise on every input of every record, randomised response for labels",
    steps: "release the relevances as adlm-head does; every record, its inputs cut to low to high, reports each of them with noise of scale \
            b, Σ range/b = ε₂ and b in proportion to 1/β, and its class with probability e^ε₃/(e^ε₃ + m − 1), any other one else. The head \
            is solved for on features of the reports, without any more noise",
    guarantee: "relevance is a Laplace mechanism over all records. A report is one of the record alone, of a vector of L1 norm 1, and a \
                randomised response; whatever is computed from the reports is free (R9). There is one for each record, so that their \
                number is public: replace_one",
    breaks: "see the method of this name without -local: noise of a batch's share on each record, labels used exactly",
    parameters: &[RELEVANCE, LABELS, FLOOR, LOW, HIGH, QUADRATIC, INTERCEPT, RIDGE],
    settings: &["adjacency=replace_one"],
    settings_as_published: &[],
};

/// Feature by feature.
pub static ADLM: Entry = Entry {
    about: ABOUT,
    learns: Learns::Reports { regions: false },
    planted: &["parameters.low=-1"],
    planted_as_published: &[],
};

/// Region by region.
pub static AFRRS: Entry = Entry {
    about: About {
        name: "afrrs-local",
        paper: "Wang et al., Preserving differential privacy in deep learning based on feature relevance region segmentation",
        year: 2023,
        idea: "as adlm-local, with the same noise on all inputs of a region",
        parameters: &[RELEVANCE, LABELS, FLOOR, REGIONS, LOW, HIGH, QUADRATIC, INTERCEPT, RIDGE],
        ..ABOUT
    },
    learns: Learns::Reports { regions: true },
    planted: &["parameters.low=-1", "parameters.regions=3"],
    planted_as_published: &[],
};
