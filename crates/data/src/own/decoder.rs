//! PNG, JPEG and TIFF files as pictures, within limits that hold before anything is allocated.

use super::tiff;
use crate::error::{DataError, Result};
use crate::limits::{DEFLATE_RATIO, MAXIMUM_SIDE};
use crate::picture::{Picture, Samples};
use png::{BitDepth, ColorType, Transformations};
use std::io::Cursor;
use std::panic::catch_unwind;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Most memory one image may take while it is decoded.
pub(super) const MAXIMUM_DECODED: usize = 1 << 30;

/// Most pixels that a byte of a JPEG file can stand for: every block of 8 by 8 takes a bit at least, in the first scan of one
/// component, and odd sampling factors may leave that component every other block.
const PIXELS_A_BYTE: usize = 2 * 8 * 64;

/// Bytes of a file beside its pixels that are not counted against it.
const ROOM: u64 = 64;

/// Decodes one file, whose first bytes say what it is.
///
/// The decoders are written by others: should one panic on a damaged file, that too is an error here.
pub fn picture(file: &str, bytes: &[u8]) -> Result<Picture> {
    let decode = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        portable
    } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
        photograph
    } else if tiff::is_tiff(bytes) {
        tiff::picture
    } else {
        |_: &[u8]| Err("neither PNG nor JPEG nor TIFF by its first bytes".to_string())
    };
    let decoded =
        catch_unwind(|| decode(bytes)).unwrap_or_else(|_| Err("the decoder gave up on it".to_string()));
    decoded.map_err(|reason| {
        DataError::malformed(file, "image", reason)
            .remedy("remove the file or save it again as PNG, JPEG or TIFF")
    })
}

/// A PNG file; palettes and samples of fewer than eight bits are expanded.
fn portable(bytes: &[u8]) -> std::result::Result<Picture, String> {
    let wrong = |error: png::DecodingError| error.to_string();
    let limits = png::Limits { bytes: MAXIMUM_DECODED };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    let header = decoder.read_header_info().map_err(wrong)?;
    let (height, width) = (header.height as usize, header.width as usize);
    check_sides(height, width)?;
    // Rows before compression, each with the byte that names its filter.
    let row = (width as u64 * header.bits_per_pixel() as u64).div_ceil(8) + 1;
    if height as u64 * row > bytes.len() as u64 * DEFLATE_RATIO + ROOM {
        return Err(too_short(height, width, bytes));
    }
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let palette = info.palette.as_ref().map_or(0, |palette| palette.len());
    // The decoder takes a palette at its word that it is made of colours.
    if info.color_type == ColorType::Indexed && !palette.is_multiple_of(3) {
        return Err(format!("a palette of {palette} bytes, which are no whole number of colours"));
    }
    let (colour, depth) = reader.output_color_type();
    let mut samples = vec![0; allowed(reader.output_buffer_size())?];
    reader.next_frame(&mut samples).map_err(wrong)?;
    let samples = match depth {
        BitDepth::Sixteen => {
            Samples::Words(samples.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
        }
        _ => Samples::Bytes(samples),
    };
    Ok(Picture { height, width, channels: colour.samples(), samples })
}

/// A JPEG file; grey stays grey, and every other kind of colour becomes red, green and blue.
fn photograph(bytes: &[u8]) -> std::result::Result<Picture, String> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(MAXIMUM_SIDE)
        .set_max_height(MAXIMUM_SIDE);
    let mut header = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    header.decode_headers().map_err(|error| error.to_string())?;
    let (width, height) = header.dimensions().ok_or("no size in its header")?;
    check_sides(height, width)?;
    if height * width > bytes.len().saturating_mul(PIXELS_A_BYTE) {
        return Err(too_short(height, width, bytes));
    }
    let (colour, channels) = match header.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, 1),
        _ => (ColorSpace::RGB, 3),
    };
    let mut samples = vec![0; allowed(height.checked_mul(width * channels))?];
    let mut decoder =
        JpegDecoder::new_with_options(ZCursor::new(bytes), options.jpeg_set_out_colorspace(colour));
    decoder.decode_into(&mut samples).map_err(|error| error.to_string())?;
    Ok(Picture { height, width, channels, samples: Samples::Bytes(samples) })
}

pub(super) fn check_sides(height: usize, width: usize) -> std::result::Result<(), String> {
    if height == 0 || width == 0 || height.max(width) > MAXIMUM_SIDE {
        return Err(format!("{height} by {width} pixels; sides may have 1 to {MAXIMUM_SIDE}"));
    }
    Ok(())
}

/// A header that promises more than the file can hold.
pub(super) fn too_short(height: usize, width: usize, bytes: &[u8]) -> String {
    format!("{height} by {width} pixels are promised, which {} bytes cannot hold", bytes.len())
}

pub(super) fn allowed(bytes: Option<usize>) -> std::result::Result<usize, String> {
    bytes
        .filter(|bytes| *bytes <= MAXIMUM_DECODED)
        .ok_or_else(|| format!("decoded it would take more than {MAXIMUM_DECODED} bytes"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mutation::survives;
    use png::ColorType;

    /// A JPEG file of 17 by 11 pixels.
    const PHOTOGRAPH: &[u8] = include_bytes!("../../tests/fixtures/images/colour.jpg");

    /// A PNG file of one colour.
    pub(crate) fn portable(width: u32, height: u32, colour: [u8; 3]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&colour.repeat((width * height) as usize)).unwrap();
        drop(writer);
        bytes
    }

    /// Pixels in colour, in grey, and both again at 5 by 7 pixels, as version 0.25.10 of the `image` crate gave them.
    macro_rules! known {
        ($name:literal) => {
            (
                $name,
                &include_bytes!(concat!("../../tests/fixtures/images/", $name))[..],
                &include_bytes!(concat!("../../tests/fixtures/images/", $name, ".pixels"))[..],
            )
        };
    }

    #[test]
    fn pixels_are_the_known_ones() {
        for (name, file, expected) in [
            known!("colour.jpg"),
            known!("grey.jpg"),
            known!("colour.png"),
            known!("grey-words.png"),
            known!("opacity-words.png"),
            known!("grey-opacity.png"),
            known!("palette.png"),
        ] {
            let whole = picture(name, file).unwrap();
            let small = whole.resized([5, 7]);
            let pixels = [
                whole.clone().into_colour(),
                whole.into_grey(),
                small.clone().into_colour(),
                small.into_grey(),
            ];
            assert_eq!(pixels.concat(), expected, "{name}");
        }
    }

    #[test]
    fn a_header_cannot_ask_for_more_than_the_limits() {
        let refused = |bytes: &[u8]| {
            let message = picture("wide", bytes).unwrap_err().to_string();
            assert!(message.contains("wide, image"), "{message}");
        };
        refused(&portable(20_000, 1, [0; 3]));
        let mut wide = PHOTOGRAPH.to_vec();
        // The frame header: its marker, length and depth, then height and width.
        let frame = wide.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        wide[frame + 7..frame + 9].copy_from_slice(&[0xff, 0xff]);
        refused(&wide);
    }

    /// The sides are allowed, and still no memory is taken for what a short file cannot hold.
    #[test]
    fn a_header_cannot_promise_more_than_its_file_can_hold() {
        let refused = |bytes: &[u8]| {
            let message = picture("large", bytes).unwrap_err().to_string();
            assert!(message.contains("8192 by 8192 pixels are promised"), "{message}");
        };
        let mut large = PHOTOGRAPH.to_vec();
        let frame = large.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        large[frame + 5..frame + 9].copy_from_slice(&[0x20, 0, 0x20, 0]);
        refused(&large);
        // The sides stand behind signature, length and kind of the first chunk, before its checksum.
        let mut large = portable(9, 7, [9, 90, 200]);
        large[16..24].copy_from_slice(&[0, 0, 0x20, 0, 0, 0, 0x20, 0]);
        seal(&mut large[12..33]);
        refused(&large);
    }

    /// Gives a chunk, from its kind on, the checksum it should have.
    fn seal(chunk: &mut [u8]) {
        let (body, checksum) = chunk.split_at_mut(chunk.len() - 4);
        let mut sum = flate2::Crc::new();
        sum.update(body);
        checksum.copy_from_slice(&sum.sum().to_be_bytes());
    }

    /// Pixels of one colour compress as far as deflate goes, and are no bomb.
    #[test]
    fn what_compresses_well_is_no_bomb() {
        let image = picture("flat", &portable(2000, 3000, [7; 3])).unwrap();
        assert_eq!((image.height, image.width), (3000, 2000));
    }

    #[test]
    fn a_palette_of_half_a_colour_is_refused() {
        let mut file = include_bytes!("../../tests/fixtures/images/palette.png").to_vec();
        let kind = file.windows(4).position(|kind| kind == b"PLTE").unwrap();
        let length = file[kind - 1];
        file[kind - 1] = length - 1;
        file.remove(kind + 3 + usize::from(length));
        seal(&mut file[kind..kind + 4 + usize::from(length) - 1 + 4]);
        let message = picture("p", &file).unwrap_err().to_string();
        assert!(message.contains("no whole number of colours"), "{message}");
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(&portable(9, 7, [9, 90, 200]), |bytes| drop(picture("i", bytes)));
        survives(PHOTOGRAPH, |bytes| drop(picture("i", bytes)));
    }
}
