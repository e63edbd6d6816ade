//! A training loop of one's own: every access is paid for on disk before it happens.
//!
//!     cargo run --release -p muffle --example own_loop

use muffle::clip::Flat;
use muffle::data::{Search, load};
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::noise::Key;
use muffle::optimizer::{Optimizer, Sgd};
use muffle::records::PrivateRecords;
use muffle::sampler::{Poisson, Sampler};
use muffle::train::STEPS;
use muffle_accounting::{Accountant, Adjacency, Event, pld::Pld};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::{Engine, Loss, Options, Purpose, models};
use std::sync::Arc;

const NOISE_MULTIPLIER: f64 = 1.1;

fn main() -> muffle::Result<()> {
    let digits = Arc::new(load("mnist", &Search::new(None))?);
    let network = Arc::new(models::model("cnn-small")?.network()?);
    let mut parameters = initial_parameters(&network, 0);
    let mut engine = Engine::new(network, Options::new(Purpose::PerExample))?;

    let key = Key::from_entropy()?;
    let records = PrivateRecords::new(digits);
    let mut sampler = Poisson::new(&key, records.count(), 256.0 / 60_000.0);
    let mechanism = Mechanism::new(key, 256.0);
    let mut optimizer = Sgd::new(parameters.len()).momentum(0.9);
    let path = std::env::temp_dir().join(format!("muffle-own-loop-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::open(&path, "twenty steps on digits", false)?;

    for number in 0..20 {
        let release = Event::gaussian(NOISE_MULTIPLIER);
        let charge = Some(sampler.amplify(release.clone()));
        // Without a receipt neither the draw nor the release compiles.
        let receipt = ledger.pay_one(Access { purpose: STEPS, number, release, charge, keep: false })?;
        let (batch, receipt) = records.draw(&mut sampler, receipt);
        let gradients = Gradients {
            engine: &mut engine,
            parameters: &parameters,
            examples: &batch,
            loss: Loss::SoftmaxCrossEntropy,
            seed: number,
        };
        let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
        let released = mechanism.release(bounded, NOISE_MULTIPLIER, receipt);
        optimizer.step(&mut parameters, &released, 0.1);
    }
    let price = Pld.epsilon(&ledger.total(), Adjacency::AddRemove, 1e-5)?;
    println!(
        "twenty steps cost epsilon {:.4} at delta 1e-5; the ledger is {}",
        price.epsilon,
        path.display()
    );
    Ok(())
}
