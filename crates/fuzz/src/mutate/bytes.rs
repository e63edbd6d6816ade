//! Damage that knows nothing of the format.

use crate::random::Random;

/// Numbers at which sizes, counts and offsets go wrong.
const EXTREMES: [u64; 16] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// Changes a few bytes, or moves, repeats, inserts or removes some.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.is_empty() {
        return other.to_vec();
    }
    let place = random.below(bytes.len());
    match random.below(10) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.number() as u8,
        2 => bytes[place] = bytes[place].wrapping_add(*random.pick(&[1, 0xff, 16, 0xf0])),
        3 | 4 => write_number(random, &mut bytes[place..]),
        5 => bytes.truncate(place),
        6 => drop(bytes.drain(random.piece(input.len()))),
        7 => splice(&mut bytes, place, &input[random.piece(input.len())]),
        8 => splice(&mut bytes, place, &other[random.piece(other.len())]),
        _ => {
            let piece = &other[random.piece(other.len())];
            let room = (bytes.len() - place).min(piece.len());
            bytes[place..place + room].copy_from_slice(&piece[..room]);
        }
    }
    bytes
}

/// Puts an extreme number of one to eight bytes over what is there, or one near what is there.
fn write_number(random: &mut Random, bytes: &mut [u8]) {
    let width = *random.pick(&[1, 2, 4, 8]);
    let width = bytes.len().min(width);
    let field = &mut bytes[..width];
    let near = field.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let number = match random.below(4) {
        0 => near.wrapping_add(random.below(5) as u64).wrapping_sub(2),
        1 => near.wrapping_mul(*random.pick(&[2, 8, 256])),
        _ => random.pick(&EXTREMES).wrapping_sub(random.below(2) as u64),
    };
    let mut digits = number.to_be_bytes();
    if random.once_in(2) {
        digits[8 - width..].reverse();
    }
    field.copy_from_slice(&digits[8 - width..]);
}

fn splice(bytes: &mut Vec<u8>, place: usize, piece: &[u8]) {
    bytes.splice(place..place, piece.iter().copied());
}
