//! Private learning: from records, a network and a budget to a model with a defended epsilon.
//!
//! The front door is [`Training`]:
//!
//! ```no_run
//! use muffle::{Training, data::{Search, load}};
//!
//! let digits = load("mnist", &Search::new(None))?;
//! let network = muffle_nn::models::model("cnn-small")?;
//! let model = Training::new(&digits, &network)
//!     .epsilon(3.0)
//!     .on_progress(|progress| println!("{} of {} steps", progress.step, progress.steps))
//!     .train("runs/digits".as_ref())?;
//! println!("epsilon {:?}", model.certificate.proved.epsilon);
//! # Ok::<(), muffle::Error>(())
//! ```
//!
//! Behind it, from the outside to the inside:
//!
//! - [`run`] keeps the folder, the [`ledger`], the budget, checkpoints, measurements and the certificate, and knows no
//!   gradient. What it runs is a [`Trainer`](run::Trainer): [`train`] holds the one that descends on gradients.
//! - [`methods`] are the published ways from gradients of records to a released gradient, in two forms: `sound`, which is
//!   proved, and `as-published`, which is a claim.
//! - [`mechanism`] is where sums that one record can move only so far get their noise. Nothing leaves it without a
//!   [receipt](ledger::Receipt), and no noise is drawn elsewhere.
//! - [`clip`], [`sampler`], [`noise`], [`optimizer`] and [`schedule`] are the parts.
//!
//! A loop of one's own, a step at a time: every access is paid for before it happens, and code that forgets to pay does not
//! compile.
//!
//! ```
//! use muffle::clip::Flat;
//! use muffle::ledger::{Access, Ledger};
//! use muffle::mechanism::{Gradients, Mechanism, Rule};
//! use muffle::noise::Key;
//! use muffle::optimizer::{Optimizer, Sgd};
//! use muffle::sampler::{Poisson, Sampler};
//! use muffle::train::STEPS;
//! use muffle_accounting::Event;
//! use muffle_nn::{Batch, Engine, Loss, ModelDescription, Options, Purpose, initialise::initial_parameters};
//!
//! # let description = ModelDescription::from_toml("input = [4]\nlayers = [{ type = \"dense\", features = 3 }]")?;
//! let network = std::sync::Arc::new(description.network()?);
//! let mut parameters = initial_parameters(&network, 0);
//! let mut engine = Engine::new(network, Options::new(Purpose::PerExample))?;
//! let key = Key::from_seed(1); // a real run takes Key::from_entropy()
//!
//! let mut sampler = Poisson::new(&key, 1000, 0.01);
//! let mechanism = Mechanism::new(key, 10.0);
//! let mut optimizer = Sgd::new(parameters.len());
//! let mut ledger = Ledger::in_memory(); // a real run takes Ledger::open
//!
//! let release = Event::gaussian(1.1);
//! let charge = Some(sampler.amplify(release.clone()));
//! let receipt = ledger.pay_one(Access { purpose: STEPS, number: 0, release, charge, keep: false })?;
//! let records = sampler.draw(receipt.number());
//! let batch = Batch::new(vec![0.5; 4 * records.len()], vec![2; records.len()]);
//! let gradients = Gradients {
//!     engine: &mut engine,
//!     parameters: &parameters,
//!     examples: &batch,
//!     loss: Loss::SoftmaxCrossEntropy,
//!     seed: 0,
//! };
//! let (bounded, _) = gradients.bounded(Rule::Norms(&Flat::new(1.0)))?;
//! let released = mechanism.release(bounded, 1.1, receipt);
//! optimizer.step(&mut parameters, &released, 0.1);
//! assert_eq!(ledger.total(), Event::compose([Event::gaussian(1.1).poisson_sampled(0.01)]));
//! # Ok::<(), muffle::Error>(())
//! ```

pub mod adversarial;
pub mod attack;
pub mod audit;
pub mod bench;
pub mod bounds;
pub mod bundle;
mod chunk;
pub mod clip;
mod digest;
mod error;
pub mod experiment;
pub mod features;
pub mod gradient_norms;
pub mod kinds;
pub mod learner;
pub mod ledger;
pub mod mechanism;
mod memory;
pub mod methods;
mod moments;
pub mod moving_average;
pub mod objective;
pub mod optimizer;
pub mod pate;
pub mod picture;
mod polynomial;
pub mod principal_components;
pub mod ranges;
pub mod recipes;
pub mod records;
pub mod relevance;
pub mod run;
pub mod sampler;
pub mod schedule;
pub mod scoring;
pub mod search;
mod side_by_side;
mod state;
pub mod statistics;
pub mod summary;
pub mod train;
pub mod training;

pub use error::{Error, Result};
pub use muffle_data as data;
pub use muffle_nn::atomic_file;
pub use muffle_noise as noise;
pub use state::{State, StateError};
pub use training::{Model, Training};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
