//! The outputs of a generator of tables: choices among categories, and bounded numbers.

use crate::error::Result;
use crate::kernel::elementwise::dot;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// Softmax over each block of several neighbouring values, the hyperbolic tangent of a block of one: columns of a table as their
/// encodings, of which a category is a block of zeros with one one, and a number lies between -1 and 1.
///
/// # Source
/// The output layer of Xu et al. 2019, "Modeling tabular data using conditional GAN", section 4.2, without modes.
pub struct Blocks {
    widths: Vec<usize>,
    len: usize,
}

impl Blocks {
    /// Widths of the blocks, in order.
    pub fn new(context: &Context, widths: &[usize]) -> Result<Blocks> {
        let Shape::Vector(len) = context.input else {
            return context.refuse("it takes a vector [features]");
        };
        if widths.contains(&0) {
            return context.refuse("every block has at least one value");
        }
        if widths.iter().sum::<usize>() != len {
            return context
                .refuse(&format!("its blocks have {} values in all", widths.iter().sum::<usize>()));
        }
        Ok(Blocks { widths: widths.to_vec(), len })
    }
}

impl Layer for Blocks {
    fn kind(&self) -> &'static str {
        "blocks"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.len)
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        for (input, output) in input.chunks_exact(self.len).zip(output.chunks_exact_mut(self.len)) {
            let mut place = 0;
            for &width in &self.widths {
                let (input, output) = (&input[place..][..width], &mut output[place..][..width]);
                match width {
                    1 => output[0] = input[0].tanh(),
                    _ => softmax(input, output),
                }
                place += width;
            }
        }
    }

    /// With `y` the output and `g` its gradient: `(1 − y²) g` of a number, `y (g − ⟨y, g⟩)` of a choice.
    fn backward(&self, Backward { values, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let examples = values.output.chunks_exact(self.len).zip(upstream.chunks_exact(self.len));
        for ((output, upstream), downstream) in examples.zip(downstream.chunks_exact_mut(self.len)) {
            let mut place = 0;
            for &width in &self.widths {
                let block = place..place + width;
                let (output, upstream) = (&output[block.clone()], &upstream[block.clone()]);
                let downstream = &mut downstream[block];
                match width {
                    1 => downstream[0] = (1.0 - output[0] * output[0]) * upstream[0],
                    _ => {
                        let along = dot(output, upstream);
                        for ((down, y), g) in downstream.iter_mut().zip(output).zip(upstream) {
                            *down = y * (g - along);
                        }
                    }
                }
                place += width;
            }
        }
    }
}

fn softmax(input: &[f32], output: &mut [f32]) {
    let largest = input.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    output.iter_mut().zip(input).for_each(|(output, value)| *output = (value - largest).exp());
    let sum: f32 = output.iter().sum();
    output.iter_mut().for_each(|value| *value /= sum);
}
