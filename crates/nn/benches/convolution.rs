//! Winograd convolution beside im2col and a matrix product, on the shapes of a ResNet-18 for CIFAR and of a small
//! network with 5x5 kernels: GFLOPS of the direct count, on one thread, the best of many runs.
//!
//! `cargo bench --bench convolution`, optionally followed by `--` and a batch size.

use muffle_nn::kernel::matrix::{Matrix, product};
use std::time::{Duration, Instant};

use muffle_nn::kernel::Line;
use muffle_nn::kernel::winograd::Winograd;

struct Shape {
    side: usize,
    in_channels: usize,
    out_channels: usize,
    kernel: usize,
    batch: usize,
}

impl Shape {
    fn pixels(&self) -> usize {
        self.side * self.side
    }

    /// Values that are summed for one output.
    fn taps(&self) -> usize {
        self.kernel * self.kernel * self.in_channels
    }
}

const SHAPES: [Shape; 5] = [
    Shape { side: 32, in_channels: 64, out_channels: 64, kernel: 3, batch: 1 },
    Shape { side: 16, in_channels: 128, out_channels: 128, kernel: 3, batch: 2 },
    Shape { side: 8, in_channels: 256, out_channels: 256, kernel: 3, batch: 8 },
    Shape { side: 4, in_channels: 512, out_channels: 512, kernel: 3, batch: 16 },
    Shape { side: 14, in_channels: 32, out_channels: 64, kernel: 5, batch: 4 },
];

fn main() {
    let batch = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    println!(
        "{:>32} {:>5} {:>28} {:>28} {:>28} {:>28}",
        "", "batch", "forward", "backward input", "weights", "one by one"
    );
    for shape in &SHAPES {
        measure(&Shape { batch: batch.unwrap_or(shape.batch), ..*shape });
    }
}

/// What goes through a convolution, and room for what comes out.
struct Numbers {
    input: Vec<f32>,
    upstream: Vec<f32>,
    weights: Vec<f32>,
    output: Vec<f32>,
    downstream: Vec<f32>,
    gradients: Vec<f32>,
}

impl Numbers {
    fn new(shape: &Shape) -> Numbers {
        let input = numbers(shape.batch * shape.pixels() * shape.in_channels, 1);
        let upstream = numbers(shape.batch * shape.pixels() * shape.out_channels, 2);
        let weights = numbers(shape.taps() * shape.out_channels, 3);
        Numbers {
            output: vec![0.0; upstream.len()],
            downstream: vec![0.0; input.len()],
            gradients: vec![0.0; shape.batch * weights.len()],
            input,
            upstream,
            weights,
        }
    }
}

fn measure(shape: &Shape) {
    let &Shape { side, in_channels, out_channels, kernel, batch } = shape;
    let operations = 2.0 * (batch * shape.pixels() * shape.taps() * out_channels) as f64;
    let mut numbers = Numbers::new(shape);
    let (preparation, winograd) = winograd_times(shape, &mut numbers);
    let direct = direct_times(shape, &mut numbers);
    print!(
        "{side:>2}x{side:<2} {in_channels:>3} to {out_channels:>3} channels, {kernel}x{kernel} {batch:>5}"
    );
    for (winograd, direct) in winograd.into_iter().zip(direct) {
        let speed = |time: Duration| operations / time.as_secs_f64() / 1e9;
        print!(
            "   {:>5.0} (im2col {:>4.0}, {:>4.2}x)",
            speed(winograd),
            speed(direct),
            direct.as_secs_f64() / winograd.as_secs_f64()
        );
    }
    println!("   weights prepared in {preparation:?}");
}

/// The time to prepare the weights; those of forward, input gradient, and weight gradients together and one by one.
fn winograd_times(shape: &Shape, numbers: &mut Numbers) -> (Duration, [Duration; 4]) {
    let &Shape { side, in_channels, out_channels, kernel, batch } = shape;
    let Numbers { input, upstream, weights, output, downstream, gradients } = numbers;
    let winograd = Winograd::new(side, side, in_channels, out_channels, kernel, kernel / 2);
    let mut transformed = vec![Line::default(); winograd.transformed_weights_len()];
    let mut scratch = vec![Line::default(); winograd.scratch_len()];
    let preparation = best(|| winograd.transform_weights(weights, &mut transformed));
    let forward = best(|| winograd.forward(&transformed, input, batch, output, &mut scratch));
    let backward = best(|| winograd.backward_input(&transformed, upstream, batch, downstream, &mut scratch));
    let together = best(|| {
        let gradient = &mut gradients[..weights.len()];
        winograd.weight_gradient(input, upstream, 0..batch, None, gradient, &mut scratch);
    });
    let alone = best(|| {
        for (example, gradient) in gradients.chunks_exact_mut(weights.len()).enumerate() {
            winograd.weight_gradient(input, upstream, example..example + 1, None, gradient, &mut scratch);
        }
    });
    (preparation, [forward, backward, together, alone])
}

/// The same times for im2col and a matrix product.
fn direct_times(shape: &Shape, numbers: &mut Numbers) -> [Duration; 4] {
    let (pixels, taps, outputs) = (shape.pixels(), shape.taps(), shape.out_channels);
    let Numbers { input, upstream, weights, output, downstream, gradients } = numbers;
    let rows = shape.batch * pixels;
    let mut columns = vec![0.0; rows * taps];
    let forward = best(|| {
        unfold(shape, input, &mut columns);
        let (left, right) = (Matrix::rows(&columns, rows, taps), Matrix::rows(weights, taps, outputs));
        product(left, right, false, output, outputs);
    });
    let backward = best(|| {
        let (left, right) = (Matrix::rows(upstream, rows, outputs), Matrix::rows(weights, taps, outputs));
        product(left, right.transposed(), false, &mut columns, taps);
        fold(shape, &columns, downstream);
    });
    let together = best(|| {
        unfold(shape, input, &mut columns);
        let gradient = &mut gradients[..weights.len()];
        let (left, right) = (Matrix::rows(&columns, rows, taps), Matrix::rows(upstream, rows, outputs));
        product(left.transposed(), right, false, gradient, outputs);
    });
    let alone = best(|| {
        unfold(shape, input, &mut columns);
        for (example, gradient) in gradients.chunks_exact_mut(weights.len()).enumerate() {
            let columns = &columns[example * pixels * taps..];
            let upstream = &upstream[example * pixels * outputs..];
            let (left, right) =
                (Matrix::rows(columns, pixels, taps), Matrix::rows(upstream, pixels, outputs));
            product(left.transposed(), right, false, gradient, outputs);
        }
    });
    [forward, backward, together, alone]
}

/// The shortest time of a call, tried for a quarter of a second.
fn best(mut call: impl FnMut()) -> Duration {
    call();
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_millis(250) {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
    }
    best
}

fn numbers(length: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..length).map(|_| next()).collect()
}

/// Every window of the images as a row.
fn unfold(shape: &Shape, input: &[f32], columns: &mut [f32]) {
    each_tap(shape, |column, pixel| match pixel {
        Some(pixel) => columns[column..column + shape.in_channels]
            .copy_from_slice(&input[pixel..pixel + shape.in_channels]),
        None => columns[column..column + shape.in_channels].fill(0.0),
    });
}

/// The transpose of [`unfold`].
fn fold(shape: &Shape, columns: &[f32], downstream: &mut [f32]) {
    downstream.fill(0.0);
    each_tap(shape, |column, pixel| {
        if let Some(pixel) = pixel {
            let target = &mut downstream[pixel..pixel + shape.in_channels];
            target.iter_mut().zip(&columns[column..]).for_each(|(target, column)| *target += column);
        }
    });
}

fn each_tap(shape: &Shape, mut visit: impl FnMut(usize, Option<usize>)) {
    let &Shape { side, in_channels, kernel, batch, .. } = shape;
    let mut column = 0;
    for example in 0..batch {
        for row in 0..side {
            for left in 0..side {
                for tap in 0..kernel * kernel {
                    let (row, left) = (row + tap / kernel, left + tap % kernel);
                    let inside = |place: usize| (kernel / 2..side + kernel / 2).contains(&place);
                    let pixel = (inside(row) && inside(left)).then(|| {
                        ((example * side + row - kernel / 2) * side + left - kernel / 2) * in_channels
                    });
                    visit(column, pixel);
                    column += in_channels;
                }
            }
        }
    }
}
