//! The accountant alone: what a run would cost, and how much noise a budget asks for.
//!
//!     cargo run --release -p muffle --example accountant

use muffle_accounting::calibrate::{Target, noise_multiplier};
use muffle_accounting::{Accountant, AccountingError, Adjacency, Event, pld::Pld};

fn main() -> Result<(), AccountingError> {
    let run = |noise: f64| Event::gaussian(noise).poisson_sampled(256.0 / 60_000.0).repeated(2_344);
    let price = Pld.epsilon(&run(1.1), Adjacency::AddRemove, 1e-5)?;
    println!("ten epochs with noise multiplier 1.1 cost epsilon {:.4}", price.epsilon);

    let budget = Target { epsilon: 1.0, delta: 1e-5, adjacency: Adjacency::AddRemove };
    let found = noise_multiplier(&Pld, &budget, run)?;
    println!("epsilon 1 asks for a noise multiplier of {:.4}", found.value);
    Ok(())
}
