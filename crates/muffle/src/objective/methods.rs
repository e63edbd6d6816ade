//! The published methods that release an objective.

use crate::methods::{About, Mode, Parameter, Verdict};
use muffle_nn::model_file::nearest::nearest;

const QUADRATIC: Parameter = Parameter {
    name: "quadratic",
    default: 1.0,
    meaning: "κ/τ, the weight of the products of features beside those with the target; the functional mechanism's is 1/4, which has \
              four times the noise on them",
};
const INTERCEPT: Parameter = Parameter {
    name: "intercept",
    default: 0.2,
    meaning: "the constant feature behind those of a record, as a part of its norm",
};
const CENTRE: Parameter = Parameter {
    name: "centre",
    default: 8.0,
    meaning: "c, the noise on the mean of the features over that on the coefficients; 0 leaves them where they are, as the papers do",
};
const RIDGE: Parameter = Parameter {
    name: "ridge",
    default: 0.5,
    meaning: "what is added to the eigenvalues, in deviations of the noise times the root of the number of features; the functional \
              mechanism adds 4 deviations",
};

/// The functional mechanism, and its head with Gaussian noise.
pub static FUNCTIONAL_MECHANISM: About = About {
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
};

/// The deep private auto-encoder.
pub static DPA: About = About {
    name: "dpa",
    paper: "Phan, Wang, Wu, Dou, Differential privacy preservation for deep auto-encoders, AAAI",
    year: 2016,
    idea: "an auto-encoder from noisy coefficients of its reconstruction error, and a head on its code",
    verdict: Verdict::Unsound,
    modes: &[Mode::Sound],
    composes: "functional-mechanism, once or a few times for the decoder and once for the head",
    steps: "with unit features u less their mean, and a code h of b hidden units scaled into the unit ball (random at first), release \
            Σu·hᵀ and κ·Σh·hᵀ with multiplier d·σ and solve for the decoder; the encoder takes its columns, each of the length of \
            parameters.gain, and so on for some rounds; then the head of functional-mechanism on the code. The code is the hyperbolic \
            tangent, which is the paper's sigmoid but for constants",
    guarantee: "one mechanism for every round, and those of functional-mechanism: Σu·hᵀ and κ·Σh·hᵀ have sensitivity √(1 + κ²) for \
                any code that follows from what was released before",
    breaks: "the published coefficients depend on the weights, so that every step of descent asks for new sums of the records, and epsilon \
             is charged once (R6); features are scaled by the smallest and largest value of the records (R1)",
    parameters: &[
        Parameter {
            name: "hidden",
            default: 256.0,
            meaning: "hidden units; the released code of the paper has 25 to 90",
        },
        Parameter { name: "rounds", default: 1.0, meaning: "releases of the decoder" },
        Parameter {
            name: "decoder",
            default: 2.0,
            meaning: "d, the noise on the decoder over that on the coefficients of the head",
        },
        Parameter {
            name: "gain",
            default: 4.0,
            meaning: "length of the weights of a hidden unit, for records of unit length",
        },
        QUADRATIC,
        INTERCEPT,
        CENTRE,
        RIDGE,
    ],
    settings: &[],
};

/// The functional mechanism with a larger share of the budget for features that matter.
pub static PRIVR: About = About {
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
        Parameter { name: "weak", default: 0.5, meaning: "the weight of weak features beside strong ones" },
        QUADRATIC,
        INTERCEPT,
        CENTRE,
        RIDGE,
    ],
    settings: &["noise=laplace"],
};

/// Every method of this kind.
pub static METHODS: &[&About] = &[&FUNCTIONAL_MECHANISM, &PRIVR, &DPA];

/// The method of this name.
pub(super) fn find(name: &str) -> Result<&'static About, String> {
    METHODS.iter().copied().find(|about| about.name == name).ok_or_else(|| {
        let names = || METHODS.iter().map(|about| about.name);
        let meant = nearest(name, names()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        let known: Vec<&str> = names().collect();
        format!("method `{name}` releases no objective{meant}; those that do are {}", known.join(", "))
    })
}
