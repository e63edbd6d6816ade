//! A tokenizer from a file in the format of Hugging Face.

pub use inner::Tokenizer;

#[cfg(feature = "tokenizers")]
mod inner {
    use crate::error::{DataError, Result};
    use crate::open;
    use std::path::Path;
    use std::sync::Arc;

    /// Most bytes of a tokenizer's file.
    const MAXIMUM_FILE: u64 = 64 << 20;

    /// A tokenizer; equal if it comes from the same bytes.
    #[derive(Clone)]
    pub struct Tokenizer {
        bytes: Arc<Vec<u8>>,
        inner: Arc<tokenizers::Tokenizer>,
    }

    impl Tokenizer {
        /// Reads a file. What it says of padding and truncation is left to the description.
        pub fn load(path: &Path) -> Result<Tokenizer> {
            let bytes = open::read(path, MAXIMUM_FILE)?;
            let wrong = |error: tokenizers::Error| {
                DataError::malformed(&path.display().to_string(), "whole file", error)
                    .remedy("give a tokenizer.json as the `tokenizers` library saves it")
            };
            let mut inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(wrong)?;
            inner.with_padding(None);
            inner.with_truncation(None).map_err(wrong)?;
            Ok(Tokenizer { bytes: Arc::new(bytes), inner: Arc::new(inner) })
        }

        /// Number of tokens.
        pub fn vocabulary(&self) -> u32 {
            self.inner.get_vocab_size(true) as u32
        }

        /// Appends the tokens of a text.
        pub fn encode(&self, text: &str, inputs: &mut Vec<f32>) -> std::result::Result<(), String> {
            let encoding = self.inner.encode_fast(text, true).map_err(|error| error.to_string())?;
            inputs.extend(encoding.get_ids().iter().map(|token| *token as f32));
            Ok(())
        }
    }

    impl PartialEq for Tokenizer {
        fn eq(&self, other: &Tokenizer) -> bool {
            self.bytes == other.bytes
        }
    }

    impl std::fmt::Debug for Tokenizer {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(formatter, "a tokenizer of {} tokens", self.vocabulary())
        }
    }
}

/// Refuses every file.
#[cfg(not(feature = "tokenizers"))]
mod inner {
    use crate::error::{DataError, Result};
    use std::path::Path;

    /// None: this build has no tokenizers.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Tokenizer {}

    impl Tokenizer {
        pub fn load(path: &Path) -> Result<Tokenizer> {
            Err(DataError::Feature { what: path.display().to_string(), feature: "tokenizers" })
        }

        pub fn vocabulary(&self) -> u32 {
            match *self {}
        }

        pub fn encode(&self, _: &str, _: &mut Vec<f32>) -> std::result::Result<(), String> {
            match *self {}
        }
    }
}
