//! How many numbers of noise a second, on one thread and on all of them.
//!
//!     cargo run --release -p muffle --example noise_speed

use muffle::noise::{GaussianNoise, IntegerNoise, Key, Purpose, Stream};
use std::time::Instant;

/// About the gradient of a small network, so that the values stay in cache as they do in a training step.
const COORDINATES: usize = 1 << 18;
const REPETITIONS: usize = 64;
/// The best of several: the speed of the code, not of its neighbours.
const ROUNDS: usize = 5;

fn main() {
    let key = Key::from_seed(0);
    let stream = Stream::new(Purpose::GradientNoise, 0);
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, all] {
        let single = GaussianNoise::new(&key, stream);
        let rate = measure(threads, 0.0f32, |values| single.add(0, 1.0, values));
        println!(
            "single precision, not for releases  {threads} threads: {:6.1} million a second",
            rate / 1e6
        );
        for scale in [18, 20, 22, 30] {
            let (scale, power) = (2f64.powi(scale), scale);
            let gaussian = IntegerNoise::gaussian(&key, stream, scale);
            let laplace = IntegerNoise::laplace(&key, stream, scale);
            for (name, noise) in [("gaussian", gaussian), ("laplace", laplace)] {
                let rate = measure(threads, 0.0f64, |values| noise.add(0, values));
                println!(
                    "{name:8} on integers, scale 2^{power}    {threads} threads: {:6.1} million a second",
                    rate / 1e6
                );
            }
        }
    }
}

fn measure<T: Copy + Sync>(threads: usize, zero: T, add: impl Fn(&mut [T]) + Sync) -> f64 {
    let round = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut values = vec![zero; COORDINATES];
                    for _ in 0..REPETITIONS {
                        add(&mut values);
                    }
                    std::hint::black_box(&values);
                });
            }
        });
        (threads * COORDINATES * REPETITIONS) as f64 / start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}
