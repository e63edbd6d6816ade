//! Clip rules by themselves: factors, sensitivity, and noise for groups.

use muffle::clip::{Allocation, Bounds, Clip, Flat, Grouped, NonMonotone, Normalised, PerLayer};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::{Batch, Engine, Loss, Options, Purpose, models};
use proptest::prelude::*;
use std::sync::Arc;

const ALLOCATIONS: [Allocation; 3] = [Allocation::Flat, Allocation::EqualShare, Allocation::LeastEnergy];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// R5: one Gaussian mechanism with the multiplier asked for, however the noise is shared.
    #[test]
    fn allocations_have_the_same_price(
        groups in prop::collection::vec((1e-4..1e4f64, 1usize..1_000_000), 1..20),
        noise_multiplier in 0.01..100.0f64,
    ) {
        let (thresholds, lens): (Vec<f64>, Vec<usize>) = groups.into_iter().unzip();
        let rule = PerLayer::new(thresholds.clone());
        let energy = |deviations: &[f64]| -> f64 {
            deviations.iter().zip(&lens).map(|(deviation, &len)| deviation * deviation * len as f64).sum()
        };
        let mut energies = Vec::new();
        for allocation in ALLOCATIONS {
            let deviations = rule.bounds().deviations(allocation, noise_multiplier, &lens);
            let price: f64 = thresholds.iter().zip(&deviations).map(|(c, tau)| (c / tau).powi(2)).sum();
            prop_assert!((price * noise_multiplier.powi(2) - 1.0).abs() < 1e-9, "{:?}: {}", allocation, price);
            energies.push(energy(&deviations));
        }
        prop_assert!(energies[2] <= energies[0] * (1.0 + 1e-9) && energies[2] <= energies[1] * (1.0 + 1e-9));
    }

    /// No group of tensors leaves its threshold, from zero to the largest finite norms.
    #[test]
    fn factors_keep_every_group_within_its_threshold(
        norms in prop::collection::vec(prop_oneof![Just(0.0f64), (-90.0..38.0f64).prop_map(|x| 10f64.powf(x))], 6),
        thresholds in prop::collection::vec(1e-6..1e6f64, 6),
    ) {
        let groups = vec![0, 1, 2, 0, 1, 0];
        let rules: [(&dyn Clip, Vec<usize>); 3] = [
            (&Flat::new(thresholds[0]), vec![0; 6]),
            (&PerLayer::new(thresholds.clone()), (0..6).collect()),
            (&Grouped::new(groups.clone(), thresholds[..3].to_vec()), groups),
        ];
        for (rule, groups) in rules {
            let mut factors = vec![f32::NAN; 6];
            rule.factors(&norms, &mut factors);
            prop_assert!(rule.bounds().hold(&norms, &factors));
            prop_assert!(factors.iter().all(|factor| (0.0..=1.0).contains(factor)));
            for (group, threshold) in rule.bounds().thresholds().iter().enumerate() {
                let own = || (0..6).filter(|&tensor| groups[tensor] == group);
                let before = own().map(|tensor| norms[tensor]).sum::<f64>().sqrt();
                let after = own().map(|tensor| f64::from(factors[tensor]).powi(2) * norms[tensor]);
                let after = after.sum::<f64>().sqrt();
                prop_assert!(after <= *threshold);
                // What is short enough stays as it is; what is too long reaches the threshold.
                let expected = before.min(*threshold);
                prop_assert!((after - expected).abs() <= 2e-5 * expected, "{} instead of {}", after, expected);
            }
        }
    }
}

#[test]
fn sensitivity_by_hand() {
    assert_eq!(Flat::new(2.5).bounds().sensitivity(), 2.5);
    assert_eq!(PerLayer::new(vec![3.0, 4.0]).bounds().sensitivity(), 5.0);
    assert_eq!(Grouped::new(vec![0, 1, 0, 1], vec![3.0, 4.0]).bounds().sensitivity(), 5.0);
    assert!((PerLayer::even(2.0, 7).bounds().sensitivity() - 2.0).abs() < 1e-12);
}

/// Two groups with C = (1, 2) and d = (4, 9), σ = 3; the formulas of R5 by hand.
#[test]
fn deviations_by_hand() {
    let rule = Grouped::new(vec![1, 0, 1], vec![1.0, 2.0]);
    let deviations = |allocation| rule.bounds().deviations(allocation, 3.0, &[4, 4, 5]);
    let expect = |deviations: Vec<f64>, first: f64, second: f64| {
        for (deviation, expected) in deviations.iter().zip([second, first, second]) {
            assert!((deviation / expected - 1.0).abs() < 1e-12, "{deviation} instead of {expected}");
        }
    };
    expect(deviations(Allocation::Flat), 3.0 * 5f64.sqrt(), 3.0 * 5f64.sqrt());
    expect(deviations(Allocation::EqualShare), 3.0 * 2f64.sqrt(), 6.0 * 2f64.sqrt());
    // Σ C√d = 1·2 + 2·3 = 8.
    expect(deviations(Allocation::LeastEnergy), 3.0 * (8.0f64 / 2.0).sqrt(), 3.0 * (16.0f64 / 3.0).sqrt());
}

#[test]
fn numbers_that_are_not_finite_never_hold() {
    let bounds = Bounds::whole(1.0);
    assert!(bounds.hold(&[0.5], &[1.0]));
    assert!(!bounds.hold(&[1.1], &[1.0]));
    assert!(!bounds.hold(&[f64::NAN], &[1.0]) && !bounds.hold(&[1.0], &[f32::NAN]));
}

#[test]
fn thresholds_that_bound_nothing_are_refused() {
    for threshold in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-60, 1e60] {
        assert!(std::panic::catch_unwind(|| Flat::new(threshold)).is_err(), "{threshold}");
    }
    assert!(std::panic::catch_unwind(|| Grouped::new(vec![0, 2], vec![1.0, 1.0])).is_err());
    assert!(std::panic::catch_unwind(|| Grouped::new(vec![0, 0], vec![1.0, 1.0])).is_err());
}

/// Logits so far apart that gradients are next to nothing: what a rule makes long by a factor must not be longer than it says.
#[test]
fn a_saturated_record_contributes_no_more_than_its_bound() {
    for name in ["cnn-small", "cnn-5x5"] {
        let network = Arc::new(models::model(name).unwrap().network().unwrap());
        let mut parameters = initial_parameters(&network, 3);
        let (width, last) = (network.input().len(), parameters.len() - network.output().len());
        let inputs: Vec<f32> = (0..width).map(|place| ((place * 37) % 101) as f32 / 101.0).collect();
        let batch = Batch::new(inputs, vec![4]);
        let options = Options { threads: Some(1), ..Options::new(Purpose::PerExample) };
        let mut engine = Engine::new(network, options).unwrap();
        let rules: [(f64, Box<dyn Clip>); 3] = [
            (1.0, Box::new(Normalised::new(1.0, 0.0))),
            (1.0, Box::new(NonMonotone::new(1.0, 1e-30))),
            (1.0, Box::new(Flat::new(1.0))),
        ];
        for logit in [0.0, 20.0, 40.0, 45.0, 48.0, 50.0, 55.0, 60.0, 70.0, 80.0, 90.0, 100.0] {
            // The bias of the record's own class.
            parameters[last + 4] = logit;
            for (bound, rule) in &rules {
                let weigh = |norms: &[f64], factors: &mut [f32]| rule.factors(norms, factors);
                engine.weighted_sum(&parameters, &batch, Loss::SoftmaxCrossEntropy, 0, &weigh).unwrap();
                let sum = engine.gradient().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
                assert!(sum <= *bound, "{name} at a logit of {logit}: {sum}");
            }
        }
    }
}
