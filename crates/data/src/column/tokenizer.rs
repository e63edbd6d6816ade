//! A tokenizer from a file in the format of Hugging Face.

pub use inner::Tokenizer;

#[cfg(feature = "tokenizers")]
mod inner {
    use crate::error::{DataError, Result};
    use crate::open;
    use serde::{Deserialize, Serialize};
    use std::path::Path;
    use std::sync::Arc;

    /// Most bytes of a tokenizer's file.
    const MAXIMUM_FILE: u64 = 64 << 20;

    /// A tokenizer; equal if it comes from the same text, and written down as that.
    #[derive(Clone, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub struct Tokenizer {
        text: Arc<String>,
        inner: Arc<tokenizers::Tokenizer>,
    }

    impl Tokenizer {
        /// Reads a file. What it says of padding and truncation is left to the description.
        pub fn load(path: &Path) -> Result<Tokenizer> {
            let text = String::from_utf8(open::read(path, MAXIMUM_FILE)?).map_err(|error| error.to_string());
            text.and_then(Tokenizer::try_from).map_err(|reason| {
                DataError::malformed(&path.display().to_string(), "whole file", reason)
                    .remedy("give a tokenizer.json as the `tokenizers` library saves it")
            })
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

    impl TryFrom<String> for Tokenizer {
        type Error = String;

        fn try_from(text: String) -> std::result::Result<Tokenizer, String> {
            let wrong = |error: tokenizers::Error| error.to_string();
            let mut inner = tokenizers::Tokenizer::from_bytes(&text).map_err(wrong)?;
            inner.with_padding(None);
            inner.with_truncation(None).map_err(wrong)?;
            Ok(Tokenizer { text: Arc::new(text), inner: Arc::new(inner) })
        }
    }

    impl From<Tokenizer> for String {
        fn from(tokenizer: Tokenizer) -> String {
            tokenizer.text.to_string()
        }
    }

    impl PartialEq for Tokenizer {
        fn eq(&self, other: &Tokenizer) -> bool {
            self.text == other.text
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
    use serde::{Deserialize, Serialize};
    use std::path::Path;

    /// None: this build has no tokenizers.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum Tokenizer {}

    impl TryFrom<String> for Tokenizer {
        type Error = String;

        fn try_from(_: String) -> std::result::Result<Tokenizer, String> {
            Err("it reads texts by a tokenizer; build with `--features tokenizers`".to_string())
        }
    }

    impl From<Tokenizer> for String {
        fn from(tokenizer: Tokenizer) -> String {
            match tokenizer {}
        }
    }

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

#[cfg(all(test, feature = "tokenizers"))]
mod tests {
    use crate::column::Column;
    use serde::Deserialize;
    use std::path::Path;

    /// As the library of Hugging Face encodes the texts (`tests/fixtures/texts/make.py`), cut and filled up.
    #[test]
    fn tokens_are_those_of_the_library() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/texts"));
        let declared = r#"name = "note"
            tokens = { kind = "tokenizer", file = "tokenizer.json", length = 12 }"#;
        let mut column: Column = toml::from_str(declared).unwrap();
        column.load(folder).unwrap();
        assert_eq!(column.tokens.as_ref().unwrap().vocabulary(), Some(293));
        // What a model file holds is enough: the file itself may be gone.
        let written = toml::Value::try_from(&column).unwrap();
        let elsewhere = Column::deserialize(written).unwrap();
        assert_eq!(elsewhere, column);
        for (text, expected) in [
            ("the patient has pain", &[260, 282, 278, 279][..]),
            ("no cough", &[258, 283][..]),
            ("Zürich, 24.12.", &[58, 128, 121, 82, 73, 67, 72, 12, 221, 18, 20, 14, 17, 18, 14][..]),
            ("", &[][..]),
        ] {
            let expected: Vec<f32> = (0..12).map(|place| *expected.get(place).unwrap_or(&0) as f32).collect();
            for column in [&column, &elsewhere] {
                let mut inputs = Vec::new();
                column.encode(text, &mut inputs).unwrap();
                assert_eq!(inputs, expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_tokenizer_says_so() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/texts"));
        let declared = r#"name = "note"
            tokens = { kind = "tokenizer", file = "tokens.json", length = 12 }"#;
        let mut column: Column = toml::from_str(declared).unwrap();
        let message = column.load(folder).unwrap_err().to_string();
        assert!(message.contains("tokens.json") && message.contains("give a tokenizer.json"), "{message}");
    }
}
