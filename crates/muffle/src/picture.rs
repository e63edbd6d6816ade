//! Numbers as pictures.

use muffle_nn::Shape;
use png::{ColorType, Encoder};

/// Pixels on the longer side of an enlarged image, at least.
const SIDE: usize = 224;

/// From the least to the most: dark blue, blue, green, yellow.
const RAMP: [[f32; 3]; 4] =
    [[48.0, 18.0, 59.0], [40.0, 120.0, 200.0], [60.0, 190.0, 90.0], [250.0, 230.0, 40.0]];

/// A PNG of images side by side.
///
/// # Panics
/// If the shape is not that of an image with one or three channels, or an image has another number of values.
pub fn png(shape: Shape, images: &[&[u8]]) -> Vec<u8> {
    let Shape::Image { height, width, channels } = shape else { panic!("{shape} is no image") };
    let row = |image: &[u8], row: usize| image[row * width * channels..][..width * channels].to_vec();
    let pixels: Vec<u8> =
        (0..height).flat_map(|place| images.iter().flat_map(move |image| row(image, place))).collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, (width * images.len()) as u32, height as u32);
    encoder.set_color(if channels == 1 { ColorType::Grayscale } else { ColorType::Rgb });
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    written.expect("an image in memory is written to memory");
    file
}

/// A colour image, one colour for each pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    height: usize,
    width: usize,
    /// Red, green and blue of each pixel.
    colours: Vec<u8>,
}

impl Picture {
    /// Values with a sign, channels summed: white for zero, red for what is positive and blue for what is negative, the stronger the
    /// larger.
    pub fn of_signed(shape: Shape, values: &[f32]) -> Option<Picture> {
        let sums = by_pixel(shape, values)?;
        let largest = sums.iter().map(|value| value.abs()).fold(f32::MIN_POSITIVE, f32::max);
        let colour = |value: f32| {
            let pale = 255.0 * (1.0 - (value / largest).abs());
            if value >= 0.0 { [255.0, pale, pale] } else { [pale, pale, 255.0] }
        };
        Picture::paint(shape, &sums, colour)
    }

    /// Values from the least to the most, channels summed, on a scale from dark blue over green to yellow.
    pub fn of_scale(shape: Shape, values: &[f32]) -> Option<Picture> {
        let sums = by_pixel(shape, values)?;
        let [least, most] = extremes(&sums);
        let colour = |value: f32| {
            let place = (value - least) / (most - least).max(f32::MIN_POSITIVE) * (RAMP.len() - 1) as f32;
            let first = (place as usize).min(RAMP.len() - 2);
            let share = place - first as f32;
            std::array::from_fn(|part| {
                RAMP[first][part] + share * (RAMP[first + 1][part] - RAMP[first][part])
            })
        };
        Picture::paint(shape, &sums, colour)
    }

    /// A record as it is, grey or in colour, from the least of its values in black to the most in white.
    pub fn of_record(shape: Shape, values: &[f32]) -> Option<Picture> {
        let Shape::Image { height, width, channels } = shape else { return None };
        let [least, most] = extremes(values);
        let tone = |value: f32| (255.0 * (value - least) / (most - least).max(f32::MIN_POSITIVE)) as u8;
        let pixel = |pixel: &[f32]| match pixel {
            [red, green, blue] => [tone(*red), tone(*green), tone(*blue)],
            grey => [tone(grey.iter().sum::<f32>() / grey.len() as f32); 3],
        };
        Some(Picture { height, width, colours: values.chunks_exact(channels).flat_map(pixel).collect() })
    }

    fn paint(shape: Shape, sums: &[f32], colour: impl Fn(f32) -> [f32; 3]) -> Option<Picture> {
        let Shape::Image { height, width, .. } = shape else { return None };
        let colours =
            sums.iter().flat_map(|sum| colour(*sum).map(|part| part.clamp(0.0, 255.0) as u8)).collect();
        Some(Picture { height, width, colours })
    }

    /// Pictures of one size side by side as a PNG, each pixel as a square large enough to be seen.
    ///
    /// # Panics
    /// Without pictures, or if they differ in size.
    pub fn side_by_side(pictures: &[Picture]) -> Vec<u8> {
        let [height, width] = [pictures[0].height, pictures[0].width];
        assert!(
            pictures.iter().all(|picture| [picture.height, picture.width] == [height, width]),
            "one size"
        );
        let factor = SIDE.div_ceil(height.max(width));
        let images: Vec<Vec<u8>> = pictures.iter().map(|picture| picture.enlarged(factor)).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        png(Shape::image(3, height * factor, width * factor), &images)
    }

    fn enlarged(&self, factor: usize) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(self.colours.len() * factor * factor);
        for row in self.colours.chunks_exact(3 * self.width) {
            let line: Vec<u8> = row.chunks_exact(3).flat_map(|pixel| pixel.repeat(factor)).collect();
            (0..factor).for_each(|_| pixels.extend_from_slice(&line));
        }
        pixels
    }
}

/// The sum of each pixel's channels; nothing for what is no image.
fn by_pixel(shape: Shape, values: &[f32]) -> Option<Vec<f32>> {
    let Shape::Image { channels, .. } = shape else { return None };
    Some(values.chunks_exact(channels).map(|pixel| pixel.iter().sum()).collect())
}

fn extremes(values: &[f32]) -> [f32; 2] {
    let larger = |one: f32, other: &f32| one.max(*other);
    let smaller = |one: f32, other: &f32| one.min(*other);
    [values.iter().fold(f32::INFINITY, smaller), values.iter().fold(f32::NEG_INFINITY, larger)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Width, height and pixels of a file.
    fn read(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let size = reader.next_frame(&mut pixels).unwrap();
        (size.width, size.height, pixels)
    }

    #[test]
    fn a_picture_reads_back() {
        let pixels = [0, 50, 100, 150, 200, 250];
        assert_eq!(read(&png(Shape::image(1, 2, 3), &[&pixels])), (3, 2, pixels.to_vec()));
        assert_eq!(read(&png(Shape::image(3, 1, 2), &[&pixels])), (2, 1, pixels.to_vec()));
        assert_eq!(read(&png(Shape::image(1, 2, 1), &[&[1, 2], &[3, 4]])), (2, 2, vec![1, 3, 2, 4]));
    }

    #[test]
    fn colours_by_hand() {
        let shape = Shape::image(1, 1, 3);
        let signed = Picture::of_signed(shape, &[2.0, 0.0, -1.0]).unwrap();
        assert_eq!(signed.colours, [255, 0, 0, 255, 255, 255, 127, 127, 255]);
        let scale = Picture::of_scale(shape, &[1.0, 4.0, 2.0]).unwrap();
        assert_eq!(scale.colours, [48, 18, 59, 250, 230, 40, 40, 120, 200]);
        assert_eq!(
            Picture::of_record(shape, &[-1.0, 1.0, 0.0]).unwrap().colours,
            [0, 0, 0, 255, 255, 255, 127, 127, 127]
        );
        // Channels of a pixel stand side by side and add up.
        let two = Picture::of_signed(Shape::image(2, 1, 2), &[3.0, -1.0, 1.0, -5.0]).unwrap();
        assert_eq!(two.colours, [255, 127, 127, 0, 0, 255]);
        assert_eq!(Picture::of_scale(Shape::Vector(3), &[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn pixels_become_squares() {
        let picture =
            Picture::of_record(Shape::image(1, 2, 112), &[[0.0; 112], [1.0; 112]].concat()).unwrap();
        let (width, height, pixels) = read(&Picture::side_by_side(&[picture.clone(), picture]));
        assert_eq!((width, height), (448, 4));
        assert!(
            pixels[..2 * 448 * 3].iter().all(|tone| *tone == 0)
                && pixels[2 * 448 * 3..].iter().all(|tone| *tone == 255)
        );
    }
}
