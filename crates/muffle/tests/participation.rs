//! Samplers are drawn as they are charged for, and a sampler that is charged as another is caught.

use muffle::audit::participation::{checks, is_violated};
use muffle::noise::Key;
use muffle::sampler::{BallsAndBins, FixedSize, Poisson, Reshuffled, Sampler};
use muffle_accounting::Event;

const RECORDS: usize = 400;
const RUNS: u64 = 40;
const CONFIDENCE: f64 = 0.999;

type Make = fn(&Key) -> Box<dyn Sampler>;

/// All draw 20 records in a step, or expect to.
const SAMPLERS: [(&str, Make); 4] = [
    ("poisson", |key| Box::new(Poisson::new(key, RECORDS, 0.05))),
    ("fixed size", |key| Box::new(FixedSize::new(key, RECORDS, 20))),
    ("reshuffled", |key| Box::new(Reshuffled::new(key, RECORDS, 20))),
    ("balls and bins", |key| Box::new(BallsAndBins::new(key, RECORDS, 20))),
];

/// Draws as one sampler and is charged as another.
struct Mistaken {
    draws: Box<dyn Sampler>,
    charges: Box<dyn Sampler>,
}

impl Sampler for Mistaken {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        self.draws.draw(step)
    }

    fn amplify(&self, event: Event) -> Event {
        self.charges.amplify(event)
    }

    fn period(&self) -> u64 {
        self.charges.period()
    }
}

fn caught(draws: &dyn Fn(&Key) -> Box<dyn Sampler>, charges: Make, seed: u64) -> bool {
    let make =
        |key: &Key| -> Box<dyn Sampler> { Box::new(Mistaken { draws: draws(key), charges: charges(key) }) };
    is_violated(&checks(&make, RECORDS, RUNS, seed).unwrap(), CONFIDENCE)
}

/// A false alarm has probability 0.001 at most with a random seed, so any among these 80 audits 0.08; with these seeds there
/// is none.
#[test]
fn every_sampler_is_drawn_as_it_is_charged() {
    for (name, sampler) in SAMPLERS {
        let alarms = (1..=20).filter(|&seed| caught(&sampler, sampler, seed)).count();
        assert_eq!(alarms, 0, "{name}");
    }
}

#[test]
fn a_sampler_that_is_charged_as_another_is_caught() {
    for (draws, one) in SAMPLERS {
        for (charges, other) in SAMPLERS {
            // Balls and bins put every record into one batch, which is all that a shuffle is charged for.
            let allowed = draws == charges || (draws, charges) == ("balls and bins", "reshuffled");
            for seed in 1..=20 {
                assert_eq!(caught(&one, other, seed), !allowed, "{draws} charged as {charges}");
            }
        }
    }
}

type Draw = fn(&mut dyn Sampler, u64) -> Vec<usize>;

/// A sampler whose draws a function changes.
struct Changed(Box<dyn Sampler>, Draw);

impl Sampler for Changed {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        (self.1)(&mut *self.0, step)
    }

    fn amplify(&self, event: Event) -> Event {
        self.0.amplify(event)
    }
}

#[test]
fn mistakes_inside_a_sampler_are_caught() {
    let (poisson, fixed_size) = (SAMPLERS[0].1, SAMPLERS[1].1);
    let rate: Make = |key| Box::new(Poisson::new(key, RECORDS, 0.055));
    assert!(caught(&rate, poisson, 1), "a rate a tenth above");
    let smaller: Make = |key| Box::new(FixedSize::new(key, RECORDS, 19));
    assert!(caught(&smaller, fixed_size, 1), "a size one below");
    let window = |sampler: &mut dyn Sampler, step: u64| {
        let first = sampler.draw(step)[0] % (RECORDS - 20);
        (first..first + 20).collect()
    };
    let mistakes: [(&str, Make, Draw); 4] = [
        ("the same sample in every step", poisson, |sampler, _| sampler.draw(0)),
        ("every sample twice", fixed_size, |sampler, step| sampler.draw(step / 2)),
        ("one record in every step", poisson, |sampler, step| {
            let mut drawn = sampler.draw(step);
            drawn.retain(|record| *record != 7);
            drawn.push(7);
            drawn.sort_unstable();
            drawn
        }),
        ("neighbours instead of a random subset", fixed_size, window),
    ];
    for (name, sampler, change) in mistakes {
        let changed = |key: &Key| -> Box<dyn Sampler> { Box::new(Changed(sampler(key), change)) };
        assert!(caught(&changed, sampler, 1), "{name}");
    }
}

/// Everybody in every step, one record, and none: nothing to be alarmed about.
#[test]
fn extremes_are_no_mistakes() {
    let makes: [(usize, Make); 6] = [
        (5, |key| Box::new(Poisson::new(key, 5, 1.0))),
        (1, |key| Box::new(Poisson::new(key, 1, 0.5))),
        (0, |key| Box::new(Poisson::new(key, 0, 0.5))),
        (5, |key| Box::new(FixedSize::new(key, 5, 5))),
        (1, |key| Box::new(FixedSize::new(key, 1, 1))),
        (2, |key| Box::new(BallsAndBins::new(key, 2, 5))),
    ];
    for (place, (records, make)) in makes.into_iter().enumerate() {
        assert!(!is_violated(&checks(&make, records, RUNS, 1).unwrap(), CONFIDENCE), "{place}");
    }
}
