//! Deflate without the time that it takes to make bytes few: they are stored as they are.
//!
//! # Source
//! Deutsch 1996, RFC 1951, section 3.2.4; Deutsch, Gailly 1996, RFC 1950.

use flate2::Compression;
use flate2::read::{DeflateDecoder, ZlibDecoder};
use flate2::write::ZlibEncoder;
use std::io::{Read, Write};

/// Most bytes that a mutation looks at behind a compression.
const MOST: u64 = 1 << 12;

/// Bytes in one stored block, which holds up to 65,535.
pub fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), bytes].concat()
}

/// The same as a zlib stream, with its checksum.
pub fn stored_with_checksum(bytes: &[u8]) -> Vec<u8> {
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    [&[0x78, 0x01][..], &stored(bytes), &(high << 16 | low).to_be_bytes()].concat()
}

/// Bytes made few, for seeds.
pub fn squeezed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes everything")
}

/// The first bytes of what was deflated, up to a damage.
pub fn inflated(bytes: &[u8]) -> Vec<u8> {
    start(DeflateDecoder::new(bytes))
}

/// The first bytes of a zlib stream, up to a damage.
pub fn inflated_with_checksum(bytes: &[u8]) -> Vec<u8> {
    start(ZlibDecoder::new(bytes))
}

fn start(stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What comes before a damage is enough.
    let _ = stream.take(MOST).read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_inflated() {
        assert_eq!(inflated(&stored(b"abc")), b"abc");
        assert_eq!(inflated_with_checksum(&stored_with_checksum(&[200; 999])), [200; 999]);
        let mut whole = Vec::new();
        ZlibDecoder::new(&stored_with_checksum(b"Wikipedia")[..]).read_to_end(&mut whole).unwrap();
        assert_eq!(whole, b"Wikipedia");
    }
}
