//! How long an answer takes, the median of repetitions over a second: `cargo bench -p muffle-accounting`.

use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::{Accountant, Adjacency, Event, attacker, pld::Pld, rdp::Rdp};
use std::hint::black_box;
use std::time::{Duration, Instant};

const DELTA: f64 = 1e-5;

fn training(noise: f64, steps: u64) -> Event {
    Event::gaussian(noise).poisson_sampled(0.01).repeated(steps)
}

/// Prints the median time of one call.
fn measure<T>(name: &str, call: impl Fn() -> T) {
    black_box(call());
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || begin.elapsed() < Duration::from_secs(1) {
        let start = Instant::now();
        black_box(call());
        times.push(start.elapsed());
    }
    times.sort();
    println!("{name:32} {:10.3} ms, {} times", times[times.len() / 2].as_secs_f64() * 1e3, times.len());
}

fn main() {
    let event = training(1.0, 10_000);
    for accountant in [&Pld as &dyn Accountant, &Rdp] {
        let name = format!("{} 0.01 1.0 10000", accountant.name());
        measure(&name, || accountant.epsilon(black_box(&event), Adjacency::AddRemove, DELTA));
    }
    let long = training(1.0, 10_000_000);
    measure("pld 0.01 1.0 10000000", || Pld.epsilon(black_box(&long), Adjacency::AddRemove, DELTA));
    let schedule = Event::compose((0..10).map(|t| training(1.0 + 0.1 * f64::from(t), 1_000)));
    measure("pld schedule of ten noises", || Pld.epsilon(black_box(&schedule), Adjacency::AddRemove, DELTA));
    measure("attacker 0.01 1.0 10000", || {
        attacker::best_attacks(black_box(&event), Adjacency::AddRemove, &[0.001, 0.01, 0.1])
    });
    let target = Target { epsilon: 3.0, delta: DELTA, adjacency: Adjacency::AddRemove };
    measure("calibrate noise pld", || {
        calibrate::noise_multiplier(&Pld, black_box(&target), |noise| training(noise, 10_000))
    });
    measure("calibrate steps pld", || {
        calibrate::steps(&Pld, black_box(&target), |steps| training(1.0, steps))
    });
    measure("calibrate rate pld", || {
        calibrate::sample_rate(&Pld, black_box(&target), |rate| {
            Event::gaussian(1.0).poisson_sampled(rate).repeated(10_000)
        })
    });
}
