//! The search for the best test, and its errors on plays that the search has not seen.

use super::game::Game;
use super::score::Score;
use crate::bounds::Detections;
use crate::error::Result;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_nn::on_single_thread;

/// Thresholds that are tried for a score.
const THRESHOLDS: usize = 128;
/// Of the trials that a bound rests on, so many are played beforehand for every pair to choose a test.
pub(super) const PILOT_SHARE: f64 = 0.2;

/// What a test has to be good at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// Epsilon at a delta, without assumptions.
    Epsilon {
        /// The delta.
        delta: f64,
    },
    /// The parameter of Gaussian DP.
    Mu,
}

impl Objective {
    fn value(self, detections: &Detections, confidence: f64) -> f64 {
        match self {
            Objective::Epsilon { delta } => detections.epsilon(delta, confidence),
            Objective::Mu => detections.mu(confidence),
        }
    }
}

/// A test and how it did.
#[derive(Clone, Debug)]
pub struct Attack {
    /// The pair of data sets.
    pub pair: String,
    /// The statistic.
    pub statistic: String,
    /// Above it the test says "present".
    pub threshold: f64,
    /// Scores with the record.
    pub present: Vec<f64>,
    /// Scores without it.
    pub absent: Vec<f64>,
    /// How often the test was right.
    pub detections: Detections,
}

/// Chooses pair, statistic and threshold on some plays, and plays the chosen test `trials` times in each world.
///
/// # Guarantee
/// Nothing of the plays that are counted was used to choose, so the counts are binomial: [`Detections`] are fit for every
/// bound.
///
/// # Panics
/// If there is no game, or no trial.
pub fn attack(
    games: &mut [Box<dyn Game + '_>],
    objective: Objective,
    confidence: f64,
    trials: u64,
    seed: u64,
) -> Result<Attack> {
    assert!(!games.is_empty() && trials > 0, "an attack needs a game and a trial");
    // Plays are short, and their engines have a single thread.
    on_single_thread(|| {
        let mut stream = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Audit, 0));
        let mut seeds = || stream.bits();
        let pilot = ((trials as f64 * PILOT_SHARE) as u64).max(1);
        let worth = |found: &Detections| objective.value(found, confidence);
        let (place, score, threshold) = choose(games, &worth, pilot, &mut seeds)?;
        let game = &mut *games[place];
        let [mut absent, mut present] = play(game, std::slice::from_ref(&score), trials, &mut seeds)?;
        let (absent, present) = (absent.remove(0), present.remove(0));
        let detections = count(&absent, &present, threshold);
        Ok(Attack {
            pair: game.name().to_string(),
            statistic: score.name(),
            threshold,
            present,
            absent,
            detections,
        })
    })?
}

/// The game, the score and the threshold that are worth most on so many plays of each.
fn choose(
    games: &mut [Box<dyn Game + '_>],
    worth: &dyn Fn(&Detections) -> f64,
    plays: u64,
    seeds: &mut dyn FnMut() -> u64,
) -> Result<(usize, Score, f64)> {
    let mut best: Option<(f64, (usize, Score, f64))> = None;
    for (place, game) in games.iter_mut().enumerate() {
        let scores = Score::candidates(&mut **game, seeds)?;
        let [absent, present] = play(&mut **game, &scores, plays, seeds)?;
        for (score, (absent, present)) in scores.into_iter().zip(absent.iter().zip(&present)) {
            let (value, threshold) = best_threshold(absent, present, worth);
            if best.as_ref().is_none_or(|best| value > best.0) {
                best = Some((value, (place, score, threshold)));
            }
        }
    }
    Ok(best.expect("there is a game, and it has a score").1)
}

/// Scores of so many plays in each world, without the record and with it; one list for each score.
fn play(
    game: &mut dyn Game,
    scores: &[Score],
    plays: u64,
    seeds: &mut dyn FnMut() -> u64,
) -> Result<[Vec<Vec<f64>>; 2]> {
    let mut found = [vec![Vec::new(); scores.len()], vec![Vec::new(); scores.len()]];
    for _ in 0..plays {
        for (world, present) in [(0, false), (1, true)] {
            let seen = game.play(present, seeds())?;
            for (list, score) in found[world].iter_mut().zip(scores) {
                list.push(score.of(&seen));
            }
        }
    }
    Ok(found)
}

/// How often a score is above the threshold in either world.
pub(super) fn count(absent: &[f64], present: &[f64], threshold: f64) -> Detections {
    let above = |scores: &[f64]| scores.iter().filter(|score| **score > threshold).count() as u64;
    Detections {
        present: present.len() as u64,
        true_positives: above(present),
        absent: absent.len() as u64,
        false_positives: above(absent),
    }
}

/// What the best threshold is worth on these plays, and the threshold.
pub(super) fn best_threshold(
    absent: &[f64],
    present: &[f64],
    worth: &dyn Fn(&Detections) -> f64,
) -> (f64, f64) {
    let mut all: Vec<f64> = absent.iter().chain(present).copied().collect();
    all.sort_by(f64::total_cmp);
    let mut best = (-1.0, all[0]);
    for place in 1..THRESHOLDS {
        let place = (all.len() * place / THRESHOLDS).max(1);
        let threshold = 0.5 * (all[place - 1] + all[place]);
        let value = worth(&count(absent, present, threshold));
        if value > best.0 {
            best = (value, threshold);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::GaussianNoise;
    use std::ops::Range;

    /// Gaussian noise on every coordinate; the record shifts the first.
    struct Shift {
        shift: f32,
        scale: f32,
    }

    impl Game for Shift {
        fn name(&self) -> &str {
            "shift"
        }

        fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
            let mut seen = vec![0.0; 40];
            let deviation = if present { self.scale } else { 1.0 };
            GaussianNoise::new(&Key::from_seed(seed), Stream::new(Purpose::GradientNoise, 0))
                .fill(0, deviation, &mut seen);
            seen[0] += if present { self.shift } else { 0.0 };
            Ok(seen)
        }

        fn parts(&self) -> Vec<Range<usize>> {
            vec![0..20, 20..40]
        }
    }

    fn run(shift: f32, scale: f32, objective: Objective) -> Attack {
        let mut games: Vec<Box<dyn Game>> = vec![Box::new(Shift { shift, scale })];
        attack(&mut games, objective, 0.95, 4000, 1).unwrap()
    }

    /// μ = 1 is measured within a tenth, and never exceeded with this seed.
    #[test]
    fn a_shift_is_found_by_projection() {
        let found = run(1.0, 1.0, Objective::Mu);
        assert!(found.statistic.starts_with("mean shift"), "{}", found.statistic);
        let mu = found.detections.mu(0.95);
        assert!(mu > 0.9 && mu <= 1.0, "{mu}");
    }

    #[test]
    fn noise_that_grows_or_shrinks_is_found_by_energy() {
        for scale in [0.4, 2.5] {
            let found = run(0.0, scale, Objective::Epsilon { delta: 1e-5 });
            assert!(found.statistic.starts_with("noise energy"), "{}", found.statistic);
            let epsilon = found.detections.epsilon(1e-5, 0.95);
            assert!(epsilon > 4.0, "scale {scale}: {epsilon}");
        }
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        let found = run(0.0, 1.0, Objective::Mu);
        assert_eq!(found.detections.mu(0.95), 0.0);
        assert!(run(0.0, 1.0, Objective::Epsilon { delta: 1e-5 }).detections.epsilon(1e-5, 0.95) < 0.1);
    }
}
