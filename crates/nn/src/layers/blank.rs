//! Zeros behind the ends of short texts, before a layer that looks there.

use crate::ends::Ends;
use crate::layer::{Backward, Forward, Layer, Pass, RelevanceRule};
use crate::layers::Context;
use crate::shape::Shape;

/// Copies the real steps of a sequence and puts zeros in the place of others, which no gradient reaches.
///
/// It is no layer of model files: a network has one before every convolution over texts of different length, which then sees
/// behind a text what it sees behind the last step.
pub(crate) struct Blank {
    steps: usize,
    features: usize,
    ends: Ends,
}

impl Blank {
    /// For the sequence of a context; `None` if all its steps are real.
    pub fn before(context: &Context) -> Option<Blank> {
        match context.input {
            Shape::Sequence { steps, features } if context.ends.are_known() => {
                Some(Blank { steps, features, ends: context.ends.clone() })
            }
            _ => None,
        }
    }

    fn apply(&self, pass: &Pass, source: &[f32], target: &mut [f32]) {
        let width = self.steps * self.features;
        let examples = source.chunks_exact(width).zip(target.chunks_exact_mut(width));
        for (example, (source, target)) in examples.enumerate() {
            let real = self.ends.of(pass.tokens, example, self.steps) * self.features;
            target[..real].copy_from_slice(&source[..real]);
            target[real..].fill(0.0);
        }
    }
}

impl Layer for Blank {
    fn kind(&self) -> &'static str {
        "blank"
    }

    fn output(&self) -> Shape {
        Shape::Sequence { steps: self.steps, features: self.features }
    }

    fn forward(&self, Forward { pass, input, output, .. }: Forward) {
        self.apply(pass, input, output);
    }

    fn backward(&self, Backward { pass, upstream, downstream, .. }: Backward) {
        if let Some(downstream) = downstream {
            self.apply(pass, upstream, downstream);
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Moved)
    }
}
