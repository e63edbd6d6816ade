//! Damage to TIFF files: a field of the directory that says where everything lies.

use super::{BLIND, bytes};
use crate::random::Random;

/// Bytes of a directory's entry: what it is about, the kind of its numbers, how many there are, and the number or its place.
const ENTRY: usize = 12;

/// Where the fields of an entry begin, and how long they are.
const FIELDS: [(usize, usize); 4] = [(0, 2), (2, 2), (4, 4), (8, 4)];

/// Changes one field of one entry, or gives it that of another.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let entries = entries(input);
    if entries.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let mut file = input.to_vec();
    let (start, length) = *random.pick(&FIELDS);
    let place = random.pick(&entries) + start;
    let field = match random.once_in(3) {
        true => {
            let elsewhere = random.pick(&entries) + start;
            input[elsewhere..][..length].to_vec()
        }
        false => bytes::mutate(random, &input[place..][..length], &input[place..][..length]),
    };
    let length = field.len().min(length);
    file[place..][..length].copy_from_slice(&field[..length]);
    file
}

/// Places of the entries of the first directory, as far as the file reaches.
fn entries(file: &[u8]) -> Vec<usize> {
    let little = file.starts_with(b"II");
    let number = |place: usize, length: usize| {
        let field = file.get(place..place.checked_add(length)?)?;
        let digits = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
        Some(if little { field.iter().rev().fold(0, digits) } else { field.iter().fold(0, digits) })
    };
    let Some(first) = number(4, 4) else { return Vec::new() };
    let count = number(first, 2).unwrap_or(0);
    let places = (0..count).map(|entry| first + 2 + entry * ENTRY);
    places.take_while(|place| place + ENTRY <= file.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn entries_are_found() {
        let file = include_bytes!("../../../data/tests/fixtures/images/colour.tif");
        let places = entries(file);
        assert!(places.len() >= 9, "{places:?}");
        // Its width is the first.
        assert_eq!(file[places[0]..][..2], 256u16.to_le_bytes());
        assert!(entries(b"II*\0").is_empty());
    }
}
