//! Several views of one image: shifted, flipped, cropped, turned, zoomed.
//!
//! The gradients of all views of a record are averaged *before* clipping, so a record still contributes one clipped
//! gradient and augmentation costs no privacy (augmentation multiplicity).
//!
//! # Source
//! De, Berrada, Hayes, Smith, Balle 2022, "Unlocking high-accuracy differentially private image classification through
//! scale", section 3.2.

use super::dataset::Records;
use super::dataset::View;
use half::slice::HalfFloatSliceExt;
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
    /// Turns about the middle by up to this many degrees in each direction, with values between pixels in proportion.
    pub rotate: usize,
    /// Zooms about the middle by up to this many per cent in each direction.
    pub zoom: usize,
}

/// What happens to one view of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Draw {
    shift: [isize; 2],
    crop: [isize; 2],
    flip: bool,
    /// Cosine and sine of the turn, over the zoom, if there is one.
    turn: Option<[f32; 2]>,
}

impl Augmentation {
    /// Whether images stay as they are.
    pub fn is_none(&self) -> bool {
        *self == Augmentation::default()
    }

    /// Numbers of so many views of record 0 that differ from each other and from the record itself; `None` if there are not so many.
    pub fn different(&self, seed: u64, count: usize) -> Option<Vec<u64>> {
        const TRIES: u64 = 10_000;
        let mut draws = vec![Draw { shift: [0; 2], crop: [0; 2], flip: false, turn: None }];
        let mut numbers = Vec::with_capacity(count);
        for number in 0..TRIES {
            if numbers.len() == count {
                break;
            }
            let draw = self.draw(seed, 0, number);
            if !draws.contains(&draw) {
                draws.push(draw);
                numbers.push(number);
            }
        }
        (numbers.len() == count).then_some(numbers)
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
        self.draw(seed, record, view).write(shape, background, output, |position, pixel| {
            pixel.copy_from_slice(&source[position * channels..][..pixel.len()]);
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
        // Between -1 and 1.
        let signed = |index: usize| (f64::from(word(index)) / f64::from(u32::MAX)) * 2.0 - 1.0;
        let turned = self.rotate > 0 || self.zoom > 0;
        Draw {
            shift: [offset(0, self.shift), offset(1, self.shift)],
            crop: [offset(2, self.crop), offset(3, self.crop)],
            flip: self.flip && word(4) & 1 == 1,
            turn: turned.then(|| {
                let angle = (signed(5) * self.rotate as f64).to_radians();
                let zoom = 1.0 + signed(6) * (self.zoom as f64 / 100.0);
                [(angle.cos() / zoom) as f32, (angle.sin() / zoom) as f32]
            }),
        }
    }
}

impl Draw {
    /// Writes the view from what `fetch` writes: a run of pixels of the original, by its first.
    fn write(
        &self,
        shape: Shape,
        background: &[f32],
        output: &mut [f32],
        fetch: impl FnMut(usize, &mut [f32]),
    ) {
        match self.turn {
            Some(turn) => self.resample(turn, shape, background, output, fetch),
            None => self.arrange(shape, background, output, fetch),
        }
    }

    /// The pixel of the original that a view without turn and zoom shows here; `None` for background.
    fn shown(&self, [row, column]: [isize; 2], [height, width]: [usize; 2]) -> Option<usize> {
        let (row, column) = (row - self.shift[0], column - self.shift[1]);
        if row < 0 || row >= height as isize || column < 0 || column >= width as isize {
            return None;
        }
        let column = if self.flip { width as isize - 1 - column } else { column };
        Some(reflect(row + self.crop[0], height) * width + reflect(column + self.crop[1], width))
    }

    /// Turns and zooms: every pixel is the mean of the four around the place it comes from, by their nearness.
    fn resample(
        &self,
        [cosine, sine]: [f32; 2],
        shape: Shape,
        background: &[f32],
        output: &mut [f32],
        mut fetch: impl FnMut(usize, &mut [f32]),
    ) {
        let Shape::Image { height, width, channels } = shape else {
            panic!("a view of shape {shape}, which is no image");
        };
        let middle = [(height - 1) as f32 / 2.0, (width - 1) as f32 / 2.0];
        let mut neighbour = vec![0.0; channels];
        for (place, pixel) in output.chunks_exact_mut(channels).enumerate() {
            let down = (place / width) as f32 - middle[0];
            let right = (place % width) as f32 - middle[1];
            let from = [middle[0] + cosine * down - sine * right, middle[1] + sine * down + cosine * right];
            let first = from.map(f32::floor);
            pixel.fill(0.0);
            for corner in 0..4 {
                let step = [corner / 2, corner % 2];
                let nearness: f32 =
                    (0..2).map(|axis| 1.0 - (from[axis] - first[axis] - step[axis] as f32).abs()).product();
                let at = [first[0] as isize + step[0], first[1] as isize + step[1]];
                match self.shown(at, [height, width]) {
                    Some(position) => fetch(position, &mut neighbour),
                    None => neighbour.copy_from_slice(background),
                }
                pixel.iter_mut().zip(&neighbour).for_each(|(sum, value)| *sum += nearness * value);
            }
        }
    }

    /// Fills an image with background or with what `fetch` writes: a run of pixels of the original, by its first.
    ///
    /// A row is one long run with a few reflected pixels beside it: reading runs keeps the views of a record cheap.
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
        let size = width as isize;
        let within = |column: isize| column.clamp(0, size);
        // Columns of the output that show the image, and among them those that show it without reflection.
        let shown = within(self.shift[1])..within(size + self.shift[1]);
        let start = if self.flip { self.shift[1] + self.crop[1] } else { self.shift[1] - self.crop[1] };
        let direct = start.clamp(shown.start, shown.end)..(start + size).clamp(shown.start, shown.end);
        let source = |column: isize| {
            let column = column - self.shift[1];
            (if self.flip { size - 1 - column } else { column }) + self.crop[1]
        };
        for (row, output) in output.chunks_exact_mut(width * channels).enumerate() {
            let row = row as isize - self.shift[0];
            if row < 0 || row >= height as isize {
                output.chunks_exact_mut(channels).for_each(|pixel| pixel.copy_from_slice(background));
                continue;
            }
            let first = reflect(row + self.crop[0], height) * width;
            for column in (0..size).filter(|column| !direct.contains(column)) {
                let pixel = &mut output[column as usize * channels..][..channels];
                if shown.contains(&column) {
                    fetch(first + reflect(source(column), width), pixel);
                } else {
                    pixel.copy_from_slice(background);
                }
            }
            if direct.is_empty() {
                continue;
            }
            let run = &mut output[direct.start as usize * channels..direct.end as usize * channels];
            if self.flip {
                fetch(first + source(direct.end - 1) as usize, run);
                reverse(run, channels);
            } else {
                fetch(first + source(direct.start) as usize, run);
            }
        }
    }
}

/// Puts the pixels of a run in the opposite order.
fn reverse(run: &mut [f32], channels: usize) {
    run.reverse();
    if channels > 1 {
        run.chunks_exact_mut(channels).for_each(<[f32]>::reverse);
    }
}

/// Mirrors a position at the borders without repeating the border pixel, however far outside it lies.
fn reflect(position: isize, size: usize) -> usize {
    let period = (2 * size as isize - 2).max(1);
    let position = position.rem_euclid(period) as usize;
    if position < size { position } else { period as usize - position }
}

/// Every record of a view `count` times in a row, each time augmented differently; as its data set has it, where views were made in
/// advance.
///
/// # Guarantee
/// The engine takes the mean of a record's gradients before anything is clipped: a record contributes as much to a clipped
/// sum as it would with one view.
#[derive(Clone, Debug)]
pub struct Views<'a> {
    view: View<'a>,
    augmentation: Augmentation,
    seed: u64,
    first: u64,
    count: usize,
    background: Vec<f32>,
    /// Whether all records are moved as record 0 is.
    alike: bool,
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
        Views { view, augmentation, seed, first, count, background, alike: false }
    }

    /// One view of each record, moved as view `number` of record 0 is: what becomes of a record does not depend on its place.
    pub fn alike(view: View<'a>, augmentation: Augmentation, seed: u64, number: u64) -> Views<'a> {
        Views { alike: true, ..Views::new(view, augmentation, seed, number, 1) }
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
        let number = self.first + (index % self.count) as u64;
        if let further @ [_, ..] = dataset.further_views() {
            return match number as usize % (1 + further.len()) {
                0 => self.view.read(example, input),
                view => self.view.read_from(&further[view - 1], example, input),
            };
        }
        let Shape::Image { channels, .. } = dataset.input() else {
            return self.view.read(example, input);
        };
        if self.augmentation.is_none() {
            return self.view.read(example, input);
        }
        let record = if self.alike { 0 } else { self.view.record(example) };
        let draw = self.augmentation.draw(self.seed, record, number);
        // Straight from the stored pixels: a step allocates nothing.
        let start = self.view.record(example) * input.len();
        draw.write(dataset.input(), &self.background, input, |position, pixel| {
            let stored = start + position * channels..start + position * channels + pixel.len();
            match &self.view.split().records {
                Records::Bytes(values) => dataset.scaling().apply(&values[stored], pixel),
                Records::Floats(values) => dataset.scaling().apply(&values[stored], pixel),
                Records::Halves(values) => values[stored].convert_to_f32_slice(pixel),
            }
        });
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.view.target(index / self.count)
    }

    fn views(&self) -> usize {
        self.count
    }

    fn identity(&self, record: usize) -> u64 {
        self.view.identity(record)
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

    /// The definition, pixel by pixel.
    fn plainly(draw: Draw) -> Vec<f32> {
        let image = image();
        let places = (0..3).flat_map(|row| (0..4).map(move |column| [row, column]));
        let pixel = |place: [isize; 2]| match draw.shown(place, [3, 4]) {
            Some(pixel) => [image[2 * pixel], image[2 * pixel + 1]],
            None => [-1.0, -2.0],
        };
        places.flat_map(pixel).collect()
    }

    #[test]
    fn a_turn_takes_its_values_from_between_the_pixels() {
        let square = Shape::Image { height: 3, width: 3, channels: 1 };
        let image: Vec<f32> = (1..=9).map(|value| value as f32).collect();
        let turned = |turn: [f32; 2]| {
            let draw = Draw { shift: [0, 0], crop: [0, 0], flip: false, turn: Some(turn) };
            let mut output = [f32::NAN; 9];
            draw.write(square, &[0.0], &mut output, |position, pixel| pixel[0] = image[position]);
            output
        };
        // No turn, a quarter, half the size, and twice the size: by hand.
        assert_eq!(turned([1.0, 0.0])[..], image[..]);
        assert_eq!(turned([0.0, 1.0]), [7.0, 4.0, 1.0, 8.0, 5.0, 2.0, 9.0, 6.0, 3.0]);
        assert_eq!(turned([2.0, 0.0]), [0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(turned([0.5, 0.0]), [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0]);
    }

    proptest! {
        #[test]
        fn runs_show_what_the_definition_says(
            down in -5isize..6, right in -6isize..7, above in -9isize..10, left in -9isize..10, flip: bool,
        ) {
            let draw = Draw { shift: [down, right], crop: [above, left], flip, turn: None };
            let mut output = vec![f32::NAN; 24];
            draw.arrange(SHAPE, &[-1.0, -2.0], &mut output, |position, run| {
                run.copy_from_slice(&image()[2 * position..][..run.len()]);
            });
            prop_assert_eq!(output, plainly(draw));
        }

        #[test]
        fn a_view_depends_on_seed_record_and_number_alone(
            shift in 0usize..5, crop in 0usize..9, flip: bool, seed: u64, record: usize, number: u64,
        ) {
            let augmentation = Augmentation { shift, flip, crop, rotate: shift, zoom: crop };
            prop_assert_eq!(
                view(augmentation, (seed, record, number)),
                view(augmentation, (seed, record, number))
            );
        }
    }

    #[test]
    fn features_without_order_stay_as_they_are() {
        let mut output = [0.0; 3];
        let all = Augmentation { shift: 1, flip: true, crop: 1, rotate: 5, zoom: 5 };
        all.apply(Shape::Vector(3), &[1.0, 2.0, 3.0], &[], (0, 0, 0), &mut output);
        assert_eq!(output, [1.0, 2.0, 3.0]);
    }
}
