//! Damage to MATLAB files: elements change inside their compression, and keep their lengths right.

use super::deflate::{inflated_with_checksum, stored_with_checksum};
use super::{BLIND, bytes};
use crate::random::Random;

/// Bytes before the first element.
pub const HEADER: usize = 128;

/// The type of an element that holds another, compressed.
pub const COMPRESSED: u32 = 15;

/// Changes, repeats or removes an element.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut elements = elements(input);
    if elements.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let place = random.below(elements.len());
    let (kind, body) = elements[place].clone();
    match random.below(6) {
        0 => elements.insert(place, (kind, body)),
        1 => drop(elements.remove(place)),
        _ => {
            elements[place].1 = match kind == COMPRESSED && !random.once_in(BLIND) {
                true => stored_with_checksum(&bytes::mutate(random, &inflated_with_checksum(&body), other)),
                false => bytes::mutate(random, &body, other),
            };
        }
    }
    let mut file = input[..HEADER].to_vec();
    elements.iter().for_each(|(kind, body)| element(&mut file, *kind, body));
    file
}

/// Appends an element; all but compressed ones are padded to eight bytes.
pub fn element(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    file.extend(kind.to_le_bytes());
    file.extend((body.len() as u32).to_le_bytes());
    file.extend(body);
    if kind != COMPRESSED {
        file.resize(file.len() + padding(body.len()), 0);
    }
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(8) - length
}

/// Types and bodies of all whole elements.
fn elements(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut rest = file.get(HEADER..).unwrap_or_default();
    let mut elements = Vec::new();
    while let Some((tag, behind)) = rest.split_first_chunk::<8>() {
        let kind = u32::from_le_bytes([tag[0], tag[1], tag[2], tag[3]]);
        let length = u32::from_le_bytes([tag[4], tag[5], tag[6], tag[7]]) as usize;
        let Some((body, behind)) = behind.split_at_checked(length) else { break };
        elements.push((kind, body.to_vec()));
        let skipped = if kind == COMPRESSED { 0 } else { padding(length) };
        rest = behind.get(skipped..).unwrap_or_default();
    }
    elements
}
