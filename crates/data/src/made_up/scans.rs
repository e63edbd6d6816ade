//! Small grey images: grain everywhere, and in half of them a round shadow.

use super::{Dice, Order};
use crate::error::{DataError, Result};
use png::{BitDepth, ColorType, Encoder};
use std::fs;
use std::path::Path;

const SIDE: usize = 28;

/// A file for each image, in a folder for each class, or all in one without classes.
pub fn write(order: &Order, folder: &Path) -> Result<()> {
    for record in 0..order.records {
        let dice = &mut order.dice(record);
        let shadow = dice.happens(0.5);
        let class = if shadow { "shadow" } else { "clear" };
        let folder = if order.labelled { folder.join(class) } else { folder.to_path_buf() };
        fs::create_dir_all(&folder).map_err(|error| DataError::system(&folder, error))?;
        let file = folder.join(format!("scan-{:05}.png", record + 1));
        fs::write(&file, png(&pixels(dice, shadow))).map_err(|error| DataError::system(&file, error))?;
    }
    Ok(())
}

fn pixels(dice: &mut Dice, shadow: bool) -> Vec<u8> {
    let (row, column, radius) = (dice.between(8.0, 20.0), dice.between(8.0, 20.0), dice.between(3.0, 6.0));
    let pixel = |index: usize| {
        let (down, across) = ((index / SIDE) as f64 - row, (index % SIDE) as f64 - column);
        let dark =
            if shadow { 90.0 * (-(down * down + across * across) / (radius * radius)).exp() } else { 0.0 };
        (dice.normal(170.0, 25.0) - dark).clamp(0.0, 255.0) as u8
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

fn png(pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, SIDE as u32, SIDE as u32);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    written.expect("an image of these sizes is written to memory");
    file
}
