//! Multi-head self-attention: every step of a sequence looks at all steps, or at those up to itself.

mod head;
mod relevance;

use crate::ends::Ends;
use crate::error::Result;
use crate::layer::{
    Around, Backward, Carry, Factors, Forward, Gradients, Initial, Layer, Memory, Pass, RelevanceRule,
    Summation, Tensor,
};
use crate::layers::Context;
use crate::layers::dense_pair::{self, DensePair};
use crate::shape::Shape;
use head::Head;

/// Attention with as many features as flow in; names and first values are PyTorch's.
///
/// It is a dense layer to queries, keys and values, the heads, which have no weights, and a dense layer behind them. Gradients and
/// their norms are those of the dense layers.
///
/// # Source
/// Vaswani et al. 2017, "Attention is all you need", section 3.2; PyTorch's `MultiheadAttention` of a sequence with itself.
pub struct MultiHeadAttention {
    head: Head,
    heads: usize,
    /// A head has as many steps as are real; those behind look at nothing.
    ends: Ends,
    /// To queries, keys and values, and behind the heads.
    dense: DensePair,
}

/// The tape, area by area: example, then what it holds.
struct Areas<'a> {
    /// Rows `[queries | keys | values]` of every step; after `backward`, their gradients.
    rows: &'a mut [f32],
    /// How much each step looks at each: head, step, step.
    looks: &'a mut [f32],
    /// What each step sees: step, head.
    seen: &'a mut [f32],
    /// What the dense layers keep.
    kept: &'a mut [f32],
}

impl<'a> Areas<'a> {
    /// What lies on both sides of each dense layer, after `backward`, and what they keep.
    fn sides(self, input: &'a [f32], upstream: &'a [f32]) -> ([Around<'a>; 2], &'a mut [f32]) {
        let before = Around { input, upstream: self.rows };
        ([before, Around { input: self.seen, upstream }], self.kept)
    }
}

impl MultiHeadAttention {
    /// `heads` must divide the features; if `causal`, no step sees a later one.
    pub fn new(context: &Context, heads: usize, causal: bool) -> Result<MultiHeadAttention> {
        let Shape::Sequence { steps, features } = context.input else {
            return context.refuse("it takes a sequence [steps, features]");
        };
        if heads == 0 || !features.is_multiple_of(heads) {
            return context.refuse(&format!("{heads} heads must divide its {features} features"));
        }
        Ok(MultiHeadAttention {
            head: Head { steps, width: features / heads, features, causal },
            heads,
            ends: context.ends.clone(),
            dense: DensePair::new(context, steps, [(features, 3 * features), (features, features)])?,
        })
    }

    /// Values of one example in each area.
    fn lens(&self) -> [usize; 3] {
        let Head { steps, features, .. } = self.head;
        [3 * steps * features, self.heads * steps * steps, steps * features]
    }

    /// The heads of an example.
    fn head_of(&self, pass: &Pass, example: usize) -> Head {
        Head { steps: self.ends.of(pass.tokens, example, self.head.steps), ..self.head }
    }

    fn split<'a>(&self, batch: usize, tape: &'a mut [f32]) -> Areas<'a> {
        let [rows, looks, seen] = self.lens().map(|len| batch * len);
        let (rows, tape) = tape.split_at_mut(rows);
        let (looks, tape) = tape.split_at_mut(looks);
        let (seen, kept) = tape.split_at_mut(seen);
        Areas { rows, looks, seen, kept }
    }
}

impl Layer for MultiHeadAttention {
    fn kind(&self) -> &'static str {
        "multi-head-attention"
    }

    fn output(&self) -> Shape {
        Shape::Sequence { steps: self.head.steps, features: self.head.features }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let features = self.head.features;
        // Xavier's rule for a map of `features` to `3 · features`.
        let initial = Initial::Uniform((6.0 / (4 * features) as f32).sqrt());
        vec![
            Tensor::new("in_proj_weight", vec![3 * features, features], initial),
            Tensor::new("in_proj_bias", vec![3 * features], Initial::Constant(0.0)),
            Tensor::new("out_proj.weight", vec![features, features], Initial::FanIn(features)),
            Tensor::new("out_proj.bias", vec![features], Initial::Constant(0.0)),
        ]
    }

    fn multiply_adds(&self) -> u64 {
        let Head { steps, features, .. } = self.head;
        self.dense.multiply_adds() + (2 * steps * steps * features) as u64
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.lens().iter().sum::<usize>() + self.dense.tape_len(pass)
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        // The gradient of what is seen and a head's own, or what the dense layers need.
        let back = pass.batch * self.lens()[2] + self.head.scratch_len();
        back.max(self.dense.scratch_len(pass))
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        let areas = self.split(pass.batch, memory.tape);
        let [before, behind] = self.dense.parameters(&weights);
        dense_pair::forward(&self.dense.first, before, pass, input, areas.rows);
        let [rows, looks, seen] = self.lens();
        for example in 0..pass.batch {
            let rows = &areas.rows[example * rows..][..rows];
            let seen = &mut areas.seen[example * seen..][..seen];
            let looks = areas.looks[example * looks..][..looks].chunks_exact_mut(looks / self.heads);
            let one = self.head_of(pass, example);
            for (head, looks) in looks.enumerate() {
                let first = head * one.width;
                one.forward(&rows[first..], &mut looks[..one.steps * one.steps], &mut seen[first..]);
            }
            seen[one.steps * one.features..].fill(0.0);
        }
        dense_pair::forward(&self.dense.second, behind, pass, areas.seen, output);
    }

    /// Leaves the gradients of queries, keys and values on the tape; they are needed whether or not somebody asks for `downstream`.
    fn backward(&self, Backward { weights, pass, values, upstream, downstream, memory }: Backward) {
        let areas = self.split(pass.batch, memory.tape);
        let [before, behind] = self.dense.parameters(&weights);
        let [rows, looks, seen] = self.lens();
        let (seen_gradient, scratch) = memory.scratch.split_at_mut(pass.batch * seen);
        let sides = Around { input: areas.seen, upstream };
        dense_pair::backward(&self.dense.second, behind, pass, sides, Some(&mut *seen_gradient));
        for example in 0..pass.batch {
            let rows = &mut areas.rows[example * rows..][..rows];
            let seen_gradient = &seen_gradient[example * seen..][..seen];
            let looks = areas.looks[example * looks..][..looks].chunks_exact(looks / self.heads);
            let one = self.head_of(pass, example);
            rows[one.steps * 3 * one.features..].fill(0.0);
            for (head, looks) in looks.enumerate() {
                let first = head * one.width;
                let looks = &looks[..one.steps * one.steps];
                one.backward(&mut rows[first..], looks, &seen_gradient[first..], scratch);
            }
        }
        let sides = Around { input: values.input, upstream: areas.rows };
        dense_pair::backward(&self.dense.first, before, pass, sides, downstream);
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let (sides, tape) = self.split(pass.batch, memory.tape).sides(input, upstream);
        self.dense.squared_norms(pass, sides, Memory { tape, ..memory }, norms);
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (sides, tape) = self.split(pass.batch, memory.tape).sides(input, upstream);
        self.dense.accumulate(pass, sides, Memory { tape, ..memory }, factors, gradient);
    }

    fn summation(&self) -> Summation {
        self.dense.summation()
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Own)
    }

    fn carry_relevance(&self, call: Carry) {
        self.carry(call);
    }
}
