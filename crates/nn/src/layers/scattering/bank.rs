//! Morlet wavelets on a torus, by their Fourier transforms.

use std::f64::consts::PI;

/// What two-dimensional Gaussians of unit mass are divided by holds this value of π, as in the implementation whose features
/// are published.
#[expect(clippy::approx_constant, reason = "it is not meant to be exact")]
const PUBLISHED_PI: f64 = 3.1415;

/// Copies of a filter that are wrapped around the torus, in each direction.
const WRAPS: i64 = 2;

/// Orientations.
pub(super) const ANGLES: usize = 8;

/// A filter in the Fourier domain, where it is real.
pub(super) struct Filter {
    pub height: usize,
    pub width: usize,
    pub values: Vec<f64>,
}

/// An oriented wave under a Gaussian, wrapped around a torus.
struct Gabor {
    deviation: f64,
    angle: f64,
    frequency: f64,
    slant: f64,
}

impl Gabor {
    /// Values in space, real and imaginary.
    fn values(&self, height: usize, width: usize) -> Vec<[f64; 2]> {
        let (sine, cosine) = self.angle.sin_cos();
        let squeeze = self.slant * self.slant;
        let scale = 2.0 * self.deviation * self.deviation;
        let [yy, yx, xx] = [
            (cosine * cosine + squeeze * sine * sine) / scale,
            2.0 * cosine * sine * (1.0 - squeeze) / scale,
            (sine * sine + squeeze * cosine * cosine) / scale,
        ];
        let norm = PUBLISHED_PI * scale / self.slant;
        let value = |y: f64, x: f64| {
            let envelope = (-(yy * y * y + yx * y * x + xx * x * x)).exp() / norm;
            let phase = self.frequency * (y * cosine + x * sine);
            [envelope * phase.cos(), envelope * phase.sin()]
        };
        let wrapped = |place: usize, size: usize| {
            (-WRAPS..=WRAPS).map(move |wrap| (place as i64 + wrap * size as i64) as f64)
        };
        let place = |index: usize| {
            let points = wrapped(index / width, height)
                .flat_map(|y| wrapped(index % width, width).map(move |x| (y, x)));
            points.fold([0.0; 2], |[real, imaginary], (y, x)| {
                let [more_real, more_imaginary] = value(y, x);
                [real + more_real, imaginary + more_imaginary]
            })
        };
        (0..height * width).map(place).collect()
    }
}

impl Filter {
    /// The wavelet of scale 2^`scale` and of one orientation: a wave under a Gaussian, less what gives it a mean.
    ///
    /// # Source
    /// Bruna and Mallat 2013, "Invariant scattering convolution networks"; constants as in Kymatio (Andreux et al. 2020).
    pub fn morlet(height: usize, width: usize, scale: usize, orientation: usize) -> Filter {
        let octave = f64::from(1_u32 << scale);
        let gabor = |frequency: f64| Gabor {
            deviation: 0.8 * octave,
            angle: ((ANGLES - ANGLES / 2 - 1) as f64 - orientation as f64) * PI / ANGLES as f64,
            frequency,
            slant: 4.0 / ANGLES as f64,
        };
        let wave = gabor(0.75 * PI / octave).values(height, width);
        let envelope = gabor(0.0).values(height, width);
        let sum = |values: &[[f64; 2]], part: usize| values.iter().map(|value| value[part]).sum::<f64>();
        let mass = sum(&envelope, 0);
        let mean = [sum(&wave, 0) / mass, sum(&wave, 1) / mass];
        let pairs = wave.iter().zip(&envelope);
        let values: Vec<[f64; 2]> =
            pairs.map(|(wave, envelope)| [0, 1].map(|part| wave[part] - mean[part] * envelope[0])).collect();
        Filter::transformed(height, width, &values)
    }

    /// The Gaussian that averages over 2^`scale` pixels.
    pub fn low_pass(height: usize, width: usize, scale: usize) -> Filter {
        let deviation = 0.8 * f64::from(1_u32 << (scale - 1));
        let gabor = Gabor { deviation, angle: 0.0, frequency: 0.0, slant: 1.0 };
        Filter::transformed(height, width, &gabor.values(height, width))
    }

    /// The real part of the Fourier transform; the imaginary part of such filters is zero.
    fn transformed(height: usize, width: usize, values: &[[f64; 2]]) -> Filter {
        let turns = |size: usize| -> Vec<(f64, f64)> {
            (0..size).map(|place| (2.0 * PI * place as f64 / size as f64).sin_cos()).collect()
        };
        let (along, down) = (turns(width), turns(height));
        // Along rows, then along columns: the plain sums, since this happens once.
        let mut rows = vec![[0.0; 2]; height * width];
        for (index, row) in rows.iter_mut().enumerate() {
            let (y, v) = (index / width, index % width);
            for x in 0..width {
                let ((sine, cosine), [real, imaginary]) = (along[v * x % width], values[y * width + x]);
                row[0] += real * cosine + imaginary * sine;
                row[1] += imaginary * cosine - real * sine;
            }
        }
        let real_part = |index: usize| {
            let (u, v) = (index / width, index % width);
            let term = |y: usize| {
                let ((sine, cosine), [real, imaginary]) = (down[u * y % height], rows[y * width + v]);
                real * cosine + imaginary * sine
            };
            (0..height).map(term).sum::<f64>()
        };
        Filter { height, width, values: (0..height * width).map(real_part).collect() }
    }

    /// The filter for planes of which only every 2^`octaves`-th row and column is left: high frequencies are cut off.
    pub fn coarser(&self, octaves: usize) -> Filter {
        let (height, width) = (self.height >> octaves, self.width >> octaves);
        let cut = |place: usize, size: usize| {
            let (first, kept) = (size >> (octaves + 1), size >> octaves);
            octaves > 0 && (first..first + size - kept).contains(&place)
        };
        let mut values = vec![0.0; height * width];
        for (index, value) in self.values.iter().enumerate() {
            let (u, v) = (index / self.width, index % self.width);
            if !cut(u, self.height) && !cut(v, self.width) {
                values[(u % height) * width + v % width] += value;
            }
        }
        Filter { height, width, values }
    }
}
