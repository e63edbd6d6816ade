//! Damage to PNG files: chunks are changed and get the checksums that belong to them.

use super::deflate::{inflated_with_checksum, stored_with_checksum};
use super::{BLIND, bytes};
use crate::random::Random;

const SIGNATURE: usize = 8;

/// Kinds of chunks that the decoder looks into.
const KINDS: [&[u8; 4]; 16] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"pHYs",
    b"tEXt", b"zTXt", b"acTL", b"fcTL", b"fdAT",
];

/// Changes, repeats, moves or renames a chunk.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut chunks = chunks(input);
    if chunks.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let (place, elsewhere) = (random.below(chunks.len()), random.below(chunks.len()));
    let (kind, body) = chunks[place];
    let owned;
    match random.below(8) {
        0 => chunks.insert(place, (kind, body)),
        1 => drop(chunks.remove(place)),
        2 => chunks.swap(place, elsewhere),
        3 => chunks[place].0 = *random.pick(&KINDS),
        _ => {
            owned = match kind == b"IDAT" && random.once_in(2) {
                true => stored_with_checksum(&bytes::mutate(random, &inflated_with_checksum(body), other)),
                false => bytes::mutate(random, body, other),
            };
            chunks[place].1 = &owned;
        }
    }
    let mut file = input[..SIGNATURE].to_vec();
    chunks.iter().for_each(|(kind, body)| chunk(&mut file, kind, body));
    file
}

/// Kind and body of all whole chunks.
fn chunks(file: &[u8]) -> Vec<(&[u8; 4], &[u8])> {
    let mut rest = file.get(SIGNATURE..).unwrap_or_default();
    let mut chunks = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some((body, behind)) = behind.split_at_checked(length) else { break };
        let Some(kind) = rest[4..].first_chunk() else { break };
        chunks.push((kind, body));
        rest = behind.get(4..).unwrap_or_default();
    }
    chunks
}

/// Appends a chunk.
pub fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], body: &[u8]) {
    let mut sum = flate2::Crc::new();
    sum.update(kind);
    sum.update(body);
    file.extend((body.len() as u32).to_be_bytes());
    file.extend(kind);
    file.extend(body);
    file.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read_as_they_are_written() {
        let mut file = vec![0; SIGNATURE];
        chunk(&mut file, b"IHDR", &[1, 2, 3]);
        chunk(&mut file, b"IEND", &[]);
        assert_eq!(chunks(&file), [(b"IHDR", &[1, 2, 3][..]), (b"IEND", &[])]);
        assert_eq!(chunks(&file[..file.len() - 13]).len(), 1);
    }
}
