//! Transposed convolution: the backward pass of a convolution, used forwards.

use crate::ends::Ends;
use crate::error::Result;
use crate::kernel::elementwise::add;
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Factors, Forward, Gradients, Initial, Layer, Pass, Summation, Tensor, Values};
use crate::layers::Context;
use crate::layers::conv2d::Conv2d;
use crate::layers::pixel_bias;
use crate::layers::window::{Extent, Window};
use crate::shape::Shape;

/// Transposed convolution with stride, padding and output padding.
///
/// Behind it stands the convolution from its output shape to its input shape: forward is that one's input gradient,
/// the input gradient is that one's forward, and the weight gradient is the same with image and upstream exchanged.
///
/// # Source
/// Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning", section 4; PyTorch's
/// `ConvTranspose2d`.
pub struct ConvTranspose2d {
    convolution: Conv2d,
    weight_len: usize,
    shape: Shape,
    channels: usize,
    bias: bool,
}

/// The options of a [`ConvTranspose2d`] beside its channels.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Window.
    pub kernel: Extent,
    /// Distance between the windows of neighbouring inputs.
    pub stride: Extent,
    /// Border cut off from the output.
    pub padding: Extent,
    /// Rows and columns added below and to the right.
    pub output_padding: Extent,
}

impl ConvTranspose2d {
    /// A transposed convolution to `channels` outputs.
    pub fn new(context: &Context, channels: usize, stretch: Stretch, bias: bool) -> Result<ConvTranspose2d> {
        let Shape::Image { height, width, channels: inputs } = context.input else {
            return context.refuse("it takes an image [channels, height, width]");
        };
        let (kernel, stride) = (stretch.kernel.pair(), stretch.stride.pair());
        let (padding, extra) = (stretch.padding.pair(), stretch.output_padding.pair());
        if channels == 0 || kernel.0 == 0 || kernel.1 == 0 {
            return context.refuse("channels and kernel must be at least 1");
        }
        if extra.0 >= stride.0 || extra.1 >= stride.1 {
            return context.refuse("output padding must be smaller than the stride");
        }
        let size = |size: usize, kernel: usize, stride: usize, padding: usize, extra: usize| {
            ((size - 1) * stride + kernel + extra).checked_sub(2 * padding).filter(|&size| size > 0)
        };
        let (Some(output_height), Some(output_width)) = (
            size(height, kernel.0, stride.0, padding.0, extra.0),
            size(width, kernel.1, stride.1, padding.1, extra.1),
        ) else {
            return context.refuse("its padding leaves no output");
        };
        let shape = Shape::image(channels, output_height, output_width);
        let behind =
            Context { name: context.name.clone(), kind: context.kind, input: shape, ends: Ends::default() };
        let window = Window::new(&behind, stretch.kernel, stretch.stride, stretch.padding)?;
        Ok(ConvTranspose2d {
            convolution: Conv2d::new(&behind, inputs, window, 1, false)?,
            weight_len: window.taps() * inputs * channels,
            shape,
            channels,
            bias,
        })
    }
}

impl Layer for ConvTranspose2d {
    fn kind(&self) -> &'static str {
        "conv-transpose2d"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.convolution.tensors();
        if self.bias {
            let initial = tensors.first().map_or(Initial::Constant(0.0), |weight| weight.initial);
            tensors.push(Tensor::new("bias", vec![self.channels], initial));
        }
        tensors
    }

    fn multiply_adds(&self) -> u64 {
        self.convolution.multiply_adds()
    }

    fn prepared_len(&self) -> usize {
        self.convolution.prepared_len()
    }

    fn prepare(&self, parameters: &[f32], prepared: &mut [f32]) {
        self.convolution.prepare(&parameters[..self.weight_len], prepared);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        self.convolution.tape_len(pass)
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        self.convolution.scratch_len(pass).max(self.channels)
    }

    fn forward(&self, Forward { weights, pass, input, output, memory }: Forward) {
        // The convolution's backward pass does not look at its values.
        let values = Values { input: &[], output: &[] };
        let downstream = Some(&mut *output);
        self.convolution.backward(Backward { weights, pass, values, upstream: input, downstream, memory });
        if self.bias {
            let bias = &weights.parameters[self.weight_len..];
            output.chunks_exact_mut(self.channels).for_each(|pixel| add(pixel, bias));
        }
    }

    fn backward(&self, Backward { weights, pass, upstream, downstream, memory, .. }: Backward) {
        match downstream {
            Some(output) => {
                self.convolution.forward(Forward { weights, pass, input: upstream, output, memory })
            }
            None => self.convolution.keep(pass, upstream, memory.tape),
        }
    }

    fn squared_norms(&self, Gradients { pass, input, upstream, memory }: Gradients, norms: &mut [f64]) {
        let (weight_norms, bias_norms) = norms.split_at_mut(pass.batch);
        if self.bias {
            let sum = &mut memory.scratch[..self.channels];
            for (norm, upstream) in bias_norms.iter_mut().zip(upstream.chunks_exact(self.shape.len())) {
                *norm = pixel_bias::example_gradient(upstream, sum);
            }
        }
        let exchanged = Gradients { pass, input: upstream, upstream: input, memory };
        self.convolution.squared_norms(exchanged, weight_norms);
    }

    fn summation(&self) -> Summation {
        self.convolution.summation()
    }

    fn accumulate(
        &self,
        Gradients { pass, input, upstream, memory }: Gradients,
        factors: Factors,
        gradient: &mut [f32],
    ) {
        let (weight, bias) = gradient.split_at_mut(self.weight_len);
        if self.bias {
            pixel_bias::accumulate(upstream, self.shape.len(), factors, bias, memory.scratch);
        }
        let exchanged = Gradients { pass, input: upstream, upstream: input, memory };
        self.convolution.accumulate(exchanged, factors, weight);
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }

    /// PyTorch lists the outputs of the weights second.
    fn output_axis(&self, tensor: &Tensor) -> usize {
        usize::from(tensor.sizes.len() > 1)
    }
}
