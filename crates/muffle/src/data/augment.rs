//! Several views of one image: shifted, flipped, cropped.
//!
//! The gradients of all views of a record are averaged *before* clipping, so a record still contributes one clipped
//! gradient and augmentation costs no privacy (augmentation multiplicity).
//!
//! # Source
//! De, Berrada, Hayes, Smith, Balle 2022, "Unlocking high-accuracy differentially private image classification through
//! scale", section 3.2.

use super::dataset::Records;
use super::view::View;
use muffle_nn::examples::{Examples, Target};
use muffle_nn::shape::Shape;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What may happen to an image. The default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augmentation {
    /// Moves by up to this many pixels in each direction; what comes in is background (a stored value of zero).
    pub shift: usize,
    /// Mirrors left and right, half of the time.
    pub flip: bool,
    /// Pads by this many pixels, reflecting at the border, and cuts out the original size at random.
    pub crop: usize,
}

/// What happens to one view of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Draw {
    shift: [isize; 2],
    crop: [isize; 2],
    flip: bool,
}

impl Augmentation {
    /// Whether images stay as they are.
    pub fn is_none(&self) -> bool {
        *self == Augmentation::default()
    }

    /// Writes view `view` of record `record`: a pure function of its arguments, whatever the batch or the thread.
    ///
    /// `background` gives the value of each channel outside the image. Inputs that are not images are copied.
    pub fn apply(
        &self,
        shape: Shape,
        source: &[f32],
        background: &[f32],
        (seed, record, view): (u64, usize, u64),
        output: &mut [f32],
    ) {
        let Shape::Image { channels, .. } = shape else {
            return output.copy_from_slice(source);
        };
        self.draw(seed, record, view).arrange(shape, background, output, |position, pixel| {
            pixel.copy_from_slice(&source[position * channels..][..channels]);
        });
    }

    /// Independent uniform choices from a hash of who is asked for.
    fn draw(&self, seed: u64, record: usize, view: u64) -> Draw {
        let mut hash = Sha256::new();
        hash.update(b"muffle augmentation");
        for word in [seed, record as u64, view] {
            hash.update(word.to_le_bytes());
        }
        let digest = hash.finalize();
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| digest[4 * index + byte]));
        // Multiply and shift: the bias is below 2^-32 times the range.
        let offset = |index: usize, limit: usize| {
            ((u64::from(word(index)) * (2 * limit as u64 + 1)) >> 32) as isize - limit as isize
        };
        Draw {
            shift: [offset(0, self.shift), offset(1, self.shift)],
            crop: [offset(2, self.crop), offset(3, self.crop)],
            flip: self.flip && word(4) & 1 == 1,
        }
    }
}

impl Draw {
    /// Fills an image with background or with what `fetch` writes for a pixel of the original.
    fn arrange(
        &self,
        shape: Shape,
        background: &[f32],
        output: &mut [f32],
        mut fetch: impl FnMut(usize, &mut [f32]),
    ) {
        let Shape::Image { height, width, channels } = shape else {
            panic!("a view of shape {shape}, which is no image");
        };
        for (position, pixel) in output.chunks_exact_mut(channels).enumerate() {
            let row = (position / width) as isize - self.shift[0];
            let column = (position % width) as isize - self.shift[1];
            if row < 0 || row >= height as isize || column < 0 || column >= width as isize {
                pixel.copy_from_slice(background);
                continue;
            }
            let column = if self.flip { width as isize - 1 - column } else { column };
            let row = reflect(row + self.crop[0], height);
            let column = reflect(column + self.crop[1], width);
            fetch(row * width + column, pixel);
        }
    }
}

/// Mirrors a position at the borders without repeating the border pixel, however far outside it lies.
fn reflect(position: isize, size: usize) -> usize {
    let period = (2 * size as isize - 2).max(1);
    let position = position.rem_euclid(period) as usize;
    if position < size { position } else { period as usize - position }
}

/// Every record of a view `count` times in a row, each time augmented differently.
#[derive(Clone, Debug)]
pub struct Views<'a> {
    view: View<'a>,
    augmentation: Augmentation,
    seed: u64,
    first: u64,
    count: usize,
    background: Vec<f32>,
}

impl<'a> Views<'a> {
    /// Views `first` to `first + count` of each record; a later epoch takes a later `first`.
    ///
    /// # Panics
    /// If `count` is zero.
    pub fn new(view: View<'a>, augmentation: Augmentation, seed: u64, first: u64, count: usize) -> Views<'a> {
        assert!(count > 0, "no views of a record");
        let scaling = view.dataset().scaling();
        let background = match view.dataset().input() {
            Shape::Image { channels, .. } => {
                (0..channels).map(|channel| scaling.value(channel, 0.0)).collect()
            }
            _ => Vec::new(),
        };
        Views { view, augmentation, seed, first, count, background }
    }

    /// Views of each record.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Examples for Views<'_> {
    fn len(&self) -> usize {
        self.view.len() * self.count
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        let (example, dataset) = (index / self.count, self.view.dataset());
        let Shape::Image { channels, .. } = dataset.input() else {
            return self.view.read(example, input);
        };
        if self.augmentation.is_none() {
            return self.view.read(example, input);
        }
        let view = self.first + (index % self.count) as u64;
        let draw = self.augmentation.draw(self.seed, self.view.record(example), view);
        // Straight from the stored pixels: a step allocates nothing.
        let start = self.view.record(example) * input.len();
        draw.arrange(dataset.input(), &self.background, input, |position, pixel| {
            let stored = start + position * channels..start + (position + 1) * channels;
            match &self.view.split().records {
                Records::Bytes(values) => dataset.scaling().apply(&values[stored], pixel),
                Records::Floats(values) => dataset.scaling().apply(&values[stored], pixel),
            }
        });
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.view.target(index / self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape::Image { height: 3, width: 4, channels: 2 };

    fn image() -> Vec<f32> {
        (1..=24).map(|value| value as f32).collect()
    }

    fn view(augmentation: Augmentation, who: (u64, usize, u64)) -> Vec<f32> {
        let mut output = vec![f32::NAN; 24];
        augmentation.apply(SHAPE, &image(), &[-1.0, -2.0], who, &mut output);
        output
    }

    #[test]
    fn reflection_is_that_of_numpy() {
        // numpy.pad([0, 1, 2, 3], 4, mode="reflect")
        let padded: Vec<usize> = (-4..8).map(|position| reflect(position, 4)).collect();
        assert_eq!(padded, [2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(reflect(-7, 1), 0);
    }

    #[test]
    fn a_flip_mirrors_rows_and_keeps_channels_together() {
        let flip = Augmentation { flip: true, ..Default::default() };
        let flipped = (0..64).map(|number| view(flip, (1, 2, number))).find(|output| *output != image());
        assert_eq!(flipped.unwrap()[..8], [7.0, 8.0, 5.0, 6.0, 3.0, 4.0, 1.0, 2.0]);
    }

    #[test]
    fn a_shift_brings_in_background_and_reaches_every_offset_equally() {
        let shift = Augmentation { shift: 1, ..Default::default() };
        let mut seen = std::collections::HashMap::new();
        for number in 0..9_000 {
            let output = view(shift, (3, 4, number));
            *seen.entry(output.iter().map(|value| *value as i32).collect::<Vec<_>>()).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 9);
        // 1000 expected each, standard deviation 30.
        assert!(seen.values().all(|count| (850..1150).contains(count)), "{:?}", seen.values());
        let down_right = [-1, -2, -1, -2, -1, -2, -1, -2, -1, -2, 1, 2, 3, 4, 5, 6];
        assert!(seen.keys().any(|output| output[..16] == down_right));
    }

    #[test]
    fn a_crop_shows_no_background() {
        let crop = Augmentation { crop: 2, ..Default::default() };
        assert!((0..200).all(|number| view(crop, (5, 6, number)).iter().all(|value| *value > 0.0)));
    }

    proptest! {
        #[test]
        fn a_view_depends_on_seed_record_and_number_alone(
            shift in 0usize..5, crop in 0usize..9, flip: bool, seed: u64, record: usize, number: u64,
        ) {
            let augmentation = Augmentation { shift, flip, crop };
            prop_assert_eq!(
                view(augmentation, (seed, record, number)),
                view(augmentation, (seed, record, number))
            );
        }
    }

    #[test]
    fn features_without_order_stay_as_they_are() {
        let mut output = [0.0; 3];
        let all = Augmentation { shift: 1, flip: true, crop: 1 };
        all.apply(Shape::Vector(3), &[1.0, 2.0, 3.0], &[], (0, 0, 0), &mut output);
        assert_eq!(output, [1.0, 2.0, 3.0]);
    }
}
