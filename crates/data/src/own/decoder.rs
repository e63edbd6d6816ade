//! PNG and JPEG files as pictures, within limits that hold before anything is allocated.

use crate::error::{DataError, Result};
use crate::limits::MAXIMUM_SIDE;
use crate::picture::{Picture, Samples};
use png::{BitDepth, Transformations};
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Most memory one image may take while it is decoded.
const MAXIMUM_DECODED: usize = 1 << 30;

/// Decodes one file, whose first bytes say what it is.
pub(super) fn picture(file: &str, bytes: &[u8]) -> Result<Picture> {
    let decoded = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        portable(bytes)
    } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
        photograph(bytes)
    } else {
        Err("neither PNG nor JPEG by its first bytes".to_string())
    };
    decoded.map_err(|reason| {
        DataError::malformed(file, "image", reason).remedy("remove the file or save it again as PNG or JPEG")
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
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(wrong)?;
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

fn check_sides(height: usize, width: usize) -> std::result::Result<(), String> {
    if height == 0 || width == 0 || height.max(width) > MAXIMUM_SIDE {
        return Err(format!("{height} by {width} pixels; sides may have 1 to {MAXIMUM_SIDE}"));
    }
    Ok(())
}

fn allowed(bytes: Option<usize>) -> std::result::Result<usize, String> {
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

    #[test]
    fn mutated_files_never_panic() {
        survives(&portable(9, 7, [9, 90, 200]), |bytes| drop(picture("i", bytes)));
        survives(PHOTOGRAPH, |bytes| drop(picture("i", bytes)));
    }
}
