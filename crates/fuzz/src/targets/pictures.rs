//! Pictures, as folders of images hold them.

use super::said;
use crate::mutate::deflate::squeezed;
use crate::mutate::png::chunk;
use crate::mutate::{jpeg, png, tiff};
use crate::target::{INFLATED, Memory, Target};
use muffle::data::own::decoder::picture;

pub static PNG: Target = Target {
    name: "png",
    door: "decoder::picture",
    seeds: || {
        vec![
            portable(8, 2, 5, 3, &[]),
            portable(16, 4, 2, 2, &[]),
            portable(1, 3, 9, 3, &[(b"PLTE", &[0, 0, 0, 255, 255, 255]), (b"tRNS", &[9])]),
            portable(8, 0, 256, 256, &[]),
            portable(4, 0, 5, 3, &[(b"tRNS", &[0, 3]), (b"gAMA", &[0, 0, 0xb1, 0x8f])]),
        ]
    },
    mutate: png::mutate,
    parse: decoded,
    // A bit becomes a pixel of up to four bytes.
    memory: Memory { fixed: 1 << 20, each: 40 * INFLATED },
};

pub static JPEG: Target = Target {
    name: "jpeg",
    door: "decoder::picture",
    seeds: || {
        vec![
            include_bytes!("../../../data/tests/fixtures/images/grey.jpg").to_vec(),
            include_bytes!("../../../data/tests/fixtures/images/pale.jpg").to_vec(),
        ]
    },
    mutate: jpeg::mutate,
    parse: decoded,
    // A byte stands for at most 1024 pixels, of three samples and as many coefficients.
    memory: Memory { fixed: 1 << 20, each: 16 * 1024 },
};

pub static TIFF: Target = Target {
    name: "tiff",
    door: "decoder::picture",
    seeds: || {
        vec![
            include_bytes!("../../../data/tests/fixtures/images/colour.tif").to_vec(),
            include_bytes!("../../../data/tests/fixtures/images/grey-words.tif").to_vec(),
        ]
    },
    mutate: tiff::mutate,
    parse: decoded,
    // A byte of LZW stands for at most 2731, which are held packed and unpacked, and become three colours.
    memory: Memory { fixed: 1 << 20, each: 8 * 2731 },
};

/// Decodes a picture and brings it to the size and the colours of the others.
fn decoded(input: &[u8]) -> Result<(), String> {
    let picture = picture("file", input).map_err(said)?;
    drop(picture.resized([3, 4]).into_grey());
    drop(picture.into_colour());
    Ok(())
}

/// A picture with bits for each sample, a kind of colour, and chunks before the pixels.
fn portable(depth: u8, colour: u8, width: u32, height: u32, chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let samples = match colour {
        2 => 3,
        4 => 2,
        6 => 4,
        _ => 1,
    };
    let row = 1 + (width as usize * samples * usize::from(depth)).div_ceil(8);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let sizes = [width.to_be_bytes(), height.to_be_bytes()].concat();
    chunk(&mut file, b"IHDR", &[&sizes[..], &[depth, colour, 0, 0, 0]].concat());
    chunks.iter().for_each(|(kind, body)| chunk(&mut file, kind, body));
    let pixels: Vec<u8> =
        (0..row * height as usize).map(|place| if place % row == 0 { 1 } else { 90 }).collect();
    chunk(&mut file, b"IDAT", &squeezed(&pixels));
    chunk(&mut file, b"IEND", &[]);
    file
}
