//! Damage to JPEG files: segments are changed and get the lengths that belong to them.

use super::{BLIND, bytes};
use crate::random::Random;

/// Second bytes of markers: frames, tables, scans, restarts, application data.
const MARKERS: [u8; 14] =
    [0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xd0, 0xd8, 0xd9, 0xda, 0xdb, 0xdd, 0xe0, 0xe2, 0xee];

/// Changes, repeats, moves or renames a segment.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let (mut segments, scan) = segments(input);
    if segments.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let (place, elsewhere) = (random.below(segments.len()), random.below(segments.len()));
    let (owned, mut scan) = (bytes::mutate(random, segments[place].1, other), scan.to_vec());
    match random.below(10) {
        0 => segments.insert(place, segments[place]),
        1 => drop(segments.remove(place)),
        2 => segments.swap(place, elsewhere),
        3 => segments[place].0 = *random.pick(&MARKERS),
        4 | 5 => scan = bytes::mutate(random, &scan, other),
        _ => segments[place].1 = &owned,
    }
    let mut file = input[..2].to_vec();
    for (marker, body) in segments {
        file.extend([0xff, marker]);
        file.extend((body.len() as u16).wrapping_add(2).to_be_bytes());
        file.extend(body);
    }
    file.extend(scan);
    file
}

/// Markers and bodies of the segments up to the first scan, and what follows them.
fn segments(file: &[u8]) -> (Vec<(u8, &[u8])>, &[u8]) {
    let mut rest = file.get(2..).unwrap_or_default();
    let mut segments = Vec::new();
    while let Some(([0xff, marker, high, low], _)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some(body) = rest.get(4..2 + length) else { break };
        segments.push((*marker, body));
        rest = &rest[2 + length..];
    }
    (segments, rest)
}
