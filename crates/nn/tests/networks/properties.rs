//! Layers over random shapes against naive references in double precision.

use crate::common::layer_run::{Run, run};
use crate::common::relative_error;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::SplitMix;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Purpose, Shape};
use proptest::prelude::*;

const TOLERANCE: f64 = 1e-5;

/// A layer that is linear in its input and in its weights, written out: `output[o] += input[i] · weight[w]` for every
/// link `(i, w, o)` of one example.
struct Links {
    links: Vec<(usize, usize, usize)>,
    inputs: usize,
    weights: usize,
    outputs: usize,
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

impl Links {
    /// What a layer with these links and a bias should make of a batch.
    fn reference(&self, parameters: &[f32], bias_len: usize, input: &[f32], upstream: &[f32]) -> Run {
        let batch = upstream.len() / self.outputs;
        let (mut output, mut downstream) = (vec![0.0; upstream.len()], vec![0.0; input.len()]);
        let mut sum = vec![0.0; self.weights + bias_len];
        let mut norms = vec![0.0; if bias_len > 0 { 2 * batch } else { batch }];
        let wide = |value: f32| f64::from(value);
        for example in 0..batch {
            let mut gradient = vec![0.0; self.weights + bias_len];
            let (inputs, outputs) = (example * self.inputs, example * self.outputs);
            for &(i, w, o) in &self.links {
                let (value, slope) = (wide(input[inputs + i]), wide(upstream[outputs + o]));
                output[outputs + o] += value * wide(parameters[w]);
                downstream[inputs + i] += slope * wide(parameters[w]);
                gradient[w] += slope * value;
            }
            // Channels lie side by side, so the bias repeats along the outputs.
            for o in 0..if bias_len > 0 { self.outputs } else { 0 } {
                output[outputs + o] += wide(parameters[self.weights + o % bias_len]);
                gradient[self.weights + o % bias_len] += wide(upstream[outputs + o]);
            }
            let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
            norms[example] = norm(&gradient[..self.weights]);
            if bias_len > 0 {
                norms[batch + example] = norm(&gradient[self.weights..]);
            }
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
        }
        Run { output: narrow(&output), downstream: narrow(&downstream), gradient: narrow(&sum), norms }
    }
}

fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut generator = SplitMix::new(seed);
    (0..len).map(|_| generator.normal()).collect()
}

fn compare(what: &str, computed: &[f32], expected: &[f32]) {
    let error = relative_error(computed, expected);
    assert!(error <= TOLERANCE, "{what} differs by {error}");
}

/// Runs a layer with random values and compares everything it computes.
fn check(config: &LayerConfig, shape: Shape, links: &Links, seed: u64) {
    let layer = config.build("layer", shape).expect("a valid layer");
    let batch = 1 + (seed % 3) as usize;
    assert_eq!(layer.output().len(), links.outputs, "{config:?} of {shape}");
    let lens: Vec<usize> = layer.tensors().iter().map(|tensor| tensor.len()).collect();
    let parameters = random(lens.iter().sum(), seed);
    let input = random(batch * links.inputs, seed ^ 1);
    let upstream = random(batch * links.outputs, seed ^ 2);
    let bias = lens.get(1).copied().unwrap_or(0);
    let expected = links.reference(&parameters, bias, &input, &upstream);
    for purpose in [Purpose::Evaluate, Purpose::Plain, Purpose::PerExample] {
        let found = run(&*layer, purpose, &parameters, &input, &upstream);
        compare("output", &found.output, &expected.output);
        if purpose != Purpose::Evaluate {
            compare("input gradient", &found.downstream, &expected.downstream);
            compare("gradient", &found.gradient, &expected.gradient);
        }
        if purpose == Purpose::PerExample {
            // Those from Gram matrices are larger by all that rounding could have taken away.
            let error = relative_error(&found.norms, &expected.norms);
            assert!(error <= 1e-4, "norms differ by {error}");
        }
    }
}

/// An image and a window that fits into it.
#[derive(Clone, Copy, Debug)]
struct Slide {
    image: (usize, usize),
    kernel: (usize, usize),
    stride: (usize, usize),
    padding: (usize, usize),
}

impl Slide {
    fn positions(&self) -> (usize, usize) {
        let count = |size: usize, kernel: usize, stride: usize, padding: usize| {
            (size + 2 * padding - kernel) / stride + 1
        };
        (
            count(self.image.0, self.kernel.0, self.stride.0, self.padding.0),
            count(self.image.1, self.kernel.1, self.stride.1, self.padding.1),
        )
    }

    /// Every `(output row, output column, tap row, tap column, image row, image column)` on the image.
    fn meetings(&self) -> Vec<[usize; 6]> {
        let (rows, columns) = self.positions();
        let mut meetings = Vec::new();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            for down in 0..self.kernel.0 {
                for right in 0..self.kernel.1 {
                    let y = (row * self.stride.0 + down).wrapping_sub(self.padding.0);
                    let x = (column * self.stride.1 + right).wrapping_sub(self.padding.1);
                    if y < self.image.0 && x < self.image.1 {
                        meetings.push([row, column, down, right, y, x]);
                    }
                }
            }
        }
        meetings
    }
}

fn extent(pair: (usize, usize)) -> Extent {
    Extent::Rectangle([pair.0, pair.1])
}

prop_compose! {
    fn slides()(image in (1usize..10, 1usize..10), padding in (0usize..4, 0usize..4), stride in (1usize..4, 1usize..4))
        (kernel in (1..=(image.0 + 2 * padding.0).min(5), 1..=(image.1 + 2 * padding.1).min(5)),
         image in Just(image), padding in Just(padding), stride in Just(stride)) -> Slide {
        Slide { image, kernel, stride, padding }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn convolution(slide in slides(), groups in 1usize..4, ins in 1usize..4, outs in 1usize..4, bias: bool, seed: u64) {
        let (inputs, outputs) = (groups * ins, groups * outs);
        let (rows, columns) = slide.positions();
        let mut links = Links {
            links: Vec::new(),
            inputs: slide.image.0 * slide.image.1 * inputs,
            weights: slide.kernel.0 * slide.kernel.1 * ins * outputs,
            outputs: rows * columns * outputs,
        };
        for [row, column, down, right, y, x] in slide.meetings() {
            for output in 0..outputs {
                for input in 0..ins {
                    let weight = ((down * slide.kernel.1 + right) * ins + input) * outputs + output;
                    let from = (y * slide.image.1 + x) * inputs + output / outs * ins + input;
                    links.links.push((from, weight, (row * columns + column) * outputs + output));
                }
            }
        }
        let config = LayerConfig::Conv2d {
            channels: outputs,
            kernel: extent(slide.kernel),
            stride: extent(slide.stride),
            padding: extent(slide.padding),
            groups,
            bias,
        };
        check(&config, Shape::image(inputs, slide.image.0, slide.image.1), &links, seed);
    }

    #[test]
    fn convolution_over_steps(slide in slides(), inputs in 1usize..6, outputs in 1usize..20, bias: bool, seed: u64) {
        let slide = Slide { image: (1, slide.image.1), kernel: (1, slide.kernel.1), stride: (1, slide.stride.1),
            padding: (0, slide.padding.1) };
        let mut links = Links {
            links: Vec::new(),
            inputs: slide.image.1 * inputs,
            weights: slide.kernel.1 * inputs * outputs,
            outputs: slide.positions().1 * outputs,
        };
        for [_, step, _, tap, _, from] in slide.meetings() {
            for (input, output) in (0..inputs).flat_map(|input| (0..outputs).map(move |output| (input, output))) {
                let weight = (tap * inputs + input) * outputs + output;
                links.links.push((from * inputs + input, weight, step * outputs + output));
            }
        }
        let (kernel, stride, padding) = (slide.kernel.1, slide.stride.1, slide.padding.1);
        let config = LayerConfig::Conv1d { channels: outputs, kernel, stride, padding, bias };
        check(&config, Shape::Sequence { steps: slide.image.1, features: inputs }, &links, seed);
    }

    #[test]
    fn depthwise_convolution(slide in slides(), channels in 2usize..50, bias: bool, seed: u64) {
        let (rows, columns) = slide.positions();
        let mut links = Links {
            links: Vec::new(),
            inputs: slide.image.0 * slide.image.1 * channels,
            weights: slide.kernel.0 * slide.kernel.1 * channels,
            outputs: rows * columns * channels,
        };
        for [row, column, down, right, y, x] in slide.meetings() {
            for channel in 0..channels {
                links.links.push((
                    (y * slide.image.1 + x) * channels + channel,
                    (down * slide.kernel.1 + right) * channels + channel,
                    (row * columns + column) * channels + channel,
                ));
            }
        }
        let config = LayerConfig::Conv2d {
            channels,
            kernel: extent(slide.kernel),
            stride: extent(slide.stride),
            padding: extent(slide.padding),
            groups: channels,
            bias,
        };
        check(&config, Shape::image(channels, slide.image.0, slide.image.1), &links, seed);
    }

    #[test]
    fn transposed_convolution(
        slide in slides(), extra in (0usize..3, 0usize..3), ins in 1usize..6, outs in 1usize..20, bias: bool, seed: u64
    ) {
        // Here the image is the input; the output is where its windows reach, less the border.
        let extra = (extra.0.min(slide.stride.0 - 1), extra.1.min(slide.stride.1 - 1));
        let size = |image: usize, kernel: usize, stride: usize, padding: usize, extra: usize| {
            ((image - 1) * stride + kernel + extra).saturating_sub(2 * padding)
        };
        let height = size(slide.image.0, slide.kernel.0, slide.stride.0, slide.padding.0, extra.0);
        let width = size(slide.image.1, slide.kernel.1, slide.stride.1, slide.padding.1, extra.1);
        prop_assume!(height > 0 && width > 0);
        let mut links = Links {
            links: Vec::new(),
            inputs: slide.image.0 * slide.image.1 * ins,
            weights: slide.kernel.0 * slide.kernel.1 * ins * outs,
            outputs: height * width * outs,
        };
        let back = Slide { image: (height, width), ..slide };
        prop_assert_eq!(back.positions(), slide.image);
        for [row, column, down, right, y, x] in back.meetings() {
            for output in 0..outs {
                for input in 0..ins {
                    let weight = ((down * slide.kernel.1 + right) * outs + output) * ins + input;
                    let from = (row * slide.image.1 + column) * ins + input;
                    links.links.push((from, weight, (y * width + x) * outs + output));
                }
            }
        }
        let config = LayerConfig::ConvTranspose2d {
            channels: outs,
            kernel: extent(slide.kernel),
            stride: extent(slide.stride),
            padding: extent(slide.padding),
            output_padding: extent(extra),
            bias,
        };
        check(&config, Shape::image(ins, slide.image.0, slide.image.1), &links, seed);
    }

    #[test]
    fn average_pooling(slide in slides(), channels in 1usize..20, seed: u64) {
        let shape = Shape::image(channels, slide.image.0, slide.image.1);
        let config = LayerConfig::AveragePool {
            kernel: extent(slide.kernel),
            stride: Some(extent(slide.stride)),
            padding: extent(slide.padding),
        };
        let layer = config.build("layer", shape).unwrap();
        let (input, upstream) = (random(2 * shape.len(), seed), random(2 * layer.output().len(), seed ^ 1));
        let found = run(&*layer, Purpose::Plain, &[], &input, &upstream);
        let (mut output, mut downstream) = (vec![0.0; upstream.len()], vec![0.0; input.len()]);
        let share = 1.0 / (slide.kernel.0 * slide.kernel.1) as f64;
        let columns = slide.positions().1;
        for [row, column, _, _, y, x] in slide.meetings() {
            for (example, channel) in [0, 1].into_iter().flat_map(|example| (0..channels).map(move |c| (example, c))) {
                let from = example * shape.len() + (y * slide.image.1 + x) * channels + channel;
                let to = example * layer.output().len() + (row * columns + column) * channels + channel;
                output[to] += share * f64::from(input[from]);
                downstream[from] += share * f64::from(upstream[to]);
            }
        }
        compare("output", &found.output, &narrow(&output));
        compare("input gradient", &found.downstream, &narrow(&downstream));
    }

    #[test]
    fn max_pooling(slide in slides(), channels in 1usize..40, ties: bool, seed: u64) {
        let padding = (slide.padding.0.min(slide.kernel.0 / 2), slide.padding.1.min(slide.kernel.1 / 2));
        let slide = Slide { padding, ..slide };
        prop_assume!(slide.image.0 + 2 * padding.0 >= slide.kernel.0);
        prop_assume!(slide.image.1 + 2 * padding.1 >= slide.kernel.1);
        let shape = Shape::image(channels, slide.image.0, slide.image.1);
        let config = LayerConfig::MaxPool {
            kernel: extent(slide.kernel),
            stride: Some(extent(slide.stride)),
            padding: extent(slide.padding),
        };
        let layer = config.build("layer", shape).unwrap();
        let mut input = random(2 * shape.len(), seed);
        if ties {
            input.iter_mut().for_each(|value| *value = value.round());
        }
        let upstream = random(2 * layer.output().len(), seed ^ 1);
        let found = run(&*layer, Purpose::Plain, &[], &input, &upstream);
        let mut best = vec![(f32::NEG_INFINITY, 0); upstream.len()];
        let columns = slide.positions().1;
        for [row, column, _, _, y, x] in slide.meetings() {
            for (example, channel) in [0, 1].into_iter().flat_map(|example| (0..channels).map(move |c| (example, c))) {
                let from = example * shape.len() + (y * slide.image.1 + x) * channels + channel;
                let to = example * layer.output().len() + (row * columns + column) * channels + channel;
                if input[from] > best[to].0 {
                    best[to] = (input[from], from);
                }
            }
        }
        let mut downstream = vec![0.0; input.len()];
        for ((value, from), (output, upstream)) in best.iter().zip(found.output.iter().zip(&upstream)) {
            prop_assert_eq!(value, output);
            downstream[*from] += f64::from(*upstream);
        }
        compare("input gradient", &found.downstream, &narrow(&downstream));
    }

    #[test]
    fn group_normalisation(
        pixels in (1usize..6, 1usize..6), groups in 1usize..5, width in 1usize..12, mean in -1000f32..1000.0, seed: u64
    ) {
        let channels = groups * width;
        let (count, shape) = (pixels.0 * pixels.1, Shape::image(channels, pixels.0, pixels.1));
        // Groups of one value have variance zero: nothing but rounding to compare.
        prop_assume!(count * width > 2);
        let layer = LayerConfig::GroupNorm { groups, affine: true }.build("layer", shape).unwrap();
        let parameters = random(2 * channels, seed);
        let input: Vec<f32> = random(shape.len(), seed ^ 1).iter().map(|value| value + mean).collect();
        let upstream = random(shape.len(), seed ^ 2);
        let found = run(&*layer, Purpose::PerExample, &parameters, &input, &upstream);
        let mut expected = [vec![0.0; shape.len()], vec![0.0; shape.len()], vec![0.0; 2 * channels]];
        let [output, downstream, gradient] = &mut expected;
        for group in 0..groups {
            let places: Vec<usize> = (0..shape.len()).filter(|at| at % channels / width == group).collect();
            let over = |value: &dyn Fn(usize) -> f64| {
                places.iter().map(|&at| value(at)).sum::<f64>() / places.len() as f64
            };
            let center = over(&|at| f64::from(input[at]));
            let variance = over(&|at| (f64::from(input[at]) - center).powi(2));
            let inverse = 1.0 / (variance + 1e-5).sqrt();
            let normal = |at: usize| (f64::from(input[at]) - center) * inverse;
            let scaled = |at: usize| f64::from(upstream[at]) * f64::from(parameters[at % channels]);
            let (mean, slope) = (over(&scaled), over(&|at| scaled(at) * normal(at)));
            for &at in &places {
                let channel = at % channels;
                output[at] = normal(at) * f64::from(parameters[channel]) + f64::from(parameters[channels + channel]);
                downstream[at] = (scaled(at) - mean - normal(at) * slope) * inverse;
                gradient[channel] += f64::from(upstream[at]) * normal(at);
                gradient[channels + channel] += f64::from(upstream[at]);
            }
        }
        // The mean itself is rounded to single precision; a thousand deviations away from zero that shows.
        let tolerance = TOLERANCE * (1.0 + f64::from(mean.abs()));
        for (found, expected) in [&found.output, &found.gradient].into_iter().zip([output, gradient]) {
            let error = relative_error(found, &narrow(expected));
            prop_assert!(error <= tolerance, "differs by {}", error);
        }
        let size = |values: &[f32]| values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let difference: Vec<f32> = found.downstream.iter().zip(&*downstream).map(|(a, b)| (f64::from(*a) - b) as f32).collect();
        // Small groups have almost no input gradient left: measure against what came in.
        prop_assert!(size(&difference) <= 10.0 * tolerance * (size(&upstream) + size(&found.downstream)));
    }
}
