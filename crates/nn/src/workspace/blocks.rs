//! Norms and sums of the layers with large gradients, a block of examples at a time.

use super::{Step, Workspace, layers};
use crate::layer::{Factors, Layer, Pass, Purpose};
use crate::micro_batches::Piece;
use crate::network::{Network, Node, Operation};
use std::ops::Range;

/// Values of kept gradients that should still be in the second-level cache when they are added up.
const CLOSE: usize = 1 << 17;

/// How a micro-batch falls into blocks.
pub(crate) struct Blocks {
    /// Examples in a block.
    len: usize,
    /// A layer's norms in one block.
    norms: Vec<f64>,
}

impl Blocks {
    /// Blocks whose gradients stay close together; one block if no layer asks for them.
    pub fn new(network: &Network, pass: &Pass) -> Blocks {
        let one = Pass { batch: 1, ..*pass };
        let (mut values, mut tensors) = (0, 0);
        for node in network.nodes() {
            if let Operation::Layer(layer) = &node.operation
                && in_blocks(layer.as_ref(), pass)
            {
                values += layer.tape_len(&one);
                tensors = tensors.max(node.tensors.len());
            }
        }
        let len = CLOSE.checked_div(values).unwrap_or(pass.batch).clamp(1, pass.batch.max(1));
        Blocks { len, norms: vec![0.0; tensors * len] }
    }

    /// The blocks of the examples from one on to an end.
    pub fn of(&self, examples: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.len;
        let end = examples.end;
        examples.step_by(len).map(move |first| first..end.min(first + len))
    }

    /// Values on the tape of a layer.
    pub fn tape_len(&self, layer: &dyn Layer, pass: &Pass) -> usize {
        let batch = if in_blocks(layer, pass) { self.len } else { pass.batch };
        layer.tape_len(&Pass { batch, ..*pass })
    }
}

/// Whether a layer takes part.
pub(crate) fn in_blocks(layer: &dyn Layer, pass: &Pass) -> bool {
    pass.purpose == Purpose::PerExample && layer.sums_in_blocks()
}

impl Workspace {
    /// Squared norms of one block of examples in the layers that sum in blocks: `norms[tensor * batch + example]`.
    pub fn block_norms(&mut self, step: &Step, pass: &Pass, examples: Range<usize>, norms: &mut [f64]) {
        // Taken out while the layers have the rest of the memory.
        let mut own = std::mem::take(&mut self.blocks.norms);
        for (index, node, layer) in layers_in_blocks(step, pass) {
            let found = &mut own[..node.tensors.len() * examples.len()];
            let block = block(pass, &examples);
            layer.squared_norms(self.gradients(step, &block, index, examples.clone()), found);
            for (tensor, found) in node.tensors.clone().zip(found.chunks_exact(examples.len())) {
                norms[tensor * pass.batch..][examples.clone()].copy_from_slice(found);
            }
        }
        self.blocks.norms = own;
    }

    /// Adds the gradients of the block whose norms were taken last, which lies in a piece, times their factors
    /// `[tensor * batch + example]`; begins anew with the first block of a thread, and hands on the sums of a part of a group that is
    /// complete.
    pub fn accumulate_block(
        &mut self,
        step: &Step,
        pass: &Pass,
        (piece, examples): (&Piece, Range<usize>),
        factors: &[f32],
        gradient: &mut [f32],
    ) {
        for (index, node, layer) in layers_in_blocks(step, pass) {
            let factors = &factors[node.tensors.start * pass.batch..node.tensors.end * pass.batch];
            let factors = Factors::block(factors, pass.batch, examples.clone());
            let gradient = &mut gradient[node.parameters.clone()];
            let block = block(pass, &examples);
            let call = self.gradients(step, &block, index, examples.clone());
            match piece.is_first && examples.start == piece.records.start {
                true => layer.begin(call, factors, gradient),
                false => layer.accumulate(call, factors, gradient),
            }
            if examples.end == piece.records.end {
                step.hand_on(piece, node, gradient);
            }
        }
    }
}

/// The pass over one block.
fn block<'a>(pass: &Pass<'a>, examples: &Range<usize>) -> Pass<'a> {
    Pass {
        batch: examples.len(),
        first_example: pass.first_example + examples.start,
        keys: &pass.keys[examples.clone()],
        // Counted for all or for none.
        tokens: pass.tokens.get(examples.clone()).unwrap_or_default(),
        ..*pass
    }
}

/// The layers that sum in blocks, with their places in the network.
fn layers_in_blocks<'a>(
    step: &Step<'a>,
    pass: &'a Pass,
) -> impl Iterator<Item = (usize, &'a Node, &'a dyn Layer)> {
    layers(step).filter(move |(_, _, layer)| in_blocks(*layer, pass))
}
