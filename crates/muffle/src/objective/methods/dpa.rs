//! The deep private auto-encoder.

use super::{BATCH, CENTRE, Entry, HEAD_EPOCHS, HEAD_RATE, HIGH, INTERCEPT, LOW, Learns, QUADRATIC, RIDGE};
use crate::methods::{About, Mode, Parameter, Verdict};

pub static ENTRY: Entry = Entry {
    about: About {
        name: "dpa",
        paper: "Phan, Wang, Wu, Dou, Differential privacy preservation for deep auto-encoders, AAAI",
        year: 2016,
        idea: "an auto-encoder from noisy coefficients of its reconstruction error, and a head on its code",
        verdict: Verdict::Unsound,
        modes: &[Mode::Sound, Mode::AsPublished],
        composes: "functional-mechanism, once or a few times for the decoder and once for the head",
        steps: "with unit features u less their mean, and a code h of b hidden units scaled into the unit ball (random at first), release \
                Σu·hᵀ and κ·Σh·hᵀ with multiplier d·σ and solve for the decoder; the encoder takes its columns, each of the length of \
                parameters.gain, and so on for some rounds; then the head of functional-mechanism on the code. The code is the hyperbolic \
                tangent, which is the paper's sigmoid but for constants. As published: h = σ(Wx) and x̃ = σ(Wᵀh) on inputs of 0 to 1, \
                layer by layer; descent on Σ (½ − x)z + z²/8 with z = Wᵀh, its coefficients with one draw of Lap(d(b + b²/4)/ε) for \
                all steps; codes moved and stretched by their own extremes to a length of at most 1; a last layer by descent on the \
                same polynomial of the classes, with Lap((|h| + |h|²/4)·m/ε)",
        guarantee: "one mechanism for every round, and those of functional-mechanism: Σu·hᵀ and κ·Σh·hᵀ have sensitivity √(1 + κ²) for \
                    any code that follows from what was released before",
        breaks: "the published coefficients depend on the weights, so that every step of descent asks for new sums of the records, and \
                 epsilon is charged once (R6): two steps share their noise, and their difference has none; codes are scaled by the smallest \
                 and largest value of the records (R1)",
        parameters: &[
            Parameter {
                name: "hidden",
                default: 256.0,
                meaning: "hidden units; the released code of the paper has 25, 90 and 25",
            },
            Parameter {
                name: "hidden_2",
                default: 0.0,
                meaning: "hidden units of a second layer; 0 for none (as published)",
            },
            Parameter {
                name: "hidden_3",
                default: 0.0,
                meaning: "hidden units of a third layer; 0 for none (as published)",
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
            Parameter {
                name: "epochs",
                default: 1.0,
                meaning: "passes over the records for each layer (as published); the released code has 10",
            },
            Parameter {
                name: "rate",
                default: 0.1,
                meaning: "learning rate of the layers, for a mean over records (as published)",
            },
            BATCH,
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
    learns: Learns::Code,
    planted: &["parameters.hidden=4"],
    // At a small rate two steps see the same weights, and differ by their records alone.
    planted_as_published: &["records=2", "parameters={hidden=4,batch=1,rate=1e-6,head_epochs=1,low=-1}"],
};
