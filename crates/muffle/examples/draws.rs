//! What several draws for each number of noise cost, as a share of a private step.
//!
//!     cargo run --release -p muffle --example draws

use muffle::clip::Flat;
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::noise::Key;
use muffle::optimizer::{Optimizer, Sgd};
use muffle::train::STEPS;
use muffle_accounting::Event;
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::{Batch, Engine, Loss, Options, Purpose, models};
use std::sync::Arc;
use std::time::Instant;

const BATCH: usize = 256;
const ROUNDS: usize = 60;
const DRAWS: [u32; 3] = [1, 2, 4];

fn main() -> muffle::Result<()> {
    for name in ["cnn-small", "cnn-5x5"] {
        let network = Arc::new(models::model(name)?.network()?);
        let mut generator = SplitMix::new(0);
        let inputs = (0..BATCH * network.input().len()).map(|_| generator.normal()).collect();
        let batch = Batch::new(inputs, (0..BATCH as u32).map(|example| example % 10).collect());
        let mut parameters = initial_parameters(&network, 0);
        let mut engine = Engine::new(network, Options::new(Purpose::PerExample))?;
        let mut optimizer = Sgd::new(parameters.len());
        let mechanisms = DRAWS.map(|draws| Mechanism::new(Key::from_seed(0), BATCH as f32).draws(draws));
        let mut times = DRAWS.map(|_| Vec::new());
        // Turn by turn, so that a slow moment of the machine meets all of them; the first round warms up.
        for round in 0..=ROUNDS {
            for (mechanism, times) in mechanisms.iter().zip(&mut times) {
                let begin = Instant::now();
                let (loss, rule) = (Loss::SoftmaxCrossEntropy, Flat::new(1.0));
                let access = Access::all(STEPS, round as u64, Event::gaussian(1.0));
                let receipt = Ledger::in_memory().pay_one(access)?;
                let (engine, examples) = (&mut engine, &batch);
                let gradients = Gradients { engine, parameters: &parameters, examples, loss, seed: 0 };
                let (bounded, _) = gradients.bounded(Rule::Norms(&rule))?;
                let released = mechanism.release(bounded, 1.0, receipt);
                optimizer.step(&mut parameters, &released, 0.01);
                if round > 0 {
                    times.push(begin.elapsed().as_secs_f64());
                }
            }
        }
        let medians = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        for (draws, median) in DRAWS.iter().zip(medians) {
            let more = 100.0 * (median / medians[0] - 1.0);
            println!("{name}, {draws} draws: {:7.3} ms a step, {more:+5.1} %", 1e3 * median);
        }
    }
    Ok(())
}
