//! Wavelet scattering: features of an image that nobody has to learn.

mod bank;
mod buffers;
mod butterfly;
mod fourier;
mod low_pass;
mod spectra;

use crate::error::Result;
use crate::layer::{Around, Backward, Forward, Layer, Pass, RelevanceRule};
use crate::layers::Context;
use crate::shape::Shape;
use bank::{ANGLES, Filter};
use buffers::{Buffers, Sizes, Small};
use fourier::{Complex, LANES, Lane, Plane};
use low_pass::LowPass;
use spectra::{complex, direct, filter, filter_coarse, moduli, reals, unfilter, unfilter_coarse};
use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;

/// Octaves: wavelets have scales 1 and 2, and what comes out is a mean over 4 pixels.
const OCTAVES: usize = 2;

/// Side of the square of pixels that becomes one.
const STRIDE: usize = 1 << OCTAVES;

/// Rows and columns that an image may have: more than are averaged over, and not so many that the filters take long to make.
const SIDES: RangeInclusive<usize> = STRIDE + 1..=256;

/// Outputs for every channel and place: the mean, the moduli of both scales, and the coarse moduli of the fine ones.
const PATHS: usize = 1 + OCTAVES * ANGLES + ANGLES * ANGLES;

/// The scattering transform of second order over two octaves and eight orientations: an image of height H, width W and C channels
/// becomes one of H/4 by W/4 with 81·C channels, those of the first channel before those of the second.
///
/// It has no parameters, so its features are the same for everyone and cost no privacy.
///
/// # Source
/// Bruna and Mallat 2013, "Invariant scattering convolution networks"; Oyallon and Mallat 2015, "Deep roto-translation scattering
/// for object classification". Filters, padding and the order of outputs are those of Kymatio (Andreux et al. 2020).
pub struct Scattering {
    height: usize,
    width: usize,
    channels: usize,
    /// Made when they are first needed: a network that is only described has none.
    tables: OnceLock<Tables>,
}

/// What follows from the size of an image.
struct Tables {
    /// Which pixel stands at every place of the image with its mirrored border.
    mirrored: Vec<usize>,
    /// Planes of the image with its border, and of half its size.
    full: Plane,
    half: Plane,
    /// Spectra of the wavelets, divided by the number of pixels.
    fine: Vec<Vec<f32>>,
    coarse: Vec<Vec<f32>>,
    /// Means, of planes of full size and of half.
    mean: LowPass,
    half_mean: LowPass,
}

/// Rows or columns with the border, of which every fourth is kept but for the first and the last.
fn bordered(size: usize) -> usize {
    ((size + STRIDE) / STRIDE + 1) * STRIDE
}

impl Tables {
    fn new(height: usize, width: usize) -> Tables {
        let (tall, wide) = (bordered(height), bordered(width));
        let mirror = |place: usize, border: usize, size: usize| {
            let distance = place.abs_diff(border);
            if distance < size { distance } else { 2 * (size - 1) - distance }
        };
        let pixel = |place: usize| {
            let y = mirror(place / wide, (tall - height) / 2, height);
            y * width + mirror(place % wide, (wide - width) / 2, width)
        };
        let wavelets = |scale: usize| {
            let spectrum = |orientation: usize| Filter::morlet(tall, wide, scale, orientation).values;
            let scaled = |value: f64| (value / (tall * wide) as f64) as f32;
            (0..ANGLES).map(|orientation| spectrum(orientation).into_iter().map(scaled).collect()).collect()
        };
        let mean = Filter::low_pass(tall, wide, OCTAVES);
        Tables {
            mirrored: (0..tall * wide).map(pixel).collect(),
            full: Plane::new(tall, wide),
            half: Plane::new(tall / 2, wide / 2),
            fine: wavelets(0),
            coarse: wavelets(1),
            mean: LowPass::new(&mean, STRIDE),
            half_mean: LowPass::new(&mean.coarser(1), STRIDE / 2),
        }
    }
}

impl Scattering {
    /// Of images with more pixels in each direction than are averaged over.
    pub fn new(context: &Context) -> Result<Scattering> {
        let Shape::Image { height, width, channels } = context.input else {
            return context.refuse("it takes images");
        };
        if !(SIDES.contains(&height) && SIDES.contains(&width)) {
            return context.refuse("it takes images of 5 to 256 rows and columns");
        }
        Ok(Scattering { height, width, channels, tables: OnceLock::new() })
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::new(self.height, self.width))
    }

    /// The planes of a micro-batch, channel after channel and example after example, some at a time.
    fn groups(&self, batch: usize) -> impl Iterator<Item = Range<usize>> {
        let planes = batch * self.channels;
        (0..planes).step_by(LANES).map(move |first| first..planes.min(first + LANES))
    }

    /// Where a pixel of a plane lies.
    fn input_place(&self, plane: usize, pixel: usize) -> usize {
        let (example, channel) = (plane / self.channels, plane % self.channels);
        (example * self.height * self.width + pixel) * self.channels + channel
    }

    /// Where an output of a plane lies.
    fn output_place(&self, plane: usize, place: usize, path: usize) -> usize {
        let (example, channel) = (plane / self.channels, plane % self.channels);
        example * self.output().len() + (place * self.channels + channel) * PATHS + path
    }

    fn sizes(&self) -> Sizes {
        let (tall, wide) = (bordered(self.height), bordered(self.width));
        Sizes { full: tall * wide, half: tall * wide / 4, side: tall.max(wide) }
    }

    /// The image of some planes with its border, and its spectrum.
    fn load(&self, input: &[f32], planes: &Range<usize>, buffers: &mut Buffers) {
        let tables = self.tables();
        for (value, pixel) in buffers.reals.iter_mut().zip(&tables.mirrored) {
            *value = [0.0; LANES];
            for (value, plane) in value.iter_mut().zip(planes.clone()) {
                *value = input[self.input_place(plane, *pixel)];
            }
        }
        complex(buffers.reals, buffers.spectrum);
        tables.full.forward(buffers.spectrum, buffers.small.work);
    }

    /// Outputs of some planes.
    fn forward_planes(
        &self,
        input: &[f32],
        planes: &Range<usize>,
        output: &mut [f32],
        buffers: &mut Buffers,
    ) {
        let mut write = |mean: &LowPass, reals: &[Lane], row: &mut [Lane], path: usize| {
            mean.apply(reals, row, |place, means| {
                for (plane, mean) in planes.clone().zip(means) {
                    output[self.output_place(plane, place, path)] = *mean;
                }
            });
        };
        let tables = self.tables();
        self.load(input, planes, buffers);
        let Buffers { spectrum, wave, reals, small, .. } = buffers;
        write(&tables.mean, reals, small.row, 0);
        for (angle, wavelet) in tables.coarse.iter().enumerate() {
            self.coarse_wave(spectrum, wavelet, small);
            moduli(small.half, small.reals);
            write(&tables.half_mean, small.reals, small.row, coarse_path(angle));
        }
        for (angle, wavelet) in tables.fine.iter().enumerate() {
            filter(spectrum, wavelet, wave);
            tables.full.backward(wave, small.work);
            moduli(wave, reals);
            write(&tables.mean, reals, small.row, fine_path(angle));
            complex(reals, wave);
            tables.full.forward(wave, small.work);
            for (second, wavelet) in tables.coarse.iter().enumerate() {
                self.coarse_wave(wave, wavelet, small);
                moduli(small.half, small.reals);
                write(&tables.half_mean, small.reals, small.row, second_path(angle, second));
            }
        }
    }

    /// A plane under a coarse wavelet, every other row and column of it.
    fn coarse_wave(&self, spectrum: &[Complex], wavelet: &[f32], small: &mut Small) {
        let tables = self.tables();
        filter_coarse(spectrum, wavelet, &tables.half, small.half);
        tables.half.backward(small.half, small.work);
    }

    /// What outputs of some planes carry back to the image: everything is computed once more, and gone back through.
    fn backward_planes(
        &self,
        Around { input, upstream }: Around,
        planes: &Range<usize>,
        downstream: &mut [f32],
        buffers: &mut Buffers,
    ) {
        let given = |path: usize| {
            move |place: usize| -> Lane {
                let mut lane = [0.0; LANES];
                for (value, plane) in lane.iter_mut().zip(planes.clone()) {
                    *value = upstream[self.output_place(plane, place, path)];
                }
                lane
            }
        };
        let tables = self.tables();
        self.load(input, planes, buffers);
        let Buffers { spectrum, wave, inner, inner_gradient, gradient, reals: plane, small } = buffers;
        gradient.fill([[0.0; LANES]; 2]);
        for (angle, wavelet) in tables.coarse.iter().enumerate() {
            self.coarse_wave(spectrum, wavelet, small);
            self.carry_back_coarse(wavelet, given(coarse_path(angle)), small, gradient);
        }
        for (angle, wavelet) in tables.fine.iter().enumerate() {
            filter(spectrum, wavelet, wave);
            tables.full.backward(wave, small.work);
            moduli(wave, plane);
            complex(plane, inner);
            tables.full.forward(inner, small.work);
            inner_gradient.fill([[0.0; LANES]; 2]);
            for (second, wavelet) in tables.coarse.iter().enumerate() {
                self.coarse_wave(inner, wavelet, small);
                self.carry_back_coarse(wavelet, given(second_path(angle, second)), small, inner_gradient);
            }
            tables.full.backward(inner_gradient, small.work);
            reals(inner_gradient, plane);
            tables.mean.carry_back(plane, small.row, given(fine_path(angle)));
            direct(wave, plane);
            tables.full.forward(wave, small.work);
            unfilter(wave, wavelet, gradient);
        }
        tables.full.backward(gradient, small.work);
        reals(gradient, plane);
        tables.mean.carry_back(plane, small.row, given(0));
        for (gradient, pixel) in plane.iter().zip(&tables.mirrored) {
            for (gradient, plane) in gradient.iter().zip(planes.clone()) {
                downstream[self.input_place(plane, *pixel)] += gradient;
            }
        }
    }

    /// From the outputs of a coarse wave to the spectrum that it was filtered from.
    fn carry_back_coarse(
        &self,
        wavelet: &[f32],
        given: impl Fn(usize) -> Lane,
        small: &mut Small,
        spectrum: &mut [Complex],
    ) {
        let tables = self.tables();
        small.reals.fill([0.0; LANES]);
        tables.half_mean.carry_back(small.reals, small.row, given);
        direct(small.half, small.reals);
        tables.half.forward(small.half, small.work);
        unfilter_coarse(small.half, wavelet, &tables.half, spectrum);
    }
}

/// The place of the mean modulus under a fine wavelet among the outputs; that of the mean itself is the first.
fn fine_path(angle: usize) -> usize {
    1 + angle
}

/// That of a coarse wavelet.
fn coarse_path(angle: usize) -> usize {
    1 + ANGLES + angle
}

/// That of a coarse wavelet on the modulus of a fine one.
fn second_path(fine: usize, coarse: usize) -> usize {
    1 + OCTAVES * ANGLES + fine * ANGLES + coarse
}

impl Layer for Scattering {
    fn kind(&self) -> &'static str {
        "scattering"
    }

    fn output(&self) -> Shape {
        Shape::Image {
            height: bordered(self.height) / STRIDE - 2,
            width: bordered(self.width) / STRIDE - 2,
            channels: PATHS * self.channels,
        }
    }

    /// Transforms of a plane of n numbers take about 5·n·log2(n) operations, half of them additions; the wavelets and the means take
    /// about as much again.
    fn multiply_adds(&self) -> u64 {
        let Sizes { full, half, .. } = self.sizes();
        let transform = |len: usize| 5 * len as u64 * u64::from(len.ilog2()) / 2;
        let angles = ANGLES as u64;
        2 * self.channels as u64
            * ((1 + 2 * angles) * transform(full) + (angles + angles * angles) * transform(half))
    }

    fn scratch_len(&self, _pass: &Pass) -> usize {
        self.sizes().len()
    }

    fn forward(&self, call: Forward) {
        let mut buffers = Buffers::new(self.sizes(), call.memory.scratch);
        for planes in self.groups(call.pass.batch) {
            self.forward_planes(call.input, &planes, call.output, &mut buffers);
        }
    }

    fn backward(&self, call: Backward) {
        let Some(downstream) = call.downstream else { return };
        downstream.fill(0.0);
        let mut buffers = Buffers::new(self.sizes(), call.memory.scratch);
        let around = Around { input: call.values.input, upstream: call.upstream };
        for planes in self.groups(call.pass.batch) {
            self.backward_planes(around, &planes, downstream, &mut buffers);
        }
    }

    /// Moduli of sums: not linear, but twice the input gives twice the output, so that by Euler's theorem inputs times their
    /// derivatives add up to the output, as the terms of a sum do.
    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Proportional)
    }
}
