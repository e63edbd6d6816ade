//! Random numbers that privacy can rest on: a cryptographic stream, and the noise made from it.
//!
//! Every random number in a run comes from one [`Key`] and has an address: what it is for ([`Purpose`]), the step, and
//! the coordinate. The same address always gives the same number, so the noise of a step does not depend on how many
//! threads drew it or on how the coordinates were split between them.
//!
//! ```
//! use muffle::noise::{GaussianNoise, Key, Purpose, Stream};
//!
//! let key = Key::from_entropy().expect("the operating system provides entropy");
//! let noise = GaussianNoise::new(&key, Stream::new(Purpose::GradientNoise, 0));
//! let mut sum = vec![0.0f32; 1000];
//! noise.add(0, 1.5, &mut sum);
//! ```
//!
//! # Floating point
//!
//! Privacy proofs speak of real numbers; a computer adds rounded ones (Mironov 2012, "On significance of the least
//! significant bits for differential privacy"). What is done here about it: the stream is cryptographic, the tail is
//! drawn from 64 bits, and a value can be the sum of several draws
//! ([`draws`](GaussianNoise::draws)) so that it does not reveal which random bits made it. This makes the known
//! attacks impractical; it is not a proof about floating-point numbers.

#[cfg(target_arch = "x86_64")]
mod eight_blocks;
mod elementary;
mod gaussian;
mod grain;
mod key;
mod laplace;
mod stream;
mod uniform;

pub use gaussian::GaussianNoise;
pub(crate) use grain::coarsen;
pub use key::{EntropyError, Key};
pub use laplace::LaplaceNoise;
pub use stream::{Purpose, Stream};
pub use uniform::Uniform;
