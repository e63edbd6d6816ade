//! What must be true of every method, in every form.

use crate::common::{Records, distance};
use crate::trial::{NOBODY, NOISE, Noise, Trial, forms};
use muffle::audit::Subject;
use muffle::audit::replay::Replay;
use muffle::methods::{METHODS, Mode};
use muffle::train::estimate::estimate;
use muffle_accounting::Event;

#[test]
fn every_form_takes_an_empty_batch_a_batch_of_one_and_a_record_that_is_not_finite() {
    for (name, mode) in forms() {
        let mut trial = Trial::new(name, mode);
        let some = trial.setting.records(3, 1.0);
        for records in [NOBODY, trial.setting.records(1, 1.0), some.zeroed_out(1), some.clone()] {
            let (sum, event) = trial.release(&records, 1);
            assert!(sum.iter().all(|value| value.is_finite()), "{name}, {mode:?}");
            match (mode, &event) {
                (Mode::Sound, Event::Gaussian { noise_multiplier }) => assert_eq!(*noise_multiplier, NOISE),
                (Mode::AsPublished, Event::Claimed { epsilon, .. }) => {
                    assert_eq!(Some(*epsilon), trial.plan.charged, "{name}");
                }
                _ => panic!("{name}, {mode:?}: {event:?}"),
            }
        }
        // Left out means: nothing of it is in the sum. Only where the number of records is public does it leave a report.
        let without = Records { inputs: vec![some.inputs[0].clone()] };
        let excluded = Records { inputs: vec![some.inputs[0].clone(), vec![f32::NAN; 144]] };
        let (left, _) = trial.release(&without, 1);
        let (right, _) = trial.release(&excluded, 1);
        assert!((distance(&left, &right) <= 1e-5) == (name != "ng-local"), "{name}, {mode:?}");
    }
}

/// Frozen randomness, one record more or less, at the first step and with a history: in deviations of its noise the sum
/// moves by 1/σ at most.
#[test]
fn the_sum_of_a_sound_form_moves_by_no_more_than_its_noise_allows() {
    // These two go on after the noise; they have tests of their own.
    let plain = |name: &str| name != "noisy-gradient" && name != "ng-local";
    for entry in METHODS.iter().filter(|entry| plain(entry.name)) {
        let trial = Trial::new(entry.name, Mode::Sound);
        for (history, scale) in [(0, 0.1), (0, 30.0), (3, 0.1), (3, 1.0), (3, 30.0)] {
            let records = trial.setting.records(8, scale);
            let subject = Subject {
                method: Box::new(|| Ok(trial.method())),
                ..Subject::of(&trial.plan, trial.setting.parameters.clone())
            };
            let mut replay = Replay::new(subject, 3).unwrap();
            for _ in 0..history {
                replay.advance(&records.all()).unwrap();
            }
            let movement = replay.movement(&records.all(), &records.removed().all()).unwrap();
            assert!((movement.allowed - trial.plan.adjacency.sensitivity() / NOISE).abs() < 1e-12);
            assert!(movement.holds(), "{} after {history} steps: {movement:?}", entry.name);
            assert!(movement.moved > 1e-3, "{}: the record takes part", entry.name);
        }
    }
}

/// With every sampler that a form takes: it is the recipe's own that draws the made-up records.
#[test]
fn the_time_of_every_form_can_be_estimated() {
    for (method, mode) in forms() {
        let expected = estimate(&Trial::new(method, mode).plan);
        assert!(expected.unwrap_or_else(|error| panic!("{method}, {}: {error}", mode.name())).seconds > 0.0);
    }
}

#[test]
fn what_a_method_learns_survives_a_checkpoint() {
    for name in ["quantile-clip", "icgc", "adadp", "dp-adam-ilg", "relevance-noise", "adlm", "afrrs"] {
        let mut trial = Trial::new(name, Mode::Sound);
        let records = trial.setting.records(60, 1.0);
        let mut method = trial.method();
        let mut mechanism = Noise::of(5);
        let first = trial.plan.build_method().unwrap().state();
        for _ in 0..10 {
            trial.advance(&mut *method, &mut mechanism, &records);
        }
        let saved = method.state();
        assert_ne!(first, saved, "{name}");
        let mut resumed = trial.plan.build_method().unwrap();
        resumed.restore(&saved).unwrap();
        let mut copy = Noise { step: 10, ..Noise::of(5) };
        let one = trial.advance(&mut *method, &mut mechanism, &records);
        let two = trial.advance(&mut *resumed, &mut copy, &records);
        assert_eq!(one.0, two.0, "{name}");
        assert_eq!(method.state(), resumed.state(), "{name}");
    }
}
