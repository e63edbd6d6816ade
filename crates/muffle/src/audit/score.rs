//! Numbers that are high when the record is there.

use super::game::Game;
use crate::error::Result;
use std::ops::Range;

/// Plays of each world from which the noise on each coordinate is learned.
const NOISE_PLAYS: usize = 150;
/// Seeds with which both worlds are played to learn the difference.
const DIFFERENCE_SEEDS: usize = 8;

/// Powers of two that values are tried to be multiples of: from the last bit of the smallest noise to the first of the largest.
const POWERS: Range<i32> = -60..8;

/// A statistic of what is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    kind: Kind,
    /// −1 if the statistic falls when the record comes.
    sign: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The inner product with a vector: a shift of the mean, and the best test if the noise is Gaussian and the same in
    /// both worlds.
    Projection(Vec<f32>),
    /// The squared length of a part: noise whose scale depends on the records, or that is missing.
    Energy(Range<usize>),
    /// The number of values that are whole multiples of a power of two: sums of rounded numbers lie on the lattice of the
    /// largest, and below the noise their low bits show which it was.
    Lattice(i32),
}

impl Score {
    /// The score of one play.
    pub fn of(&self, seen: &[f32]) -> f64 {
        self.sign
            * match &self.kind {
                Kind::Projection(weights) => {
                    let term = |(value, weight): (&f32, &f32)| f64::from(*value) * f64::from(*weight);
                    seen.iter().zip(weights).map(term).sum::<f64>()
                }
                Kind::Energy(part) => {
                    seen[part.clone()].iter().map(|value| f64::from(*value).powi(2)).sum::<f64>()
                }
                Kind::Lattice(power) => multiples(seen, *power),
            }
    }

    /// In a few words.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Projection(_) => {
                "mean shift: inner product with the record's share, in units of the noise".to_string()
            }
            Kind::Energy(part) => {
                format!("noise energy: squared length of coordinates {} to {}", part.start, part.end)
            }
            Kind::Lattice(power) => format!("low bits: values that are whole multiples of 2^{power}"),
        }
    }

    /// The statistics worth trying in a game, learned from plays of their own.
    ///
    /// The difference that the record makes is seen exactly when both worlds are played with the same randomness; the
    /// noise on each coordinate is learned from its spread.
    pub fn candidates(game: &mut dyn Game, seeds: &mut dyn FnMut() -> u64) -> Result<Vec<Score>> {
        let mut difference: Vec<f64> = Vec::new();
        for _ in 0..DIFFERENCE_SEEDS {
            let seed = seeds();
            let (with, without) = (game.play(true, seed)?, game.play(false, seed)?);
            difference.resize(with.len(), 0.0);
            for (sum, (with, without)) in difference.iter_mut().zip(with.iter().zip(&without)) {
                *sum += f64::from(*with) - f64::from(*without);
            }
        }
        let mut parts = game.parts();
        parts.insert(0, 0..difference.len());
        let mut spread = [Spread::new(difference.len()), Spread::new(difference.len())];
        let mut energies = [vec![0.0; parts.len()], vec![0.0; parts.len()]];
        let mut lattices = [vec![0.0; POWERS.len()], vec![0.0; POWERS.len()]];
        for _ in 0..NOISE_PLAYS {
            for (world, present) in [(0, false), (1, true)] {
                let seen = game.play(present, seeds())?;
                spread[world].add(&seen);
                for (energy, part) in energies[world].iter_mut().zip(&parts) {
                    *energy += seen[part.clone()].iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
                }
                for (count, power) in lattices[world].iter_mut().zip(POWERS) {
                    *count += multiples(&seen, power);
                }
            }
        }
        let variance: Vec<f64> = spread[0]
            .variances()
            .zip(spread[1].variances())
            .map(|(without, with)| 0.5 * (without + with))
            .collect();
        let largest = variance.iter().copied().fold(0.0, f64::max);
        // A coordinate without noise gives everything away; its weight is large and still finite.
        let floor = if largest > 0.0 { 1e-9 * largest } else { 1.0 };
        let weights =
            difference.iter().zip(&variance).map(|(shift, variance)| (shift / variance.max(floor)) as f32);
        let mut scores = vec![Score { kind: Kind::Projection(weights.collect()), sign: 1.0 }];
        for ((part, without), with) in parts.into_iter().zip(&energies[0]).zip(&energies[1]) {
            let sign = if with < without { -1.0 } else { 1.0 };
            scores.push(Score { kind: Kind::Energy(part), sign });
        }
        // Every power of two at which the two worlds were seen to differ.
        for (power, (without, with)) in POWERS.zip(lattices[0].iter().zip(&lattices[1])) {
            if with != without {
                let sign = if with < without { -1.0 } else { 1.0 };
                scores.push(Score { kind: Kind::Lattice(power), sign });
            }
        }
        Ok(scores)
    }
}

/// How many values are whole multiples of a power of two; zeros say nothing and are not counted.
fn multiples(values: &[f32], power: i32) -> f64 {
    let inverse = 2f64.powi(-power);
    let whole = |value: &&f32| **value != 0.0 && (f64::from(**value) * inverse).fract() == 0.0;
    values.iter().filter(whole).count() as f64
}

/// Variances of many coordinates, from values as they come.
struct Spread {
    count: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Spread {
    fn new(len: usize) -> Spread {
        Spread { count: 0.0, sums: vec![0.0; len], squares: vec![0.0; len] }
    }

    fn add(&mut self, values: &[f32]) {
        self.count += 1.0;
        for ((sum, square), value) in self.sums.iter_mut().zip(&mut self.squares).zip(values) {
            *sum += f64::from(*value);
            *square += f64::from(*value).powi(2);
        }
    }

    fn variances(&self) -> impl Iterator<Item = f64> + '_ {
        let variance =
            |(sum, square): (&f64, &f64)| (square / self.count - (sum / self.count).powi(2)).max(0.0);
        self.sums.iter().zip(&self.squares).map(variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let projection = Score { kind: Kind::Projection(vec![1.0, -2.0, 0.5]), sign: 1.0 };
        assert_eq!(projection.of(&[3.0, 1.0, 4.0]), 3.0);
        let energy = Score { kind: Kind::Energy(1..3), sign: -1.0 };
        assert_eq!(energy.of(&[7.0, 3.0, 4.0]), -25.0);
    }

    #[test]
    fn multiples_by_hand() {
        assert_eq!(multiples(&[0.0, 0.5, 0.75, -3.0, 1e-9], -1), 2.0);
        assert_eq!(multiples(&[0.0, 0.5, 0.75, -3.0, 1e-9], -2), 3.0);
        assert_eq!(multiples(&[0.0, 0.5, 0.75, -3.0, 4.0], 2), 1.0);
    }

    #[test]
    fn spreads_by_hand() {
        let mut spread = Spread::new(2);
        spread.add(&[1.0, 5.0]);
        spread.add(&[3.0, 5.0]);
        assert_eq!(spread.variances().collect::<Vec<f64>>(), [1.0, 0.0]);
    }
}
