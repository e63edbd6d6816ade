//! How long an answer takes: `cargo bench -p muffle-accounting`.

use criterion::{Criterion, criterion_group, criterion_main};
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::{Accountant, Adjacency, Event, attacker, pld::Pld, rdp::Rdp};
use std::hint::black_box;

const DELTA: f64 = 1e-5;

fn training(noise: f64, steps: u64) -> Event {
    Event::gaussian(noise).poisson_sampled(0.01).repeated(steps)
}

fn prices(criterion: &mut Criterion) {
    let event = training(1.0, 10_000);
    for accountant in [&Pld as &dyn Accountant, &Rdp] {
        criterion.bench_function(&format!("{} 0.01 1.0 10000", accountant.name()), |bencher| {
            bencher.iter(|| accountant.epsilon(black_box(&event), Adjacency::AddRemove, DELTA));
        });
    }
    let long = training(1.0, 10_000_000);
    criterion.bench_function("pld 0.01 1.0 10000000", |bencher| {
        bencher.iter(|| Pld.epsilon(black_box(&long), Adjacency::AddRemove, DELTA));
    });
    let schedule = Event::compose((0..10).map(|t| training(1.0 + 0.1 * f64::from(t), 1_000)));
    criterion.bench_function("pld schedule of ten noises", |bencher| {
        bencher.iter(|| Pld.epsilon(black_box(&schedule), Adjacency::AddRemove, DELTA));
    });
    criterion.bench_function("attacker 0.01 1.0 10000", |bencher| {
        bencher.iter(|| attacker::best_attacks(black_box(&event), Adjacency::AddRemove, &[0.001, 0.01, 0.1]));
    });
}

fn calibration(criterion: &mut Criterion) {
    let target = Target {
        epsilon: 3.0,
        delta: DELTA,
        adjacency: Adjacency::AddRemove,
    };
    criterion.bench_function("calibrate noise pld", |bencher| {
        bencher
            .iter(|| calibrate::noise_multiplier(&Pld, black_box(&target), |noise| training(noise, 10_000)));
    });
    criterion.bench_function("calibrate steps pld", |bencher| {
        bencher.iter(|| calibrate::steps(&Pld, black_box(&target), |steps| training(1.0, steps)));
    });
    criterion.bench_function("calibrate rate pld", |bencher| {
        bencher.iter(|| {
            calibrate::sample_rate(&Pld, black_box(&target), |rate| {
                Event::gaussian(1.0).poisson_sampled(rate).repeated(10_000)
            })
        });
    });
}

criterion_group!(benches, prices, calibration);
criterion_main!(benches);
