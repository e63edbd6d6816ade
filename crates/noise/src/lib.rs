//! Random numbers that privacy can rest on: a cryptographic stream, and the noise made from it.
//!
//! Every random number in a run comes from one [`Key`] and has an address: what it is for ([`Purpose`]), the step, and
//! the coordinate. The same address always gives the same number, so the noise of a step does not depend on how many
//! threads drew it or on how the coordinates were split between them.
//!
//! ```
//! use muffle_noise::{IntegerNoise, Key, Purpose, Stream};
//!
//! let key = Key::from_entropy().expect("the operating system provides entropy");
//! let noise = IntegerNoise::gaussian(&key, Stream::new(Purpose::GradientNoise, 0), 1.5e6);
//! let mut sum = vec![0.0; 1000];
//! noise.add(0, &mut sum);
//! ```
//!
//! # Floating point
//!
//! Privacy proofs speak of real numbers; a computer adds rounded ones, and the last bits of a noisy number can give away what is
//! below the noise (Mironov 2012, "On significance of the least significant bits for differential privacy"). So everything
//! private is released on a grid, with [noise on the integers](IntegerNoise) that is rounded from real noise without an error:
//! docs/floating-point.md.

#[cfg(target_arch = "x86_64")]
mod eight_blocks;
mod elementary;
mod gaussian;
mod integers;
mod key;
mod quick;
#[cfg(target_arch = "x86_64")]
mod sixteen_blocks;
mod stream;
mod uniform;
mod wide;

pub use gaussian::GaussianNoise;
pub use integers::IntegerNoise;
pub use integers::LARGEST_SCALE;
pub use key::{EntropyError, Key};
pub use stream::{Purpose, Stream};
pub use uniform::Uniform;
