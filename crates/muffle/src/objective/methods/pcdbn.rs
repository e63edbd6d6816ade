//! The private convolutional deep belief network.

use super::{BATCH, CENTRE, Entry, HEAD_EPOCHS, HEAD_RATE, HIGH, INTERCEPT, LOW, Learns, QUADRATIC, RIDGE};
use crate::methods::{About, Mode, Parameter, Verdict};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "pcdbn",
        paper: "Phan, Wu, Dou, Preserving differential privacy in convolutional deep belief networks, Machine Learning",
        year: 2017,
        idea: "filters of restricted Boltzmann machines whose energy is a polynomial, layer by layer, and a head on what they see",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "contrastive divergence of single records, a flat clip, Poisson samples; functional-mechanism on pooled features",
        steps: "for each layer, so many steps: the contrastive divergence v₀h₀ − v₁h₁ of every sampled record, clipped at C, summed, with \
                N(0, (sσC)²) on it, moves the filters; then they are frozen and pooled, and the next layer or the head of \
                functional-mechanism reads them. Units are the Chebyshev polynomial of degree seven on inputs over a public scale, or \
                sigmoids (parameters.chebyshev = 0). As published: inputs over the largest in the batch, the five numbers of the \
                polynomial with one draw of Lap(Δ/(ε|L|)) for the whole layer, Δ the largest sums of hidden and visible values in the \
                batch; then a hidden layer and a last one by descent on a polynomial loss, with Lap(m(b + b²/4)/(ε|L|)) on its \
                coefficients, anew in every step",
        guarantee: "each step is a Gaussian mechanism of multiplier sσ on a Poisson sample: a record moves the sum by C at most. The head \
                    costs what functional-mechanism does, and both are paid",
        breaks: "the five noisy numbers are constants that hold no data, and everything else is read without noise in every step (R6): \
                 inputs, reconstructions, and the labels in all gradients below the last layer; Δ and the scale of inputs are those of \
                 the batch (R1)",
        parameters: &[
            Parameter { name: "filters", default: 32.0, meaning: "filters of the first layer" },
            Parameter { name: "filters_2", default: 0.0, meaning: "filters of a second layer; 0 for none" },
            Parameter { name: "window", default: 7.0, meaning: "height and width of a filter" },
            Parameter { name: "stride", default: 2.0, meaning: "step of the window" },
            Parameter {
                name: "pool",
                default: 2.0,
                meaning: "height and width of the window of the mean behind a layer",
            },
            Parameter {
                name: "chebyshev",
                default: 1.0,
                meaning: "what inputs of hidden units are divided by before the polynomial; 0 for sigmoids. As published it is the largest \
                          in the batch",
            },
            Parameter {
                name: "epochs",
                default: 1.0,
                meaning: "passes over the records for each layer; the released code has 10",
            },
            BATCH,
            Parameter {
                name: "rate",
                default: 0.05,
                meaning: "learning rate of the filters, for a mean over records",
            },
            Parameter {
                name: "threshold",
                default: 1.0,
                meaning: "C, the longest contrastive divergence of a record",
            },
            Parameter {
                name: "statistics",
                default: 1.0,
                meaning: "s, the noise of a step over that on the coefficients of the head",
            },
            Parameter {
                name: "head_hidden",
                default: 25.0,
                meaning: "units of the layer before the last, as in the released code (as published)",
            },
            HEAD_EPOCHS,
            HEAD_RATE,
            LOW,
            HIGH,
            QUADRATIC,
            INTERCEPT,
            CENTRE,
            RIDGE,
        ],
        settings: &[],
        settings_as_published: &[],
    },
    learns: Learns::Filters,
    // A threshold that every record reaches.
    planted: &["records=1", "parameters={filters=4,epochs=1,low=-1,threshold=0.1}"],
    planted_as_published: &[
        "records=2",
        "parameters={filters=4,epochs=1,batch=1,head_hidden=4,head_epochs=1,low=-1}",
    ],
};
