//! `muffle calibrate`: how much noise does my budget need?

use crate::CommandResult;
use crate::run_arguments::{RunArguments, find_accountant, missing, out_of_range};
use clap::Args;
use muffle_accounting::Event;
use muffle_accounting::calibrate::{self, Target};
use muffle_page::plot::{self, curves};
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;

/// How much noise does my budget need? Finds the one of noise multiplier, steps and sample rate that is not given.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  noise:        muffle calibrate --epsilon 3 --delta 1e-5 --sample-rate 0.01 --steps 10000
  steps:        muffle calibrate --epsilon 3 --delta 1e-5 --sample-rate 0.01 --noise-multiplier 1.0
  sample rate:  muffle calibrate --epsilon 3 --delta 1e-5 --steps 10000 --noise-multiplier 1.0
  a schedule:   muffle calibrate --epsilon 3 --delta 1e-5 --events schedule.json   (a factor on all its noise)")]
pub struct Calibrate {
    /// The epsilon to reach and not to exceed.
    #[arg(long, allow_hyphen_values = true)]
    epsilon: f64,

    #[command(flatten)]
    run: RunArguments,

    /// The accountant whose price must not exceed the target.
    #[arg(long, value_name = "NAME", default_value = "pld")]
    accountant: String,

    /// Print one JSON object instead of a sentence.
    #[arg(long)]
    json: bool,

    /// Draw epsilon against steps and delta against epsilon of the result into this file, SVG or PNG by its ending.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What was found: its name, its value, its price, and the event it leads to.
struct Found {
    name: &'static str,
    value: f64,
    epsilon: f64,
    event: Event,
}

impl Calibrate {
    /// Searches and prints the answer.
    pub fn run(mut self) -> CommandResult {
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return Err(out_of_range("--epsilon", self.epsilon, "greater than 0"));
        }
        let schedule = self.run.settle()?;
        let accountant = find_accountant(&self.accountant)?;
        let adjacency = self.run.adjacency();
        let target = Target { epsilon: self.epsilon, delta: self.run.delta(), adjacency };
        let found = self.search(accountant, &target, schedule)?;
        if self.json {
            let mut object = json!({
                "accountant": accountant.name(), "adjacency": adjacency, "delta": self.run.delta(), "epsilon": found.epsilon,
            });
            let whole = found.name == "steps";
            object[found.name] =
                if whole { Value::from(found.value as u64) } else { Value::from(found.value) };
            println!("{object}");
        } else {
            println!("{} {}", found.name.replace('_', " "), self.rounded(&found));
            println!(
                "gives epsilon {:.4} (target {}) at delta {} by {}, adjacency {adjacency}.",
                found.epsilon,
                self.epsilon,
                self.run.delta(),
                accountant.name()
            );
            println!("{} assumes: {}", accountant.name(), accountant.assumption());
            if let Some(remark) = self.run.remark() {
                println!("{remark}");
            }
        }
        if let Some(path) = &self.plot {
            let mut panels = Vec::new();
            if let (None, Some(rate)) = (&self.run.events, self.run.rate()) {
                let noise = if found.name == "noise_multiplier" {
                    Some(found.value)
                } else {
                    self.run.noise_multiplier
                };
                let steps =
                    if found.name == "steps" { Some(found.value as u64) } else { self.run.step_count(rate) };
                if let (Some(noise), Some(steps)) = (noise, steps) {
                    panels.push(self.run.epsilon_against_steps(noise, rate, steps));
                }
            }
            panels.push(curves::delta_against_epsilon(&found.event, adjacency, self.run.delta())?);
            plot::write(path, &panels)?;
        }
        Ok(())
    }

    /// The value with enough digits, rounded to the private side.
    fn rounded(&self, found: &Found) -> String {
        match found.name {
            "steps" => format!("{}", found.value),
            "sample_rate" => format!("{}", found.value),
            _ => format!("{:.6}", (found.value * 1e6).ceil() / 1e6),
        }
    }

    fn search(
        &self,
        accountant: &dyn muffle_accounting::Accountant,
        target: &Target,
        schedule: Option<Event>,
    ) -> Result<Found, Box<dyn Error>> {
        if let Some(schedule) = schedule {
            let found =
                calibrate::noise_multiplier(accountant, target, |factor| schedule.with_noise_scaled(factor))?;
            let event = schedule.with_noise_scaled(found.value);
            return Ok(Found { name: "noise_scale", value: found.value, epsilon: found.epsilon, event });
        }
        let run = &self.run;
        let Some(noise) = run.noise_multiplier else {
            let rate = run.rate().ok_or_else(|| missing("--sample-rate (or --records and --batch-size)"))?;
            let steps = run.step_count(rate).ok_or_else(|| missing("--steps (or --epochs)"))?;
            let found =
                calibrate::noise_multiplier(accountant, target, |noise| run.event(noise, rate, steps))?;
            let event = run.event(found.value, rate, steps);
            return Ok(Found { name: "noise_multiplier", value: found.value, epsilon: found.epsilon, event });
        };
        match (run.rate(), run.steps.is_some() || run.epochs.is_some()) {
            (Some(rate), false) => {
                let found = calibrate::steps(accountant, target, |steps| run.event(noise, rate, steps))?;
                let event = run.event(noise, rate, found.value);
                Ok(Found { name: "steps", value: found.value as f64, epsilon: found.epsilon, event })
            }
            (None, true) => {
                let steps = run.steps.ok_or_else(|| missing("--steps (epochs need a sample rate)"))?;
                let found = calibrate::sample_rate(accountant, target, |rate| run.event(noise, rate, steps))?;
                let event = run.event(noise, found.value, steps);
                Ok(Found { name: "sample_rate", value: found.value, epsilon: found.epsilon, event })
            }
            (Some(_), true) => {
                Err("everything is given: leave out --noise-multiplier, --steps or --sample-rate, \
                                    whichever is to be found"
                    .into())
            }
            (None, false) => Err(missing("--sample-rate or --steps")),
        }
    }
}
