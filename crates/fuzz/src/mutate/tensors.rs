//! Damage to safetensors files: the header changes and keeps its length right.

use super::{BLIND, bytes, text};
use crate::random::Random;

/// Bytes of the length of the header.
const LENGTH: usize = 8;

/// Changes the header as text, or the values.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let (Some((header, values)), false) = (parts(input), random.once_in(BLIND)) else {
        return bytes::mutate(random, input, other);
    };
    let theirs = parts(other).map_or(other, |(header, _)| header);
    match random.once_in(6) {
        true => file(header, &bytes::mutate(random, values, other)),
        false => file(&text::mutate(random, header, theirs), values),
    }
}

/// A file of a header and values.
pub fn file(header: &[u8], values: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header, values].concat()
}

fn parts(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = file.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}
