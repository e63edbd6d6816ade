//! Private learning: what turns per-example gradients into a model with a defended epsilon.
//!
//! One private step, from records to parameters:
//!
//! ```
//! use muffle::clip::Flat;
//! use muffle::mechanism::{Mechanism, clip};
//! use muffle::noise::Key;
//! use muffle::optimizer::{Optimizer, Sgd};
//! use muffle::sampler::{Poisson, Sampler};
//! use muffle_nn::{Batch, Engine, Loss, ModelDescription, Options, Purpose, initialise::initial_parameters};
//!
//! # let description = ModelDescription::from_toml("input = [4]\nlayers = [{ type = \"dense\", features = 3 }]")?;
//! let network = std::sync::Arc::new(description.network()?);
//! let mut parameters = initial_parameters(&network, 0);
//! let mut engine = Engine::new(network, Options::new(Purpose::PerExample))?;
//! let key = Key::from_seed(1); // a real run takes Key::from_entropy()
//!
//! let mut sampler = Poisson::new(&key, 1000, 0.01);
//! let mut mechanism = Mechanism::new(key, 10.0);
//! let mut optimizer = Sgd::new(parameters.len());
//!
//! let records = sampler.draw(mechanism.next_step());
//! let batch = Batch::new(vec![0.5; 4 * records.len()], vec![2; records.len()]);
//! let (clipped, _) =
//!     clip(&mut engine, &parameters, &batch, Loss::SoftmaxCrossEntropy, 0, &Flat::new(1.0))?;
//! let (released, event) = mechanism.release(clipped, 1.1);
//! optimizer.step(&mut parameters, &released, 0.1);
//! let cost = sampler.amplify(event);
//! assert_eq!(cost, muffle_accounting::Event::gaussian(1.1).poisson_sampled(0.01));
//! # Ok::<(), muffle_nn::Error>(())
//! ```

pub mod attack;
pub mod audit;
pub mod bench;
pub mod clip;
pub mod experiment;
pub mod mechanism;
pub mod methods;
pub mod moving_average;
pub mod noise;
pub mod optimizer;
pub mod principal_components;
pub mod relevance;
pub mod sampler;
pub mod schedule;
pub mod search;
mod side_by_side;
mod state;
pub mod statistics;
pub mod train;

pub use muffle_data as data;
pub use muffle_nn::atomic_file;
pub use state::{State, StateError};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
