//! Schedules: a number that changes in a way fixed in advance.
//!
//! Noise multipliers, clip thresholds and learning rates all follow them. What is fixed in advance is public, so a
//! schedule costs nothing by itself (R1).

use serde::{Deserialize, Serialize};

/// A value for every time t = 0, 1, 2, ..., counted in steps or epochs as the caller likes.
///
/// # Source
/// `Time`, `Exponential`, `Step` and `Polynomial` are the decays of Yu et al. 2019 (methods M02); `Power` is that of Wu et al.
/// 2021 (ADPSGD); `Cosine` is Loshchilov and Hutter 2017 (SGDR) without restarts.
///
/// # Guarantee
/// The value depends on the schedule's constants and on t only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// `initial / (1 + rate · t)`.
    Time {
        /// Value at t = 0.
        initial: f64,
        /// How fast it falls.
        rate: f64,
    },
    /// `initial · (1 + rate · t)^power`.
    Power {
        /// Value at t = 0.
        initial: f64,
        /// How fast it changes.
        rate: f64,
        /// Exponent; the value grows if it is positive.
        power: f64,
    },
    /// `initial · exp(−rate · t)`.
    Exponential {
        /// Value at t = 0.
        initial: f64,
        /// How fast it falls.
        rate: f64,
    },
    /// `initial · factor^⌊t / period⌋`.
    Step {
        /// Value at t = 0.
        initial: f64,
        /// What every period multiplies by.
        factor: f64,
        /// Times between drops.
        period: u64,
    },
    /// `(initial − end) · (1 − t / period)^power + end`, and `end` after the period.
    Polynomial {
        /// Value at t = 0.
        initial: f64,
        /// Value from t = period on.
        end: f64,
        /// Exponent.
        power: f64,
        /// Times until the end is reached; the length of the run if nobody says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<u64>,
    },
    /// Half a cosine wave from `initial` to `end`, and `end` after the period.
    Cosine {
        /// Value at t = 0.
        initial: f64,
        /// Value from t = period on.
        end: f64,
        /// Times until the end is reached; the length of the run if nobody says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<u64>,
    },
}

impl Schedule {
    /// Ends with a run of this length, unless it says itself when.
    ///
    /// # Errors
    /// If neither is known.
    pub fn end_with(&mut self, length: Option<u64>) -> Result<(), String> {
        let (Schedule::Polynomial { period, .. } | Schedule::Cosine { period, .. }) = self else {
            return Ok(());
        };
        *period = period.or(length);
        match period {
            Some(_) => Ok(()),
            None => Err("the schedule has no period, and how long the run will be is not known in advance: give a period, or \
                         epochs or steps"
                .to_string()),
        }
    }

    /// The value at time t. One that has no end yet stays where it begins.
    pub fn at(&self, time: u64) -> f64 {
        /// How much of the period is over.
        fn progress(time: u64, period: Option<u64>) -> f64 {
            match period {
                Some(period) if time >= period => 1.0,
                Some(period) => time as f64 / period as f64,
                None => 0.0,
            }
        }
        let t = time as f64;
        match *self {
            Schedule::Constant { value } => value,
            Schedule::Time { initial, rate } => initial / (1.0 + rate * t),
            Schedule::Power { initial, rate, power } => initial * (1.0 + rate * t).powf(power),
            Schedule::Exponential { initial, rate } => initial * (-rate * t).exp(),
            Schedule::Step { initial, factor, period } => {
                initial * factor.powf((time / period.max(1)) as f64)
            }
            Schedule::Polynomial { initial, end, power, period } => {
                (initial - end) * (1.0 - progress(time, period)).powf(power) + end
            }
            Schedule::Cosine { initial, end, period } => {
                let wave = (std::f64::consts::PI * progress(time, period)).cos();
                end + 0.5 * (initial - end) * (1.0 + wave)
            }
        }
    }
}

/// A number, or one that changes in a way fixed in advance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a schedule such as { kind = \"exponential\", initial = 1, rate = 0.01 } with all its \
                 numbers (docs/training.md)"
)]
pub enum Scheduled {
    /// Always the same.
    Number(f64),
    /// Fixed in advance.
    Schedule(Schedule),
}

impl Scheduled {
    /// Ends with a run of this length, unless it says itself when.
    ///
    /// # Errors
    /// If neither is known.
    pub fn end_with(&mut self, length: Option<u64>) -> Result<(), String> {
        match self {
            Scheduled::Number(_) => Ok(()),
            Scheduled::Schedule(schedule) => schedule.end_with(length),
        }
    }

    /// The value at time t.
    pub fn at(&self, time: u64) -> f64 {
        match self {
            Scheduled::Number(value) => *value,
            Scheduled::Schedule(schedule) => schedule.at(time),
        }
    }
}

/// What schedules count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Passes over the data.
    #[default]
    Epoch,
    /// Steps.
    Step,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole epochs until Σ 1/(2σ²) would pass the budget.
    fn epochs(noise: &Schedule, budget: f64) -> u64 {
        let mut spent = 0.0;
        (0..)
            .find(|&epoch| {
                spent += 0.5 / noise.at(epoch).powi(2);
                spent > budget
            })
            .unwrap()
    }

    /// Yu et al. 2019 print these epochs for MNIST with σ₀ = 10 and ρ = 0.78125 (100 epochs at σ = 8).
    #[test]
    fn published_schedules_stop_when_printed() {
        let initial = 10.0;
        let schedules = [
            (Schedule::Constant { value: 8.0 }, 100),
            (Schedule::Time { initial, rate: 0.05 }, 38),
            (Schedule::Step { initial, factor: 0.6, period: 10 }, 31),
            (Schedule::Exponential { initial, rate: 0.01 }, 71),
            (Schedule::Polynomial { initial, end: 2.0, power: 3.0, period: Some(100) }, 44),
        ];
        for (schedule, expected) in schedules {
            assert_eq!(epochs(&schedule, 0.78125), expected, "{schedule:?}");
        }
    }

    #[test]
    fn every_schedule_starts_at_its_initial_value_and_ends_where_it_says() {
        let (initial, end, period) = (4.0, 1.0, 8);
        let mut polynomial = Schedule::Polynomial { initial, end, power: 2.0, period: None };
        let mut cosine = Schedule::Cosine { initial, end, period: Some(period) };
        assert!(polynomial.end_with(None).unwrap_err().contains("give a period"));
        assert_eq!((polynomial.end_with(Some(period)), cosine.end_with(Some(5))), (Ok(()), Ok(())));
        for schedule in [&polynomial, &cosine] {
            assert_eq!(schedule.at(0), initial);
            assert_eq!((schedule.at(period), schedule.at(10 * period)), (end, end));
        }
        assert_eq!(polynomial.at(4), 3.0 * 0.25 + 1.0);
        assert!((cosine.at(4) - 2.5).abs() < 1e-12);
        assert_eq!(Schedule::Step { initial, factor: 0.5, period: 2 }.at(5), 1.0);
        assert_eq!(Schedule::Time { initial, rate: 0.25 }.at(4), 2.0);
        // 1 + 0.75 · 4 = 4, and its root is 2.
        assert_eq!(Schedule::Power { initial, rate: 0.75, power: 0.5 }.at(4), 8.0);
        assert_eq!(Schedule::Power { initial, rate: 0.75, power: -0.5 }.at(4), 2.0);
    }
}
