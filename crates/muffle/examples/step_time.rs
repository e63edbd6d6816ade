//! Processor time of private steps, which is comparable between two versions of the program where other work keeps the machine busy.
//!
//!     cargo run --release -p muffle --example step_time -- lstm-rows 128 22
//!
//! takes 22 steps of a model on batches of 128 random records, on one thread unless a fourth argument says how many. Linux tells the time
//! of every thread.

use muffle::clip::Flat;
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Gradients, Mechanism, Rule};
use muffle::noise::Key;
use muffle::optimizer::{Optimizer, Sgd};
use muffle::train::STEPS;
use muffle_accounting::Event;
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::{Batch, Engine, Loss, Options, Purpose, models};
use std::error::Error;
use std::fs;
use std::sync::Arc;

/// Steps that are not counted.
const WARM_UP: usize = 2;

/// Milliseconds that all threads have been running.
fn processor_ms() -> Result<f64, Box<dyn Error>> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let times = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += times.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, records, steps, threads @ ..] = &arguments[..] else {
        return Err("usage: step_time MODEL RECORDS STEPS [THREADS]".into());
    };
    let (records, steps): (usize, usize) = (records.parse()?, steps.parse()?);
    let threads = threads.first().map_or(Ok(1), |threads| threads.parse())?;
    let network = Arc::new(models::model(model)?.network()?);
    let mut generator = SplitMix::new(0);
    let (width, classes) = (network.input().len(), network.output().len() as u64);
    let inputs = (0..records * width).map(|_| generator.normal()).collect();
    let targets = (0..records).map(|_| (generator.bits() % classes) as u32).collect();
    let batch = Batch::new(inputs, targets);
    let mut parameters = initial_parameters(&network, 0);
    let options = Options { threads: Some(threads), ..Options::new(Purpose::PerExample) };
    let mut engine = Engine::new(network, options)?;
    let mut optimizer = Sgd::new(parameters.len());
    let mechanism = Mechanism::new(Key::from_seed(0), records as f32);
    let (mut whole, mut releases) = (Vec::new(), Vec::new());
    for step in 0..steps + WARM_UP {
        let begin = processor_ms()?;
        let access = Access::all(STEPS, step as u64, Event::gaussian(1.0));
        let receipt = Ledger::in_memory().pay_one(access)?;
        let (engine, examples, loss) = (&mut engine, &batch, Loss::SoftmaxCrossEntropy);
        let gradients = Gradients { engine, parameters: &parameters, examples, loss, seed: step as u64 };
        let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
        let summed = processor_ms()?;
        let released = mechanism.release(bounded, 1.0, receipt);
        releases.push(processor_ms()? - summed);
        optimizer.step(&mut parameters, &released, 0.05);
        whole.push(processor_ms()? - begin);
    }
    let describe = |times: &mut Vec<f64>| {
        times.drain(..WARM_UP);
        times.sort_by(f64::total_cmp);
        format!("least {:.3} ms, median {:.3} ms", times[0], times[times.len() / 2])
    };
    println!(
        "{model}, {records} records: step {}; release {}",
        describe(&mut whole),
        describe(&mut releases)
    );
    Ok(())
}
