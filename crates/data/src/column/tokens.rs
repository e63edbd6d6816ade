//! Texts as sequences of token numbers of one length, for a network that begins with an embedding.

use super::quoted;
use super::tokenizer::Tokenizer;
use crate::limits;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Most tokens that an embedding can tell apart: numbers up to here are exact in single precision.
const MOST: u32 = 1 << 24;

/// What the cells of a column of text hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Token numbers, with spaces between them.
    Ids,
    /// Text, of which every byte (in UTF-8) is a token: 0 to 255.
    Bytes,
    /// Text, for a tokenizer from a file.
    Tokenizer,
}

/// Which end of a text that is too long is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The first tokens.
    #[default]
    Beginning,
    /// The last tokens.
    End,
}

/// How a column of text becomes tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// What the cells hold.
    pub kind: Kind,
    /// Tokens of every record: what is longer is cut, what is shorter is padded at its end.
    pub length: usize,
    /// For token numbers: how many different ones there are. They are below this.
    pub vocabulary: Option<u32>,
    /// The token that fills up short texts; for bytes 256 if nothing else is said, otherwise 0.
    pub padding: Option<u32>,
    /// Which end of a text that is too long is kept.
    #[serde(default)]
    pub keep: Keep,
    /// For a tokenizer: its file in the format of Hugging Face (`tokenizer.json`), relative to the description.
    pub file: Option<String>,
    /// The tokenizer, once it is loaded: its file, so that a model that reads texts can be used without it.
    #[serde(rename = "definition", default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokenizer: Option<Tokenizer>,
}

impl Tokens {
    /// The token that fills up short texts.
    pub fn padding(&self) -> u32 {
        self.padding.unwrap_or(if self.kind == Kind::Bytes { 256 } else { 0 })
    }

    /// Number of different tokens, the padding included: the size of the embedding. Not known before a tokenizer is loaded.
    pub fn vocabulary(&self) -> Option<u32> {
        let known = match self.kind {
            Kind::Ids => self.vocabulary,
            Kind::Bytes => Some(256),
            Kind::Tokenizer => self.tokenizer.as_ref().map(Tokenizer::vocabulary),
        };
        known.map(|count| count.max(self.padding() + 1))
    }

    /// Checks that the declaration says one thing.
    pub(super) fn check(&self) -> Result<(), String> {
        let longest = limits::MAXIMUM_RECORD;
        // Lengths of several columns are added up.
        if !(1..=longest).contains(&self.length) {
            return Err(format!("`tokens` wants a length of at least 1 and at most {longest}"));
        }
        if self.padding() >= MOST || self.vocabulary.is_some_and(|count| count > MOST) {
            return Err(format!("`tokens` wants token numbers below {MOST}"));
        }
        match (self.kind, self.vocabulary, &self.file) {
            (Kind::Ids, None | Some(0), _) => {
                Err("token numbers need `vocabulary`, the number of different ones; it is not computed from the records"
                    .to_string())
            }
            (Kind::Tokenizer, _, None) => {
                Err("a tokenizer needs `file = \"tokenizer.json\"`, its file in the format of Hugging Face".to_string())
            }
            (Kind::Bytes | Kind::Tokenizer, Some(_), _) => {
                Err("`vocabulary` is for token numbers; bytes and tokenizers know theirs".to_string())
            }
            (Kind::Ids | Kind::Bytes, _, Some(_)) => Err("`file` is for a tokenizer".to_string()),
            _ => Ok(()),
        }
    }

    /// Reads the file of a tokenizer, if there is one.
    pub(super) fn load(&mut self, folder: &Path) -> crate::error::Result<()> {
        if let (Some(file), None) = (&self.file, &self.tokenizer) {
            self.tokenizer = Some(Tokenizer::load(&folder.join(file))?);
        }
        Ok(())
    }

    /// Appends the tokens of one cell, cut or padded.
    pub(super) fn encode(&self, cell: &str, inputs: &mut Vec<f32>) -> Result<(), String> {
        let first = inputs.len();
        match (self.kind, &self.tokenizer) {
            (Kind::Ids, _) => {
                for word in cell.split_ascii_whitespace() {
                    inputs.push(self.token(word)? as f32);
                }
            }
            (Kind::Bytes, _) => inputs.extend(cell.bytes().map(f32::from)),
            (Kind::Tokenizer, Some(tokenizer)) => tokenizer.encode(cell, inputs)?,
            (Kind::Tokenizer, None) => return Err("the tokenizer was not loaded".to_string()),
        }
        let found = inputs.len() - first;
        if found > self.length && self.keep == Keep::End {
            inputs.drain(first..first + found - self.length);
        }
        inputs.resize(first + self.length, self.padding() as f32);
        Ok(())
    }

    fn token(&self, word: &str) -> Result<u32, String> {
        let token = word.parse::<u32>().ok();
        token.filter(|token| Some(*token) < self.vocabulary).ok_or_else(|| {
            let known = self.vocabulary.unwrap_or(0).saturating_sub(1);
            format!(
                "{} is not a token number from 0 to {known}; correct it, or declare a larger `vocabulary`",
                quoted(word)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Tokens, String> {
        let tokens: Tokens = toml::from_str(text).map_err(|error| error.to_string())?;
        tokens.check().map(|()| tokens)
    }

    fn encode(text: &str, cell: &str) -> Result<Vec<f32>, String> {
        let mut inputs = vec![9.0];
        tokens(text)?.encode(cell, &mut inputs)?;
        Ok(inputs.split_off(1))
    }

    #[test]
    fn every_text_has_the_stated_length() {
        let ids = "kind = \"ids\"\nvocabulary = 10\nlength = 3\n";
        assert_eq!(encode(ids, "7  1"), Ok(vec![7.0, 1.0, 0.0]));
        assert_eq!(encode(ids, "1 2 3 4"), Ok(vec![1.0, 2.0, 3.0]));
        assert_eq!(encode(&format!("{ids}keep = \"end\""), "1 2 3 4"), Ok(vec![2.0, 3.0, 4.0]));
        assert_eq!(encode(&format!("{ids}padding = 5"), ""), Ok(vec![5.0; 3]));
        let bytes = "kind = \"bytes\"\nlength = 4";
        assert_eq!(encode(bytes, "hé"), Ok(vec![104.0, 195.0, 169.0, 256.0]));
        assert_eq!(tokens(bytes).unwrap().vocabulary(), Some(257));
        assert_eq!(tokens(&format!("{ids}padding = 10")).unwrap().vocabulary(), Some(11));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let ids = "kind = \"ids\"\nvocabulary = 10\nlength = 3\n";
        for cell in ["10", "-1", "1 x", "1.0"] {
            assert!(encode(ids, cell).unwrap_err().contains("token number from 0 to 9"), "{cell}");
        }
        let refused = |text: &str, part: &str| {
            let reason = tokens(text).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        refused("kind = \"ids\"\nlength = 3", "need `vocabulary`");
        refused("kind = \"bytes\"\nlength = 0", "length of at least 1");
        refused("kind = \"bytes\"\nlength = 9223372036854775807", "at most 16777216");
        refused("kind = \"bytes\"\nlength = 3\nvocabulary = 9", "know theirs");
        refused("kind = \"bytes\"\nlength = 3\nfile = \"a\"", "for a tokenizer");
        refused("kind = \"tokenizer\"\nlength = 3", "tokenizer.json");
    }
}
