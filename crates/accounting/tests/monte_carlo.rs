//! An independent check: delta by simulation.
//!
//! For each case the privacy loss of a whole run is simulated and `E max(0, 1 − e^{ε − L})` is averaged over
//! samples, at the epsilon that `pld` returned. The estimate must lie within 4.5 standard errors of the certified
//! interval: for a correct accountant each of the comparisons fails with probability below 1e-5. The seed is fixed.

use muffle_accounting::{Accountant, Adjacency, Event, pld, pld::Pld};

const SAMPLES: usize = 60_000;
const STANDARD_ERRORS: f64 = 4.5;

/// SplitMix64 (Steele, Lea and Flood 2014) and Box–Muller: nothing shared with the code under test.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn laplace(&mut self, scale: f64) -> f64 {
        let side = if self.uniform() < 0.5 { -1.0 } else { 1.0 };
        -side * scale * (1.0 - self.uniform()).ln()
    }
}

/// One kind of step, written out as densities rather than through the library.
#[derive(Clone, Copy)]
enum Kind {
    Gaussian { q: f64, sigma: f64 },
    ReplaceOne { q: f64, sigma: f64 },
    Laplace { q: f64, scale: f64 },
    Response { epsilon: f64 },
}

impl Kind {
    fn event(self) -> Event {
        match self {
            Kind::Gaussian { q, sigma } | Kind::ReplaceOne { q, sigma } => {
                Event::gaussian(sigma).poisson_sampled(q)
            }
            Kind::Laplace { q, scale } => Event::laplace(scale).poisson_sampled(q),
            Kind::Response { epsilon } => Event::PureDp { epsilon },
        }
    }

    /// A draw of the loss, for the data set with the record against the one without, or the reverse.
    fn loss(self, with: bool, random: &mut Random) -> f64 {
        let mixture = |q: f64, ratio: f64| (1.0 - q + q * ratio).ln();
        match self {
            Kind::Gaussian { q, sigma } => {
                let shift = if with && random.uniform() < q { 1.0 } else { 0.0 };
                let x = shift + sigma * random.normal();
                let loss = mixture(q, ((2.0 * x - 1.0) / (2.0 * sigma * sigma)).exp());
                if with { loss } else { -loss }
            }
            Kind::ReplaceOne { q, sigma } => {
                let shift = if random.uniform() < q { 1.0 } else { 0.0 };
                let x = shift + sigma * random.normal();
                let ratio = |centre: f64| ((2.0 * x * centre - 1.0) / (2.0 * sigma * sigma)).exp();
                mixture(q, ratio(1.0)) - mixture(q, ratio(-1.0))
            }
            Kind::Laplace { q, scale } => {
                let shift = if with && random.uniform() < q { 1.0 } else { 0.0 };
                let x = shift + random.laplace(scale);
                let loss = mixture(q, ((x.abs() - (x - 1.0).abs()) / scale).exp());
                if with { loss } else { -loss }
            }
            Kind::Response { epsilon } => {
                let truth = random.uniform() < 1.0 / (1.0 + (-epsilon).exp());
                if truth { epsilon } else { -epsilon }
            }
        }
    }
}

fn check(name: &str, parts: &[(Kind, u64)], delta: f64, seed: u64) {
    let replaced = parts.iter().any(|part| matches!(part.0, Kind::ReplaceOne { .. }));
    let adjacency = if replaced {
        Adjacency::ReplaceOne
    } else {
        Adjacency::AddRemove
    };
    let event = Event::compose(parts.iter().map(|(kind, count)| kind.event().repeated(*count)));
    let epsilon = Pld.epsilon(&event, adjacency, delta).unwrap().epsilon;
    let (lower, upper) = pld::delta(&event, adjacency, epsilon).unwrap();
    assert!(
        upper <= 1.02 * delta && lower >= 0.9 * delta,
        "{name}: [{lower}, {upper}] for {delta}"
    );
    let mut random = Random(seed);
    let mut largest = (0.0, 0.0);
    for with in [true, false] {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..SAMPLES {
            let mut total = 0.0;
            for (kind, count) in parts {
                for _ in 0..*count {
                    total += kind.loss(with, &mut random);
                }
            }
            let excess = (1.0 - (epsilon - total).exp()).max(0.0);
            sum += excess;
            squares += excess * excess;
        }
        let mean = sum / SAMPLES as f64;
        let error = ((squares / SAMPLES as f64 - mean * mean) / SAMPLES as f64).sqrt();
        assert!(
            mean <= upper + STANDARD_ERRORS * error,
            "{name}: simulated {mean} ± {error}, at most {upper}"
        );
        if mean > largest.0 {
            largest = (mean, error);
        }
    }
    let (mean, error) = largest;
    assert!(
        mean >= lower - STANDARD_ERRORS * error,
        "{name}: simulated {mean} ± {error}, at least {lower}"
    );
}

#[test]
fn simulated_deltas_agree() {
    use Kind::{Gaussian, Laplace, ReplaceOne, Response};
    check("one step", &[(Gaussian { q: 0.5, sigma: 1.0 }, 1)], 0.02, 1);
    check("small noise", &[(Gaussian { q: 0.05, sigma: 0.4 }, 20)], 0.02, 2);
    check("large noise", &[(Gaussian { q: 0.2, sigma: 5.0 }, 100)], 0.01, 3);
    check("typical", &[(Gaussian { q: 0.05, sigma: 1.0 }, 100)], 0.01, 4);
    check("rare", &[(Gaussian { q: 0.002, sigma: 0.5 }, 60)], 0.02, 5);
    check(
        "nearly everyone",
        &[(Gaussian { q: 0.95, sigma: 3.0 }, 20)],
        0.01,
        6,
    );
    check("replace one", &[(ReplaceOne { q: 0.1, sigma: 1.0 }, 50)], 0.01, 7);
    check("laplace", &[(Laplace { q: 1.0, scale: 3.0 }, 12)], 0.02, 8);
    check(
        "sampled laplace",
        &[(Laplace { q: 0.2, scale: 1.0 }, 40)],
        0.01,
        9,
    );
    check("pure", &[(Response { epsilon: 0.4 }, 30)], 0.01, 10);
    check(
        "two noises",
        &[
            (Gaussian { q: 0.05, sigma: 1.0 }, 40),
            (Gaussian { q: 0.1, sigma: 2.0 }, 40),
        ],
        0.01,
        11,
    );
    check(
        "everything",
        &[
            (Gaussian { q: 0.1, sigma: 1.0 }, 30),
            (Laplace { q: 1.0, scale: 4.0 }, 8),
            (Response { epsilon: 0.3 }, 5),
        ],
        0.02,
        12,
    );
}

/// k-fold randomised response has a closed form: a binomial sum (Kairouz, Oh and Viswanath 2015, Theorem 3.3).
#[test]
fn pure_composition_is_exact() {
    for (epsilon, steps) in [(0.1_f64, 50_u64), (1.0, 10), (0.01, 1000)] {
        let event = Event::PureDp { epsilon }.repeated(steps);
        for share in [0.1, 0.3, 0.6] {
            let at = share * epsilon * steps as f64;
            let truth = 1.0 / (1.0 + (-epsilon).exp());
            let mut exact = 0.0;
            let mut log_binomial = 0.0;
            for lies in 0..=steps {
                let loss = (steps as f64 - 2.0 * lies as f64) * epsilon;
                let probability =
                    (log_binomial + (steps - lies) as f64 * truth.ln() + lies as f64 * (1.0 - truth).ln())
                        .exp();
                exact += probability * (1.0 - (at - loss).exp()).max(0.0);
                log_binomial += ((steps - lies) as f64).ln() - ((lies + 1) as f64).ln();
            }
            let (lower, upper) = pld::delta(&event, Adjacency::AddRemove, at).unwrap();
            assert!(
                lower <= exact && exact <= upper,
                "{epsilon} {steps} {at}: {lower} {exact} {upper}"
            );
            assert!(
                upper - lower <= 1e-5 * exact,
                "{epsilon} {steps} {at}: {lower} {exact} {upper}"
            );
        }
    }
}
