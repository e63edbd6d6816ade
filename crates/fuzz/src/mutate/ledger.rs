//! Damage to ledgers: lines change, and the chain of digests is joined again.

use super::{BLIND, text};
use crate::random::Random;
use sha2::{Digest, Sha256};

/// What the ledgers here are of.
pub const ORIGIN: &str = "a recipe";

/// Before the digest that a line holds of the one before.
const PREVIOUS: &str = "\"previous\":\"";

/// Changes a line and everything that follows from it.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let changed = text::mutate(random, input, other);
    match (std::str::from_utf8(&changed), random.once_in(BLIND)) {
        (Ok(text), false) => chained(text).into_bytes(),
        _ => changed,
    }
}

/// The same lines, each with the digest of the one before.
pub fn chained(text: &str) -> String {
    let mut digest = hexadecimal(ORIGIN);
    let mut whole = String::new();
    for line in text.split_inclusive('\n') {
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        let place = content.find(PREVIOUS).map(|place| place + PREVIOUS.len());
        let joined = match place.and_then(|start| Some((start, start + content[start..].find('"')?))) {
            Some((start, end)) => format!("{}{digest}{}", &content[..start], &content[end..]),
            None => content.to_string(),
        };
        digest = hexadecimal(&joined);
        whole += &joined;
        whole += end;
    }
    whole
}

fn hexadecimal(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    Sha256::digest(text).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
