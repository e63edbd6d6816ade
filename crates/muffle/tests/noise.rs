//! The distribution of the noise, tested on fixed seeds.
//!
//! A test that is right with probability 1 − p for random seeds is always right or always wrong for a fixed one. The
//! rates below are what p would be, and so how much a pass is worth; a change of the stream draws a new lot.

use muffle::noise::{GaussianNoise, IntegerNoise, Key, Purpose, Stream, Uniform};

const COUNT: usize = 1 << 20;

fn stream(step: u64) -> Stream {
    Stream::new(Purpose::GradientNoise, step)
}

/// Integers to a unit.
const UNIT: f64 = 1_048_576.0;

fn integers(noise: &IntegerNoise, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    noise.add(0, &mut values);
    values
}

/// Noise on integers in units of its scale.
fn scaled(noise: &IntegerNoise, count: usize) -> Vec<f32> {
    integers(noise, count).into_iter().map(|value| (value / UNIT) as f32).collect()
}

fn normals(seed: u64, step: u64, count: usize) -> Vec<f32> {
    scaled(&IntegerNoise::gaussian(&Key::from_seed(seed), stream(step), UNIT), count)
}

fn single_normals(seed: u64, step: u64, count: usize) -> Vec<f32> {
    let mut values = vec![0.0; count];
    GaussianNoise::new(&Key::from_seed(seed), stream(step)).fill(0, 1.0, &mut values);
    values
}

fn laplaces(seed: u64, count: usize) -> Vec<f32> {
    scaled(&IntegerNoise::laplace(&Key::from_seed(seed), stream(0), UNIT), count)
}

/// P(X ≤ x) and P(X > x), both without cancellation.
type Tails = fn(f64) -> (f64, f64);

fn normal_tails(x: f64) -> (f64, f64) {
    let scaled = x * std::f64::consts::FRAC_1_SQRT_2;
    (0.5 * libm::erfc(-scaled), 0.5 * libm::erfc(scaled))
}

fn laplace_tails(x: f64) -> (f64, f64) {
    let small = 0.5 * (-x.abs()).exp();
    if x < 0.0 { (small, 1.0 - small) } else { (1.0 - small, small) }
}

fn sorted(values: &[f32]) -> Vec<f32> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f32::total_cmp);
    values
}

/// √n times the largest distance between the empirical and the true distribution function.
fn kolmogorov_smirnov(values: &[f32], tails: Tails) -> f64 {
    let count = values.len() as f64;
    let distance = |(index, value): (usize, &f32)| {
        let below = tails(f64::from(*value)).0;
        (below - index as f64 / count).max((index + 1) as f64 / count - below)
    };
    count.sqrt() * sorted(values).iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// The Anderson–Darling statistic, which weighs the tails as much as the middle.
fn anderson_darling(values: &[f32], tails: Tails) -> f64 {
    let values = sorted(values);
    let count = values.len() as f64;
    let term = |(index, value): (usize, &f32)| {
        let (below, above) = tails(f64::from(*value));
        let rank = 2.0 * index as f64 + 1.0;
        rank * below.ln() + (2.0 * count - rank) * above.ln()
    };
    -count - values.iter().enumerate().map(term).sum::<f64>() / count
}

/// Whether the sample variance agrees with `variance`; `kurtosis` is that of the distribution (3 for the normal).
/// Wrong with probability 10⁻⁶ (4.9 standard errors).
fn has_variance(values: &[f32], variance: f64, kurtosis: f64) -> bool {
    let count = values.len() as f64;
    let second_moment = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / count;
    (second_moment / variance - 1.0).abs() < 4.9 * ((kurtosis - 1.0) / count).sqrt()
}

/// Standard errors by which the correlation of two samples with mean zero differs from none.
fn correlation(left: impl Iterator<Item = f64>, right: impl Iterator<Item = f64>) -> f64 {
    let (mut product, mut left_square, mut right_square, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (x, y) in left.zip(right) {
        product += x * y;
        left_square += x * x;
        right_square += y * y;
        count += 1.0;
    }
    product / f64::sqrt(left_square * right_square) * f64::sqrt(count)
}

fn values(sample: &[f32]) -> impl Iterator<Item = f64> {
    sample.iter().map(|value| f64::from(*value))
}

fn centred_squares(sample: &[f32]) -> impl Iterator<Item = f64> {
    sample.iter().map(|value| f64::from(*value).powi(2) - 1.0)
}

/// Kolmogorov–Smirnov at 10⁻⁴ (2.23) and Anderson–Darling at 10⁻³ (6.0), on a million values each.
#[test]
fn gaussian_distribution() {
    for (name, sample) in [("integers", normals(1, 0, COUNT)), ("single", single_normals(1, 0, COUNT))] {
        let (distance, weighted) =
            (kolmogorov_smirnov(&sample, normal_tails), anderson_darling(&sample, normal_tails));
        assert!(distance < 2.23, "{name}: Kolmogorov–Smirnov {distance}");
        assert!(weighted < 6.0, "{name}: Anderson–Darling {weighted}");
    }
}

#[test]
fn laplace_distribution() {
    let sample = laplaces(2, COUNT);
    let (distance, weighted) =
        (kolmogorov_smirnov(&sample, laplace_tails), anderson_darling(&sample, laplace_tails));
    assert!(distance < 2.23, "Kolmogorov–Smirnov {distance}");
    assert!(weighted < 6.0, "Anderson–Darling {weighted}");
}

/// The tests have power: a standard deviation one per cent off does not pass.
#[test]
fn a_wrong_scale_is_noticed_by_the_distribution_tests() {
    let sample: Vec<f32> = normals(1, 0, COUNT).iter().map(|value| value * 1.01).collect();
    assert!(kolmogorov_smirnov(&sample, normal_tails) > 2.23);
    assert!(anderson_darling(&sample, normal_tails) > 6.0);
}

/// Accepts the scale that was asked for and refuses 0.9 and 1.1 of it; wrong with probability 10⁻⁶ a line.
#[test]
fn variance_is_what_was_asked_for() {
    for standard_deviation in [1.0f32, 700.0, 3e7] {
        let mut single = vec![0.0; 100_000];
        let key = Key::from_seed(3);
        GaussianNoise::new(&key, stream(0)).add(0, standard_deviation, &mut single);
        let whole =
            integers(&IntegerNoise::gaussian(&key, stream(0), f64::from(standard_deviation)), 100_000);
        let variance = f64::from(standard_deviation).powi(2);
        // Rounding to integers adds the variance of a uniform number.
        for (sample, variance) in
            [(single, variance), (whole.iter().map(|value| *value as f32).collect(), variance + 1.0 / 12.0)]
        {
            assert!(has_variance(&sample, variance, 3.0));
            assert!(!has_variance(&sample, variance * 0.9 * 0.9, 3.0));
            assert!(!has_variance(&sample, variance * 1.1 * 1.1, 3.0));
        }
    }
    let sample = laplaces(3, 100_000);
    assert!(has_variance(&sample, 2.0, 6.0));
    assert!(!has_variance(&sample, 2.0 * 0.9 * 0.9, 6.0));
    assert!(!has_variance(&sample, 2.0 * 1.1 * 1.1, 6.0));
}

/// Every integer has the probability of its cell, also where the scale is below one: chi-squared over the cells that expect fifty,
/// within 5 standard deviations of its mean, wrong with a probability of about 10⁻⁵; a scale two per cent off does not pass.
#[test]
fn integers_have_the_probabilities_of_their_cells() {
    for scale in [0.3, 1.0, 4.7] {
        let key = Key::from_seed(11);
        let gaussian = integers(&IntegerNoise::gaussian(&key, stream(0), scale), COUNT);
        let laplace = integers(&IntegerNoise::laplace(&key, stream(1), scale), COUNT);
        for (sample, tails) in [(gaussian, normal_tails as Tails), (laplace, laplace_tails as Tails)] {
            let errors = |assumed: f64| {
                let (mut sum, mut cells) = (0.0, 0.0);
                for integer in -60..=60 {
                    let (low, high) = (f64::from(integer) - 0.5, f64::from(integer) + 0.5);
                    let probability = tails(high / assumed).0 - tails(low / assumed).0;
                    let expected = probability * COUNT as f64;
                    if expected >= 50.0 {
                        let found = sample.iter().filter(|value| **value == f64::from(integer)).count();
                        sum += (found as f64 - expected).powi(2) / expected;
                        cells += 1.0;
                    }
                }
                (sum - cells) / f64::sqrt(2.0 * cells)
            };
            assert!(errors(scale) < 5.0, "scale {scale}: {}", errors(scale));
            assert!(errors(1.02 * scale) > 5.0, "a scale two per cent off goes unnoticed");
        }
    }
}

/// Counts beyond 4 and 5 standard deviations on each side, within 4.9 standard errors: wrong with probability 10⁻⁶ a
/// count. A uniform number of 24 bits would end at 5.8; one value in 2·10⁹ lies beyond 6.
#[test]
fn tails_have_their_weight() {
    const PARTS: u64 = 128;
    let noise = IntegerNoise::gaussian(&Key::from_seed(4), stream(0), 65_536.0);
    let mut part = vec![0.0; COUNT];
    let mut beyond = [[0u32; 2]; 2];
    for index in 0..PARTS {
        part.fill(0.0);
        noise.add(index * COUNT as u64, &mut part);
        for value in part.iter().map(|value| value / 65_536.0).filter(|value| value.abs() > 4.0) {
            let side = usize::from(value > 0.0);
            beyond[side][0] += 1;
            beyond[side][1] += u32::from(value.abs() > 5.0);
        }
    }
    for side in beyond {
        for (count, limit) in side.into_iter().zip([4.0, 5.0]) {
            let expected = PARTS as f64 * COUNT as f64 * normal_tails(limit).1;
            let errors = (f64::from(count) - expected) / expected.sqrt();
            assert!(errors.abs() < 4.9, "{count} beyond {limit}, expected {expected:.1}");
        }
    }
}

/// Neither values nor their squares are correlated with their neighbours up to four chunks away. Sixteen apart lie the
/// two normals of one pair, which share a radius. 256 comparisons at 5.6 standard errors: wrong with probability 10⁻⁵.
#[test]
fn neighbours_are_independent() {
    let sample = normals(5, 0, COUNT);
    for lag in 1..=128 {
        let errors = correlation(values(&sample), values(&sample[lag..]));
        assert!(errors.abs() < 5.6, "lag {lag}: {errors} standard errors");
        let errors = correlation(centred_squares(&sample), centred_squares(&sample[lag..]));
        assert!(errors.abs() < 5.6, "squares, lag {lag}: {errors} standard errors");
    }
}

/// Other steps, purposes and keys give unrelated noise: 4.9 standard errors, wrong with probability
/// 10⁻⁶ a pair.
#[test]
fn streams_are_independent() {
    let base = normals(6, 0, COUNT);
    let statistic = Stream::new(Purpose::StatisticNoise, 0);
    let other_purpose = scaled(&IntegerNoise::gaussian(&Key::from_seed(6), statistic, UNIT), COUNT);
    let others = [normals(6, 1, COUNT), normals(6, 1 << 32, COUNT), normals(7, 0, COUNT), other_purpose];
    for other in &others {
        assert!(base.iter().zip(other).filter(|(x, y)| x == y).count() < 10);
        assert!(correlation(values(&base), values(other)).abs() < 4.9);
        assert!(correlation(centred_squares(&base), centred_squares(other)).abs() < 4.9);
    }
}

/// Every offset and length around the sizes in which the noise is made gives the same bits as one long call.
#[test]
fn any_split_gives_the_same_noise() {
    let key = Key::from_seed(8);
    let single = GaussianNoise::new(&key, stream(0));
    check_splits(1.0f32, |first, part| single.add(first, 0.5, part));
    // At the larger scale many numbers need more than their first digits.
    for scale in [1000.0, 1e8] {
        let gaussian = IntegerNoise::gaussian(&key, stream(0), scale);
        check_splits(1.0, |first, part| gaussian.add(first, part));
        let laplace = IntegerNoise::laplace(&key, stream(0), scale);
        check_splits(1.0, |first, part| laplace.add(first, part));
    }
}

fn check_splits<T: Copy + PartialEq + std::fmt::Debug>(one: T, add: impl Fn(u64, &mut [T])) {
    const LENGTH: usize = 700;
    let mut whole = [one; LENGTH];
    add(0, &mut whole);
    for split in 0..=LENGTH {
        let mut parts = [one; LENGTH];
        let (left, right) = parts.split_at_mut(split);
        add(split as u64, right);
        add(0, left);
        assert_eq!(parts, whole, "split at {split}");
    }
    for first in 0..40 {
        for length in [0, 1, 2, 31, 32, 33, 64, 255, 256, 257, 300] {
            let mut part = vec![one; length];
            add(first as u64, &mut part);
            assert_eq!(part, whole[first..first + length], "{length} from {first}");
        }
    }
}

#[test]
fn fill_is_add_to_zeros() {
    let noise = GaussianNoise::new(&Key::from_seed(9), stream(0));
    let (mut filled, mut added) = ([f32::NAN; 100], [0.0; 100]);
    noise.fill(5, 2.0, &mut filled);
    noise.add(5, 2.0, &mut added);
    assert_eq!(filled, added);
}

#[test]
fn no_deviation_is_no_noise() {
    let mut sum = [1.5; 40];
    GaussianNoise::new(&Key::from_seed(9), stream(0)).add(0, 0.0, &mut sum);
    assert_eq!(sum, [1.5; 40]);
    let mut whole = [7.0; 40];
    IntegerNoise::gaussian(&Key::from_seed(9), stream(0), 0.0).add(0, &mut whole);
    IntegerNoise::laplace(&Key::from_seed(9), stream(0), 0.0).add(0, &mut whole);
    assert_eq!(whole, [7.0; 40]);
}

/// The bits that this version draws on every machine. If this fails, seeds no longer repeat older experiments.
/// They agree with the same formulas in double precision over another ChaCha20, written in Python: −1.316047735,
/// −2.238290111, 1.147999815, −1.942309472.
#[test]
fn recorded_bits() {
    let sample = single_normals(1, 2, 4);
    assert_eq!(sample.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), RECORDED);
}

const RECORDED: [u32; 4] = [3215488065, 3222224933, 1066594729, 3220741527];

#[test]
fn uniform_numbers() {
    let key = Key::from_seed(10);
    let mut uniform = Uniform::new(&key, Stream::new(Purpose::Sampling, 0));
    let sample: Vec<f32> = (0..COUNT).map(|_| uniform.unit() as f32).collect();
    assert!(kolmogorov_smirnov(&sample, |x| (x, 1.0 - x)) < 2.23);

    // Three quarters of all words: a plain remainder would give half of the weight to the lowest third. Wrong with
    // probability 10⁻⁶.
    let bound = 3 << 62;
    let low = (0..COUNT).filter(|_| uniform.below(bound) < bound / 3).count() as f64;
    let expected = COUNT as f64 / 3.0;
    assert!((low - expected).abs() < 4.9 * (expected * 2.0 / 3.0).sqrt());

    let hits = (0..COUNT).filter(|_| uniform.chance(0.01)).count() as f64;
    let expected = COUNT as f64 * 0.01;
    assert!((hits - expected).abs() < 4.9 * expected.sqrt());
    assert!((0..1000).all(|_| uniform.chance(1.0) && !uniform.chance(0.0)));

    // Every order of four items, by a chi-squared test with 23 degrees of freedom at 10⁻⁴ (57.3).
    let mut orders = std::collections::HashMap::new();
    for _ in 0..24_000 {
        let mut items = [0u8, 1, 2, 3];
        uniform.shuffle(&mut items);
        *orders.entry(items).or_insert(0.0) += 1.0;
    }
    let chi_squared: f64 = orders.values().map(|count: &f64| (count - 1000.0).powi(2) / 1000.0).sum();
    assert!(orders.len() == 24 && chi_squared < 57.3, "{chi_squared}");
}
