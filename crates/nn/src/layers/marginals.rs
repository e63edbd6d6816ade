//! What a table says of every two of its columns.

use crate::error::Result;
use crate::kernel::elementwise::{add_scaled, dot, scale_into};
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::limits;
use crate::shape::Shape;

/// Products of the values of every two columns. A column of categories is a block of zeros with one one; a number between -1 and 1
/// becomes its weights at the two nearest of `parts` places, which add up to one. Means over records are then shares of pairs of
/// values: the two-way marginals of the table, of numbers by linear interpolation.
///
/// All products are over the root of the number of pairs, so that no example has a norm above one.
///
/// # Source
/// Marginal queries as in McKenna, Miklau and Sheldon 2021, "Winning the NIST contest", section 2; that a generator is trained on
/// their answers is Liu, Vietri and Wu 2021, "Iterative methods for private synthetic data", section 4.2.
pub struct Marginals {
    /// Widths of the columns in the input.
    widths: Vec<usize>,
    /// Places of a number.
    parts: usize,
    inputs: usize,
    outputs: usize,
    /// Over the root of the number of pairs.
    unit: f32,
}

/// Where a number lies among its places: the lower of two neighbours, and how far from there to the next.
fn place(value: f32, parts: usize) -> (usize, f32) {
    let position = 0.5 * (value + 1.0) * (parts - 1) as f32;
    let lower = (position.max(0.0) as usize).min(parts - 2);
    (lower, (position - lower as f32).clamp(0.0, 1.0))
}

impl Marginals {
    /// Widths of the columns, in order, one for a number; and the places of a number.
    pub fn new(context: &Context, widths: &[usize], parts: usize) -> Result<Marginals> {
        let Shape::Vector(inputs) = context.input else {
            return context.refuse("it takes a vector [features]");
        };
        if widths.len() < 2 || widths.contains(&0) {
            return context.refuse("it needs two columns, and every one has at least one value");
        }
        if parts < 2 {
            return context.refuse("parts must be at least 2");
        }
        if widths.iter().sum::<usize>() != inputs {
            return context
                .refuse(&format!("its columns have {} values in all", widths.iter().sum::<usize>()));
        }
        let encoded = |width: &usize| if *width == 1 { parts } else { *width };
        let whole: usize = widths.iter().map(encoded).sum();
        if limits::product(&[whole, whole], limits::EDGE).is_none() {
            return context.refuse(&format!("its products would be more than {} values", limits::EDGE / 2));
        }
        let squares: usize = widths.iter().map(|width| encoded(width).pow(2)).sum();
        let pairs = widths.len() * (widths.len() - 1) / 2;
        Ok(Marginals {
            widths: widths.to_vec(),
            parts,
            inputs,
            outputs: (whole * whole - squares) / 2,
            unit: 1.0 / (pairs as f32).sqrt(),
        })
    }

    /// Widths of the columns as they are multiplied.
    fn encoded(&self) -> impl Iterator<Item = usize> + Clone {
        let parts = self.parts;
        self.widths.iter().map(move |width| if *width == 1 { parts } else { *width })
    }

    fn encoded_len(&self) -> usize {
        self.encoded().sum()
    }

    /// Numbers by their places, categories as they are.
    fn encode(&self, input: &[f32], encoded: &mut [f32]) {
        let (mut from, mut to) = (0, 0);
        for (&width, wide) in self.widths.iter().zip(self.encoded()) {
            let block = &mut encoded[to..to + wide];
            match width {
                1 => {
                    let (lower, rest) = place(input[from], self.parts);
                    block.fill(0.0);
                    (block[lower], block[lower + 1]) = (1.0 - rest, rest);
                }
                _ => block.copy_from_slice(&input[from..from + width]),
            }
            (from, to) = (from + width, to + wide);
        }
    }

    /// Calls back for each value of a column and each later column: where the value is, where the column is among the encoded, and where
    /// their products are.
    fn products(&self, mut each: impl FnMut(usize, std::ops::Range<usize>, std::ops::Range<usize>)) {
        let mut product = 0;
        let mut start = 0;
        for (column, width) in self.encoded().enumerate() {
            let mut other = start + width;
            for wide in self.encoded().skip(column + 1) {
                for value in start..start + width {
                    each(value, other..other + wide, product..product + wide);
                    product += wide;
                }
                other += wide;
            }
            start += width;
        }
    }
}

impl Layer for Marginals {
    fn kind(&self) -> &'static str {
        "marginals"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.outputs)
    }

    /// One row as it is multiplied, and its gradient.
    fn scratch_len(&self, _pass: &crate::layer::Pass) -> usize {
        2 * self.encoded_len()
    }

    fn forward(&self, Forward { input, output, memory, .. }: Forward) {
        let row = &mut memory.scratch[..self.encoded_len()];
        for (input, output) in input.chunks_exact(self.inputs).zip(output.chunks_exact_mut(self.outputs)) {
            self.encode(input, row);
            self.products(|value, other, product| {
                scale_into(&mut output[product], self.unit * row[value], &row[other])
            });
        }
    }

    fn backward(&self, Backward { values, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let (row, rest) = memory.scratch.split_at_mut(self.encoded_len());
        let slopes = &mut rest[..row.len()];
        let examples = values.input.chunks_exact(self.inputs).zip(upstream.chunks_exact(self.outputs));
        for ((input, upstream), downstream) in examples.zip(downstream.chunks_exact_mut(self.inputs)) {
            self.encode(input, row);
            slopes.fill(0.0);
            self.products(|value, other, product| {
                let upstream = &upstream[product];
                slopes[value] += dot(&row[other.clone()], upstream);
                add_scaled(&mut slopes[other], row[value], upstream);
            });
            let (mut from, mut to) = (0, 0);
            for (&width, wide) in self.widths.iter().zip(self.encoded()) {
                match width {
                    1 => {
                        let (lower, _) = place(input[from], self.parts);
                        let slope = slopes[to + lower + 1] - slopes[to + lower];
                        let inside = input[from].abs() <= 1.0;
                        downstream[from] =
                            if inside { 0.5 * self.unit * (self.parts - 1) as f32 * slope } else { 0.0 };
                    }
                    _ => scale_into(&mut downstream[from..from + width], self.unit, &slopes[to..to + width]),
                }
                (from, to) = (from + width, to + wide);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::Purpose;
    use crate::{Batch, Engine, ModelDescription, Options};
    use std::sync::Arc;

    fn outputs(layer: &str, inputs: &[f32]) -> Vec<f32> {
        let text = format!("input = [{}]\nlayers = [{{ type = \"marginals\", {layer} }}]", inputs.len());
        let network = Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap());
        let mut outputs = vec![0.0; network.output().len()];
        let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
        engine.outputs(&[], &Batch::new(inputs.to_vec(), vec![0]), &mut outputs).unwrap();
        outputs
    }

    /// A number a quarter of the way between the first two of three places, beside one of two categories and a number at its end: three
    /// pairs of columns.
    #[test]
    fn an_example_by_hand() {
        let found = outputs("widths = [1, 2, 1], parts = 3", &[-0.75, 0.0, 1.0, 5.0]);
        let expected = [
            0.0, 0.75, 0.0, 0.25, 0.0, 0.0, // the number and the category
            0.0, 0.0, 0.75, 0.0, 0.0, 0.25, 0.0, 0.0, 0.0, // both numbers
            0.0, 0.0, 0.0, 0.0, 0.0, 1.0, // the category and the number
        ];
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected / 3f32.sqrt()).abs() < 1e-6, "{found} for {expected}");
        }
    }

    /// Of rows with one value for each column the norm is one, of others it is less.
    #[test]
    fn no_row_has_a_norm_above_one() {
        let norm = |inputs: &[f32]| {
            outputs("widths = [1, 3, 2], parts = 5", inputs).iter().map(|value| value * value).sum::<f32>()
        };
        assert!((norm(&[0.5, 1.0, 0.0, 0.0, 0.0, 1.0]) - 1.0).abs() < 1e-6);
        assert!(norm(&[0.6, 0.2, 0.5, 0.3, 0.5, 0.5]) < 1.0);
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        for (options, part) in [
            ("widths = [2]", "two columns"),
            ("widths = [2, 0]", "at least one value"),
            ("widths = [2, 1]", "3 values in all"),
            ("widths = [1, 1], parts = 1", "at least 2"),
        ] {
            let text = format!("input = [2]\nlayers = [{{ type = \"marginals\", {options} }}]");
            let message = ModelDescription::from_toml(&text).unwrap().network().err().unwrap().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
