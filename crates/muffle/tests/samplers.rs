//! What samplers draw, tested on fixed seeds, and what they tell the accountant.
//!
//! Statistics are accepted within five standard deviations: a false alarm on a random seed has probability 6·10⁻⁷ where
//! they are normal, and below 10⁻⁴ for the chi-squares, which are close to normal. What must be rejected lies at least ten
//! standard deviations away.

use muffle::noise::Key;
use muffle::sampler::{BallsAndBins, Charges, FixedSize, Poisson, Reshuffled, Sampler};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Assignment, Event};

const RECORDS: usize = 400;

fn key() -> Key {
    Key::from_seed(31)
}

fn samplers() -> Vec<Box<dyn Sampler>> {
    vec![
        Box::new(Poisson::new(&key(), RECORDS, 0.05)),
        Box::new(FixedSize::new(&key(), RECORDS, 20)),
        Box::new(Reshuffled::new(&key(), RECORDS, 20)),
        Box::new(BallsAndBins::new(&key(), RECORDS, 20)),
    ]
}

/// Standard deviations between a count and its expectation, for independent trials.
fn deviations(count: f64, trials: f64, probability: f64) -> f64 {
    (count - trials * probability) / (trials * probability * (1.0 - probability)).sqrt()
}

/// Standard deviations of a chi-square from its mean: Σ z² of independent standard normals.
fn chi_square(squares: impl Iterator<Item = f64>, freedom: f64) -> f64 {
    (squares.sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
}

/// How often each record, and how often each pair of neighbouring records, was drawn.
fn counts(sampler: &mut dyn Sampler, steps: u64) -> (Vec<f64>, f64) {
    let (mut singles, mut pairs) = (vec![0.0; RECORDS], 0.0);
    for step in 0..steps {
        let drawn = sampler.draw(step);
        drawn.iter().for_each(|&record| singles[record] += 1.0);
        pairs += drawn.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() as f64;
    }
    (singles, pairs)
}

#[test]
fn draws_are_sorted_distinct_and_depend_on_key_and_step_only() {
    for (mut sampler, mut again) in samplers().into_iter().zip(samplers()) {
        for step in [0, 1, 19, 20, 7, 1000] {
            let drawn = sampler.draw(step);
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn.iter().all(|&i| i < RECORDS));
        }
        // A resumed run asks for step 7 first.
        assert_eq!(again.draw(7), sampler.draw(7));
        assert_ne!(sampler.draw(7), sampler.draw(8));
        assert_ne!(sampler.draw(7), sampler.draw(27), "another epoch");
    }
    assert_ne!(Poisson::new(&Key::from_seed(32), RECORDS, 0.05).draw(7), samplers()[0].draw(7));
}

#[test]
fn poisson_includes_each_record_independently_at_its_rate() {
    const STEPS: u64 = 4000;
    let (rate, steps) = (0.05, STEPS as f64);
    let mut sampler = Poisson::new(&key(), RECORDS, rate);
    let (singles, pairs) = counts(&mut sampler, STEPS);

    let total: f64 = singles.iter().sum();
    let trials = steps * RECORDS as f64;
    assert!(deviations(total, trials, rate).abs() < 5.0);
    assert!(deviations(total, trials, 0.9 * rate).abs() > 10.0);
    assert!(deviations(total, trials, 1.1 * rate).abs() > 10.0);

    let of_record = |count: &f64| deviations(*count, steps, rate).powi(2);
    assert!(chi_square(singles.iter().map(of_record), RECORDS as f64).abs() < 5.0, "each record");
    assert!(deviations(pairs, steps * (RECORDS - 1) as f64, rate * rate).abs() < 5.0, "neighbours");

    // Sizes vary as those of independent records do; a fixed size would be 44 standard deviations off.
    let size = RECORDS as f64 * rate;
    let variance = size * (1.0 - rate);
    let squares = (0..STEPS).map(|step| (sampler.draw(step).len() as f64 - size).powi(2) / variance);
    assert!(chi_square(squares, steps).abs() < 5.0, "sizes");

    // A record in one step says nothing of the next.
    let mut both = 0.0;
    for step in 0..STEPS / 2 {
        let (first, second) = (sampler.draw(2 * step), sampler.draw(2 * step + 1));
        both += first.iter().filter(|record| second.binary_search(record).is_ok()).count() as f64;
    }
    assert!(deviations(both, steps / 2.0 * RECORDS as f64, rate * rate).abs() < 5.0, "steps");
}

#[test]
fn poisson_at_extreme_rates() {
    assert_eq!(Poisson::new(&key(), 5, 1.0).draw(0), [0, 1, 2, 3, 4]);
    assert_eq!(Poisson::new(&key(), 0, 0.5).draw(0), [0usize; 0]);
    let mut rare = Poisson::new(&key(), 1_000_000, 1e-6);
    let drawn: usize = (0..1000).map(|step| rare.draw(step).len()).sum();
    assert!(deviations(drawn as f64, 1e9, 1e-6).abs() < 5.0, "{drawn}");
}

#[test]
fn fixed_size_draws_uniform_subsets() {
    const STEPS: u64 = 4000;
    let (size, steps, records) = (20.0, STEPS as f64, RECORDS as f64);
    let mut sampler = FixedSize::new(&key(), RECORDS, 20);
    assert!((0..STEPS).all(|step| sampler.draw(step).len() == 20));
    let (singles, pairs) = counts(&mut sampler, STEPS);
    // The counts sum to a constant: one degree of freedom less, and a variance larger by n/(n − 1).
    let of_record =
        |count: &f64| deviations(*count, steps, size / records).powi(2) * (records - 1.0) / records;
    assert!(chi_square(singles.iter().map(of_record), records - 1.0).abs() < 5.0);
    let both = size / records * (size - 1.0) / (records - 1.0);
    assert!(deviations(pairs, steps * (records - 1.0), both).abs() < 5.0);
    assert_eq!(FixedSize::new(&key(), 5, 5).draw(3), [0, 1, 2, 3, 4]);
}

#[test]
fn a_partition_covers_each_record_once_in_every_epoch() {
    for mut sampler in samplers().into_iter().skip(2) {
        for epoch in 0..5 {
            let mut seen: Vec<usize> = (0..20).flat_map(|batch| sampler.draw(20 * epoch + batch)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..RECORDS));
        }
    }
    // Sizes of a cut that does not come out even differ by one.
    let mut uneven = Reshuffled::new(&key(), 23, 5);
    let sizes: Vec<usize> = (0..5).map(|step| uneven.draw(step).len()).collect();
    assert!(sizes.iter().all(|size| [4, 5].contains(size)) && sizes.iter().sum::<usize>() == 23);
    // More batches than records leave some empty, which still cost noise.
    let mut sparse = Reshuffled::new(&key(), 2, 5);
    assert_eq!((0..5).map(|step| sparse.draw(step).len()).sum::<usize>(), 2);
}

/// Batch of each of two records over many epochs: the table of pairs.
fn pairs_of_batches(sampler: &mut dyn Sampler, batches: u64, epochs: u64) -> Vec<f64> {
    let mut table = vec![0.0; (batches * batches) as usize];
    for epoch in 0..epochs {
        let batch_of = |sampler: &mut dyn Sampler, record: usize| {
            (0..batches).find(|batch| sampler.draw(epoch * batches + batch).contains(&record)).unwrap()
        };
        let (first, second) = (batch_of(sampler, 3), batch_of(sampler, 11));
        table[(first * batches + second) as usize] += 1.0;
    }
    table
}

/// Pearson's chi-square of a table with these probabilities, in standard deviations.
fn pearson(table: &[f64], probability: impl Fn(usize) -> f64) -> f64 {
    let total: f64 = table.iter().sum();
    let term = |(cell, count): (usize, &f64)| {
        let expected = total * probability(cell);
        (count - expected).powi(2) / expected
    };
    chi_square(table.iter().enumerate().map(term), table.len() as f64 - 1.0)
}

#[test]
fn records_pick_bins_independently_and_uniformly() {
    const BATCHES: u64 = 4;
    let mut bins = BallsAndBins::new(&key(), 12, BATCHES as usize);
    let table = pairs_of_batches(&mut bins, BATCHES, 20_000);
    let independent = |_| 1.0 / 16.0;
    assert!(pearson(&table, independent).abs() < 5.0);

    // In a shuffled partition with three places a batch, two records share one less often: 2/11 instead of 1/4.
    let mut shuffled = Reshuffled::new(&key(), 12, BATCHES as usize);
    let table = pairs_of_batches(&mut shuffled, BATCHES, 20_000);
    let without_replacement = |cell: usize| 0.25 * if cell % 4 == cell / 4 { 2.0 / 11.0 } else { 3.0 / 11.0 };
    assert!(pearson(&table, without_replacement).abs() < 5.0);
    assert!(pearson(&table, independent) > 10.0);
}

#[test]
fn adding_a_record_does_not_move_others() {
    let pairs: [(Box<dyn Sampler>, Box<dyn Sampler>); 2] = [
        (Box::new(Poisson::new(&key(), 100, 0.1)), Box::new(Poisson::new(&key(), 101, 0.1))),
        (Box::new(BallsAndBins::new(&key(), 100, 7)), Box::new(BallsAndBins::new(&key(), 101, 7))),
    ];
    for (mut fewer, mut more) in pairs {
        for step in 0..50 {
            let mut drawn = more.draw(step);
            drawn.retain(|&record| record < 100);
            assert_eq!(drawn, fewer.draw(step));
        }
    }
}

#[test]
fn each_sampler_knows_its_own_accounting() {
    let event = || Event::gaussian(1.5);
    let expected = [
        event().poisson_sampled(0.05),
        event().fixed_size_sampled(0.05),
        event().partitioned_epoch(Assignment::Reshuffled),
        event().partitioned_epoch(Assignment::BallsAndBins),
    ];
    for (sampler, expected) in samplers().iter().zip(expected) {
        assert_eq!(sampler.amplify(event()), expected);
    }
    // R3: a shuffle has no price under add_remove.
    let shuffled = samplers()[2].amplify(event());
    assert!(Pld.epsilon(&shuffled, Adjacency::AddRemove, 1e-5).is_err());
    assert!(Pld.epsilon(&shuffled, Adjacency::ZeroOut, 1e-5).is_ok());
}

#[test]
fn an_epoch_is_charged_once_and_a_changed_event_again() {
    let (one, two) = (Event::gaussian(1.0), Event::gaussian(2.0));
    let sampler = Reshuffled::new(&key(), 12, 3);
    let mut charges = Charges::new();
    let epoch = |event: &Event| Some(event.clone().partitioned_epoch(Assignment::Reshuffled));
    assert_eq!(charges.charge(&sampler, 0, one.clone()), epoch(&one));
    assert_eq!(charges.charge(&sampler, 1, one.clone()), None);
    let mut resumed = Charges::resumed_at(&sampler, 2, epoch(&one).unwrap());
    assert_eq!(resumed.charge(&sampler, 2, one.clone()), None);
    assert_eq!(resumed.charge(&sampler, 3, one.clone()), epoch(&one));
    assert_eq!(charges.charge(&sampler, 2, two.clone()), epoch(&two), "other noise within the epoch");
    assert_eq!(charges.charge(&sampler, 3, two.clone()), epoch(&two), "the next epoch");

    let poisson = Poisson::new(&key(), 12, 0.5);
    let mut charges = Charges::new();
    for step in 0..3 {
        assert_eq!(charges.charge(&poisson, step, one.clone()), Some(one.clone().poisson_sampled(0.5)));
    }
}
