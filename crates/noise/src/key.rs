//! The secret from which every random number of a run follows.

use super::stream::{Keystream, Stream};
use std::fmt;

/// The secret of one run.
///
/// Whoever holds the key can subtract the noise, so it is never printed and there is no way to serialise it.
///
/// # Guarantee
///
/// Keys made by [`from_seed`](Self::from_seed) say so: [`is_reproducible`](Self::is_reproducible) is true for them and
/// false for keys made from entropy.
#[derive(Clone)]
pub struct Key {
    bytes: [u8; 32],
    reproducible: bool,
}

/// The operating system gave no entropy, so no private noise can be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no entropy ({0}); private noise needs it")]
pub struct EntropyError(getrandom::Error);

impl Key {
    /// A key that nobody else knows, from the operating system.
    pub fn from_entropy() -> Result<Self, EntropyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(EntropyError)?;
        Ok(Self { bytes, reproducible: false })
    }

    /// A key that everyone who knows the seed also knows.
    ///
    /// For tests and for repeating an experiment. **Noise from such a key protects nobody**: the seed is short, and
    /// usually printed in a report.
    pub fn from_seed(seed: u64) -> Self {
        // The seed is spread over the whole key by the cipher, so that neighbouring seeds are unrelated keys.
        let mut bytes = *b"muffle: key expanded from a seed";
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut block = [[0; 64]];
        Keystream::new(&bytes, Stream::KEY_EXPANSION).read(0, &mut block);
        bytes.copy_from_slice(&block[0][..32]);
        Self { bytes, reproducible: true }
    }

    /// Whether the key came from a seed: the run can be repeated, and its noise is no secret.
    pub fn is_reproducible(&self) -> bool {
        self.reproducible
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Key").field("reproducible", &self.reproducible).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_own_key_each_time() {
        assert_eq!(Key::from_seed(1).bytes, Key::from_seed(1).bytes);
        assert_ne!(Key::from_seed(1).bytes, Key::from_seed(2).bytes);
        assert!(Key::from_seed(1).is_reproducible());
    }

    #[test]
    fn entropy_gives_a_new_key_each_time() {
        let (first, second) = (Key::from_entropy().unwrap(), Key::from_entropy().unwrap());
        assert_ne!(first.bytes, second.bytes);
        assert!(!first.is_reproducible());
    }

    #[test]
    fn printing_a_key_does_not_show_it() {
        assert_eq!(format!("{:?}", Key::from_seed(1)), "Key { reproducible: true, .. }");
    }
}
