//! TIFF files as pictures: grey or colour, of eight or sixteen bits, as scanners and microscopes write them.

use super::decoder::{MAXIMUM_DECODED, allowed, check_sides, too_short};
use crate::limits::DEFLATE_RATIO;
use crate::picture::{Picture, Samples};
use std::io::Cursor;
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::{CompressionMethod, PlanarConfiguration, Tag};

/// Most bytes that a byte of PackBits stands for: two repeat another one 128 times.
const PACKED_RATIO: usize = 64;

/// Most bytes that a byte of LZW stands for: a code of at most 12 bits is a text of at most 4096 bytes.
const CODED_RATIO: usize = 4096 * 8 / 12 + 1;

/// Bytes of a directory's entry: its tag, the kind of its numbers, how many there are, and the number or its place.
const ENTRY: usize = 12;

/// Whether a file is of this kind, by its first bytes. The form for files of more than 4 GiB is none that is read.
pub fn is_tiff(bytes: &[u8]) -> bool {
    bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*")
}

/// Refuses lists of more bytes than the file has, before the decoder takes memory for them.
fn check_directory(bytes: &[u8]) -> Result<(), String> {
    let little = bytes.starts_with(b"II");
    let number = |place: usize, length: usize| {
        let field = bytes.get(place..place.checked_add(length)?)?;
        let digit = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
        Some(if little { field.iter().rev().fold(0, digit) } else { field.iter().fold(0, digit) })
    };
    let first = number(4, 4).ok_or("it ends before its directory")?;
    let entries = number(first, 2).ok_or("its directory lies behind its end")?;
    for place in (0..entries).map(|entry| first + 2 + entry * ENTRY) {
        let (Some(tag), Some(kind), Some(count)) =
            (number(place, 2), number(place + 2, 2), number(place + 4, 4))
        else {
            return Err("it ends within its directory".to_string());
        };
        let size = match kind {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16..=18 => 8,
            _ => 1,
        };
        if count.saturating_mul(size) > bytes.len() {
            return Err(format!("{count} numbers for tag {tag}, which {} bytes cannot hold", bytes.len()));
        }
    }
    Ok(())
}

/// The one picture of a file.
pub fn picture(bytes: &[u8]) -> Result<Picture, String> {
    let wrong = |error: tiff::TiffError| error.to_string();
    check_directory(bytes)?;
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(wrong)?;
    let (width, height) = decoder.dimensions().map_err(wrong)?;
    let (height, width) = (height as usize, width as usize);
    check_sides(height, width)?;
    let colour = decoder.colortype().map_err(wrong)?;
    let (channels, depth) = match colour {
        ColorType::Gray(depth) => (1, depth),
        ColorType::GrayA(depth) => (2, depth),
        ColorType::RGB(depth) => (3, depth),
        ColorType::RGBA(depth) => (4, depth),
        other => {
            return Err(format!("pixels of the kind {other:?}; grey, red-green-blue and opacity are read"));
        }
    };
    let number = |decoder: &mut Decoder<_>, tag: Tag| decoder.find_tag_unsigned::<u16>(tag).map_err(wrong);
    if !matches!(depth, 8 | 16) {
        return Err(format!("samples of {depth} bits; 8 and 16 are read"));
    }
    let ratio = match number(&mut decoder, Tag::Compression)?.map(CompressionMethod::from_u16_exhaustive) {
        None | Some(CompressionMethod::None) => 1,
        Some(CompressionMethod::PackBits) => PACKED_RATIO,
        Some(CompressionMethod::LZW) => CODED_RATIO,
        Some(CompressionMethod::Deflate | CompressionMethod::OldDeflate) => DEFLATE_RATIO as usize,
        Some(other) => return Err(format!("compressed as {other:?}; LZW, Deflate and PackBits are read")),
    };
    let samples = height * width * channels;
    // What its bytes can hold is also the most that a strip or a tile may ask for.
    let most = allowed(bytes.len().checked_mul(ratio)).unwrap_or(MAXIMUM_DECODED);
    let decoded = allowed(samples.checked_mul(usize::from(depth / 8)))?;
    if decoded > most {
        return Err(too_short(height, width, bytes));
    }
    let mut limits = Limits::default();
    (limits.decoding_buffer_size, limits.intermediate_buffer_size) = (decoded, most);
    let mut decoder = decoder.with_limits(limits);
    let planar = Some(PlanarConfiguration::Planar.to_u16());
    if channels > 1 && number(&mut decoder, Tag::PlanarConfiguration)? == planar {
        return Err("its colours lie in planes of their own; pixel by pixel is read".to_string());
    }
    if decoder.more_images() {
        return Err("several pictures in one file; save each in a file of its own".to_string());
    }
    let samples = match decoder.read_image().map_err(wrong)? {
        DecodingResult::U8(stored) if stored.len() == samples => Samples::Bytes(stored),
        DecodingResult::U16(stored) if stored.len() == samples => Samples::Words(stored),
        DecodingResult::U8(_) | DecodingResult::U16(_) => return Err(too_short(height, width, bytes)),
        _ => return Err("samples with a sign or a point; whole numbers from 0 on are read".to_string()),
    };
    Ok(Picture { height, width, channels, samples })
}

#[cfg(test)]
mod tests {
    use super::super::decoder;
    use super::*;
    use crate::mutation::survives;

    /// Files that Pillow wrote, with the pixels it was given.
    #[test]
    fn pixels_are_the_known_ones() {
        let colour = include_bytes!("../../tests/fixtures/images/colour.tif");
        let found = decoder::picture("colour", colour).unwrap();
        let expected = include_bytes!("../../tests/fixtures/images/colour.tif.pixels");
        assert_eq!((found.height, found.width, found.channels), (5, 7, 3));
        assert_eq!(found.into_colour(), expected);
        let words = include_bytes!("../../tests/fixtures/images/grey-words.tif");
        let expected = include_bytes!("../../tests/fixtures/images/grey-words.tif.pixels").as_chunks().0;
        let expected: Vec<u16> = expected.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        assert_eq!(decoder::picture("words", words).unwrap().samples, Samples::Words(expected));
    }

    /// A file without compression: tags with a short number each, then the pixels.
    fn file(tags: &[(u16, u16)], pixels: &[u8]) -> Vec<u8> {
        let mut file = b"MM\0*\0\0\0\x08".to_vec();
        let all = tags.len() as u16 + 1;
        file.extend(all.to_be_bytes());
        let place = 8 + 2 + 12 * all + 4;
        for (tag, value) in tags.iter().copied().chain([(273, place)]) {
            file.extend([tag.to_be_bytes(), 3u16.to_be_bytes(), [0, 0], [0, 1]].concat());
            file.extend([value.to_be_bytes(), [0, 0]].concat());
        }
        file.extend([0; 4]);
        [&file, pixels].concat()
    }

    /// Four by two pixels of so many bits, where white is 0 or not.
    fn grey(depth: u16, black: u16, pixels: &[u8]) -> Vec<u8> {
        let length = pixels.len() as u16;
        file(
            &[(256, 4), (257, 2), (258, depth), (259, 1), (262, black), (277, 1), (278, 2), (279, length)],
            pixels,
        )
    }

    #[test]
    fn what_is_not_read_says_so() {
        let pixels: Vec<u8> = (0..8).collect();
        assert_eq!(picture(&grey(8, 1, &pixels)).unwrap().into_grey(), pixels);
        assert_eq!(picture(&grey(8, 0, &pixels)).unwrap().into_grey()[..3], [255, 254, 253], "white is 0");
        let refused = |file: &[u8], part: &str| {
            let message = decoder::picture("scan.tif", file).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("scan.tif"), "{message}");
        };
        refused(&grey(4, 1, &pixels), "samples of 4 bits");
        refused(&grey(8, 3, &pixels), "RGBPalette");
        let mut coded = grey(8, 1, &pixels);
        let compression = coded.windows(2).position(|tag| tag == 259u16.to_be_bytes()).unwrap();
        coded[compression + 9] = 7;
        refused(&coded, "ModernJPEG");
        let mut long = grey(8, 1, &pixels);
        long[compression + 4] = 1;
        refused(&long, "16777217 numbers for tag 259");
        // The place of a second picture stands behind the tags.
        let mut two = grey(8, 1, &pixels);
        let next = two.len() - pixels.len() - 4;
        two[next + 3] = 16;
        refused(&two, "several pictures");
        refused(
            &file(
                &[(256, 8192), (257, 8192), (258, 8), (259, 5), (262, 1), (277, 1), (278, 8192), (279, 8)],
                &pixels,
            ),
            "8192 by 8192 pixels are promised",
        );
        refused(
            &file(
                &[(256, 20_000), (257, 1), (258, 8), (259, 1), (262, 1), (277, 1), (278, 1), (279, 8)],
                &pixels,
            ),
            "sides may have",
        );
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(include_bytes!("../../tests/fixtures/images/colour.tif"), |bytes| {
            drop(decoder::picture("i", bytes))
        });
        survives(&grey(8, 1, &[9; 8]), |bytes| drop(decoder::picture("i", bytes)));
    }
}
