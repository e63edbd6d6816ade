//! Noise, steps, rate and epsilon: any three give the fourth, by the accountant that runs are held to.

use crate::plot::{Panel, curves};
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, AccountingError, Adjacency, Event};

/// What is known of steps of DP-SGD on Poisson samples, where one record more or less makes neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Question {
    /// Standard deviation of the noise over the clipping threshold.
    pub noise: Option<f64>,
    /// How many steps.
    pub steps: Option<u64>,
    /// Probability that a record is in a batch.
    pub rate: Option<f64>,
    /// The epsilon to keep to.
    pub epsilon: Option<f64>,
    /// Probability with which the guarantee may fail.
    pub delta: f64,
}

/// All four, of which one was found, with the curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which was found.
    pub found: &'static str,
    /// Standard deviation of the noise over the clipping threshold.
    pub noise: f64,
    /// How many steps.
    pub steps: u64,
    /// Probability that a record is in a batch.
    pub rate: f64,
    /// Their price: at most the epsilon that was given.
    pub epsilon: f64,
    /// Epsilon against steps, and delta against epsilon.
    pub panels: Vec<Panel>,
}

/// What a page may ask, so that an answer takes moments: a program has no such limits.
const NOISE: [f64; 2] = [0.05, 1e4];
const STEPS: [f64; 2] = [1.0, 1e8];
const EPSILON: [f64; 2] = [1e-3, 100.0];
const RATE: [f64; 2] = [1e-9, 1.0];
const DELTA: [f64; 2] = [1e-30, 0.5];

const ADJACENCY: Adjacency = Adjacency::AddRemove;

fn event(noise: f64, rate: f64, steps: u64) -> Event {
    Event::gaussian(noise).poisson_sampled(rate).repeated(steps)
}

/// Finds the one that is missing, or says what to change.
pub fn solve(question: &Question) -> Result<Answer, String> {
    let Question { noise, steps, rate, epsilon, delta } = *question;
    check("noise", noise, NOISE)?;
    check("steps", steps.map(|steps| steps as f64), STEPS)?;
    check("rate", rate, RATE)?;
    check("epsilon", epsilon, EPSILON)?;
    check("delta", Some(delta), DELTA)?;
    let target = |epsilon| Target { epsilon, delta, adjacency: ADJACENCY };
    let wrong = |error: AccountingError| error.to_string();
    let (found, noise, steps, rate, epsilon) = match (noise, steps, rate, epsilon) {
        (Some(noise), Some(steps), Some(rate), None) => {
            let price = Pld.epsilon(&event(noise, rate, steps), ADJACENCY, delta).map_err(wrong)?;
            ("epsilon", noise, steps, rate, price.epsilon)
        }
        (None, Some(steps), Some(rate), Some(epsilon)) => {
            let made = |noise: f64| event(noise, rate, steps);
            let found = calibrate::noise_multiplier(&Pld, &target(epsilon), made).map_err(wrong)?;
            ("noise", found.value, steps, rate, found.epsilon)
        }
        (Some(noise), None, Some(rate), Some(epsilon)) => {
            let made = |steps: u64| event(noise, rate, steps);
            let found = calibrate::steps(&Pld, &target(epsilon), made).map_err(wrong)?;
            ("steps", noise, found.value, rate, found.epsilon)
        }
        (Some(noise), Some(steps), None, Some(epsilon)) => {
            let made = |rate: f64| event(noise, rate, steps);
            let found = calibrate::sample_rate(&Pld, &target(epsilon), made).map_err(wrong)?;
            ("rate", noise, steps, found.value, found.epsilon)
        }
        (Some(_), Some(_), Some(_), Some(_)) => {
            return Err("All four are given: leave the one empty that is to be found.".into());
        }
        _ => return Err("Give three of the four; the one that is left empty is found.".into()),
    };
    let mut panels =
        vec![curves::epsilon_against_steps(|steps| event(noise, rate, steps), ADJACENCY, delta, steps)];
    panels.extend(curves::delta_against_epsilon(&event(noise, rate, steps), ADJACENCY, delta));
    Ok(Answer { found, noise, steps, rate, epsilon, panels })
}

fn check(name: &str, value: Option<f64>, [low, high]: [f64; 2]) -> Result<(), String> {
    match value.filter(|value| !(low..=high).contains(value)) {
        Some(value) => {
            Err(format!("{name} {value} is outside {low} to {high}; `muffle calibrate` takes more."))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_three_give_the_fourth_and_it_is_that_of_the_accountant() {
        let known =
            Question { noise: Some(1.1), steps: Some(500), rate: Some(0.01), epsilon: None, delta: 1e-5 };
        let found = solve(&known).unwrap();
        let price = Pld.epsilon(&event(1.1, 0.01, 500), ADJACENCY, 1e-5).unwrap().epsilon;
        assert_eq!((found.found, found.epsilon), ("epsilon", price));
        assert_eq!(found.panels.len(), 2);
        let epsilon = Some(price * 1.0001);
        for (name, question) in [
            ("noise", Question { noise: None, epsilon, ..known }),
            ("steps", Question { steps: None, epsilon, ..known }),
            ("rate", Question { rate: None, epsilon, ..known }),
        ] {
            let back = solve(&question).unwrap();
            assert_eq!(back.found, name);
            assert!(back.epsilon <= price * 1.0001, "{name}");
            let ratios = [back.noise / 1.1, back.steps as f64 / 500.0, back.rate / 0.01];
            assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 2e-3), "{name}: {ratios:?}");
        }
    }

    #[test]
    fn what_cannot_be_answered_says_what_to_change() {
        let some = Question { noise: Some(1.0), steps: Some(10), delta: 1e-5, ..Question::default() };
        assert!(solve(&some).unwrap_err().contains("three of the four"));
        let all = Question { rate: Some(0.1), epsilon: Some(1.0), ..some };
        assert!(solve(&all).unwrap_err().contains("leave the one empty"));
        assert!(solve(&Question { rate: Some(2.0), ..some }).unwrap_err().contains("rate 2 is outside"));
        assert!(solve(&Question { noise: Some(f64::NAN), ..some }).unwrap_err().contains("noise"));
    }
}
