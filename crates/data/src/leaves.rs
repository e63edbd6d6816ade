//! Images that nobody took: overlapping leaves of random shapes and colours, which have edges, corners and sizes as photographs do.
//!
//! # Source
//! Lee, Mumford, Huang 2001, "Occlusion models for natural images"; Baradad et al. 2021, "Learning to see by looking at noise".

use muffle_nn::initialise::SplitMix;
use muffle_nn::shape::Shape;
use rayon::prelude::*;
use std::borrow::Borrow;
use std::f64::consts::{PI, TAU};
use std::ops::Range;

/// Points in a pixel, along each direction: its value is their mean, so that edges are as soft as a camera's.
const POINTS: usize = 2;
/// The smallest leaf, in pixels from its middle to its edge.
const SMALLEST: f64 = 1.0;
/// Leaves are laid from the front to the back until all is covered, but for this many at most.
const MOST_LEAVES: usize = 4000;
/// How far the colour of a leaf may be from grey, of a range of one.
const COLOUR: f64 = 0.25;
/// How much a striped leaf may be brighter and darker than its colour.
const STRIPES: f64 = 0.3;
/// A scene is this many times as high and wide as the images that are taken of it.
const SCENE: f64 = 1.6;

/// A leaf: an ellipse or a rectangle.
struct Leaf {
    middle: [f64; 2],
    /// Sine and cosine of its direction.
    direction: (f64, f64),
    /// Half of its length and half of its width.
    radii: [f64; 2],
    square: bool,
}

impl Leaf {
    /// A leaf somewhere on a canvas of this size, or partly outside it. The number of leaves falls with the cube of their radius, so
    /// that the picture has no scale of its own.
    fn new(random: &mut SplitMix, size: [f64; 2]) -> Leaf {
        let largest = size[0].max(size[1]);
        // The inverse of the distribution function of a density r⁻³.
        let [near, far] = [SMALLEST, largest].map(|radius| radius.powi(-2));
        let radius = (near - random.uniform() * (near - far)).powf(-0.5);
        let narrow = 0.3 + 0.7 * random.uniform();
        let turn = PI * random.uniform();
        Leaf {
            middle: size.map(|length| (length + 2.0 * radius) * random.uniform() - radius),
            direction: turn.sin_cos(),
            radii: [radius, radius * narrow],
            square: random.uniform() < 0.5,
        }
    }

    fn covers(&self, point: [f64; 2]) -> bool {
        let [down, right] = [point[0] - self.middle[0], point[1] - self.middle[1]];
        let (sine, cosine) = self.direction;
        let along = (cosine * right + sine * down) / self.radii[0];
        let across = (cosine * down - sine * right) / self.radii[1];
        match self.square {
            true => along.abs() <= 1.0 && across.abs() <= 1.0,
            false => along * along + across * across <= 1.0,
        }
    }
}

/// Waves of brightness over a leaf.
struct Stripes {
    /// Radians for a pixel down and for one to the right.
    wave: [f64; 2],
    phase: f64,
    height: f64,
}

impl Stripes {
    /// On half of the leaves, from two to twelve pixels wide.
    fn new(random: &mut SplitMix) -> Stripes {
        let (sine, cosine) = (PI * random.uniform()).sin_cos();
        let frequency = TAU / (2.0 * 6.0f64.powf(random.uniform()));
        Stripes {
            wave: [sine * frequency, cosine * frequency],
            phase: TAU * random.uniform(),
            height: (STRIPES * (2.0 * random.uniform() - 1.0)).max(0.0),
        }
    }

    fn at(&self, point: [f64; 2]) -> f64 {
        self.height * (self.wave[0] * point[0] + self.wave[1] * point[1] + self.phase).sin()
    }
}

/// Where a camera stands and how it sees.
struct Camera {
    /// The point of the scene in the middle of the image.
    target: [f64; 2],
    /// Pixels of the scene in one of the image.
    scale: f64,
    /// Sine and cosine of how it is turned.
    turn: (f64, f64),
    /// What brightness is multiplied by, and what is added to it.
    exposure: (f64, f64),
}

impl Camera {
    /// A camera that sees a scene of this size as it is.
    fn straight(size: [f64; 2]) -> Camera {
        Camera { target: size.map(|length| 0.5 * length), scale: 1.0, turn: (0.0, 1.0), exposure: (1.0, 0.0) }
    }

    /// A camera somewhere, that sees nothing beyond the scene's border.
    fn new(random: &mut SplitMix, image: [f64; 2]) -> Camera {
        let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
        let (scale, turn) = (between(0.7, 1.1), between(-0.4, 0.4).sin_cos());
        let reach = 0.5 * scale * (turn.0.abs() + turn.1);
        Camera {
            target: image.map(|length| length * between(reach, (SCENE - reach).max(reach))),
            scale,
            turn,
            exposure: (between(0.6, 1.3), between(-0.15, 0.15)),
        }
    }

    /// The point of the scene behind a point of the image, counted from its middle.
    fn scene(&self, [down, right]: [f64; 2]) -> [f64; 2] {
        let (sine, cosine) = (self.scale * self.turn.0, self.scale * self.turn.1);
        [self.target[0] + cosine * down + sine * right, self.target[1] + cosine * right - sine * down]
    }

    /// The point of the image that shows a point of the scene, counted from its middle.
    fn shows(&self, point: [f64; 2]) -> [f64; 2] {
        let ([down, right], (sine, cosine)) =
            ([point[0] - self.target[0], point[1] - self.target[1]], self.turn);
        [(cosine * down - sine * right) / self.scale, (cosine * right + sine * down) / self.scale]
    }
}

/// A leaf with what is on it.
struct Painted {
    leaf: Leaf,
    /// One value for each channel, from 0 to 1.
    colour: Vec<f64>,
    stripes: Option<Stripes>,
}

impl Painted {
    fn new(random: &mut SplitMix, scene: [f64; 2], channels: usize, striped: bool) -> Painted {
        let leaf = Leaf::new(random, scene);
        let grey = random.uniform();
        let mut tint = || COLOUR * (2.0 * random.uniform() - 1.0);
        let colour = match channels {
            1 => vec![grey],
            _ => (0..channels).map(|_| (grey + tint()).clamp(0.0, 1.0)).collect(),
        };
        Painted { leaf, colour, stripes: striped.then(|| Stripes::new(random)) }
    }
}

/// An image of this shape, with values from 0 to 1: what a camera sees of leaves, the foremost first.
fn image<T: Borrow<Painted>>(shape: Shape, leaves: impl Iterator<Item = T>, camera: &Camera) -> Vec<f32> {
    let Shape::Image { height, width, channels } = shape else { panic!("leaves of shape {shape}") };
    let (rows, columns) = (height * POINTS, width * POINTS);
    let middle = [rows, columns].map(|count| 0.5 * count as f64);
    let mut image = vec![0.0; height * width * channels];
    let mut covered = vec![false; rows * columns];
    let (mut bare, share) = (covered.len(), 1.0 / (POINTS * POINTS) as f64);
    for painted in leaves {
        let Painted { leaf, colour, stripes } = painted.borrow();
        // Only where the leaf can be: most are small.
        let (at, reach) = (camera.shows(leaf.middle), leaf.radii[0].hypot(leaf.radii[1]) / camera.scale);
        let near = |axis: usize, count: usize| {
            let place = |offset: f64| POINTS as f64 * (at[axis] + offset) + middle[axis];
            let [first, last] = [place(-reach).floor(), place(reach).ceil()];
            first.clamp(0.0, count as f64) as usize..last.clamp(0.0, count as f64) as usize
        };
        for row in near(0, rows) {
            for column in near(1, columns) {
                let offset = |place: usize, axis: usize| (place as f64 + 0.5 - middle[axis]) / POINTS as f64;
                let point = camera.scene([offset(row, 0), offset(column, 1)]);
                let place = row * columns + column;
                if covered[place] || !leaf.covers(point) {
                    continue;
                }
                covered[place] = true;
                bare -= 1;
                let pixel = (row / POINTS * width + column / POINTS) * channels;
                let wave = stripes.as_ref().map_or(0.0, |stripes| stripes.at(point));
                let values = image[pixel..][..channels].iter_mut().zip(colour);
                values.for_each(|(value, colour)| *value += (share * (colour + wave)) as f32);
            }
        }
        if bare == 0 {
            break;
        }
    }
    let (times, more) = camera.exposure;
    let exposed = |value: f32| ((f64::from(value) * times + more) as f32).clamp(0.0, 1.0);
    image.iter_mut().for_each(|value| *value = exposed(*value));
    image
}

/// Height and width of an image.
fn size(shape: Shape) -> [f64; 2] {
    let Shape::Image { height, width, .. } = shape else { panic!("leaves of shape {shape}") };
    [height as f64, width as f64]
}

/// Random numbers that belong to one of many things.
fn own(seed: u64, number: u64) -> SplitMix {
    let start = SplitMix::new(number).bits();
    SplitMix::new(start ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Images one after the other, scaled to mean zero and variance one as a whole, as inputs of networks usually are.
pub fn scaled(shape: Shape, count: usize, seed: u64) -> Vec<f32> {
    let (size, camera) = (size(shape), Camera::straight(size(shape)));
    let each = |number: usize| {
        let mut random = own(seed, number as u64);
        let leaf = |_| Painted::new(&mut random, size, shape.channels(), false);
        image(shape, (0..MOST_LEAVES).map(leaf), &camera)
    };
    let mut images: Vec<f32> = (0..count).into_par_iter().flat_map_iter(each).collect();
    let len = images.len() as f64;
    let mean = images.iter().map(|value| f64::from(*value)).sum::<f64>() / len;
    let variance = images.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / len;
    let scale = variance.sqrt().recip();
    images.iter_mut().for_each(|value| *value = ((f64::from(*value) - mean) * scale) as f32);
    images
}

/// What a camera sees of a scene with striped leaves, in bytes: the same scene in every view, from elsewhere, turned, nearer or brighter.
pub fn views(shape: Shape, scene: u64, numbers: Range<u64>) -> Vec<u8> {
    let size = size(shape);
    let canvas = size.map(|length| SCENE * length);
    let mut random = own(scene, u64::MAX);
    let leaf = |_| Painted::new(&mut random, canvas, shape.channels(), true);
    let leaves: Vec<Painted> = (0..MOST_LEAVES).map(leaf).collect();
    let view = |number: u64| image(shape, leaves.iter(), &Camera::new(&mut own(scene, number), size));
    numbers.flat_map(view).map(|value| (255.0 * value).round() as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Shape = Shape::Image { height: 12, width: 12, channels: 3 };

    #[test]
    fn images_follow_from_their_seed_and_are_scaled_as_a_whole() {
        let images = scaled(SMALL, 40, 3);
        assert_eq!(images, scaled(SMALL, 40, 3));
        assert_ne!(images, scaled(SMALL, 40, 4));
        let mean = |of: &dyn Fn(f64) -> f64| {
            images.iter().map(|value| of(f64::from(*value))).sum::<f64>() / images.len() as f64
        };
        assert!(mean(&|value| value).abs() < 1e-4 && (mean(&|value| value * value) - 1.0).abs() < 1e-3);
        let each: Vec<&[f32]> = images.chunks_exact(SMALL.len()).collect();
        assert!((1..each.len()).all(|place| each[place] != each[0]), "no image comes twice");
    }

    /// Two views of one scene are more alike than views of two scenes: by their mean colours, which neither place nor turn change much.
    #[test]
    fn views_of_a_scene_show_the_same_scene() {
        let colour = |scene: u64, number: u64| -> Vec<f64> {
            let seen = views(SMALL, scene, number..number + 1);
            let mean = |channel: usize| {
                seen.iter().skip(channel).step_by(3).map(|byte| f64::from(*byte)).sum::<f64>() / 144.0
            };
            let brightness = (0..3).map(mean).sum::<f64>() / 3.0;
            (0..3).map(|channel| mean(channel) - brightness).collect()
        };
        let distance = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum()
        };
        let (mut same, mut different) = (0.0, 0.0);
        for scene in 0..60 {
            let first = colour(scene, 0);
            same += distance(&first, &colour(scene, 1));
            different += distance(&first, &colour(scene + 1000, 1));
        }
        assert!(same < 0.7 * different, "{same} and {different}");
        let [one, other] = [6, 7].map(|number| views(SMALL, 5, number..number + 1));
        assert_eq!(views(SMALL, 5, 6..8), [&one[..], &other].concat());
        assert_ne!(one, other);
    }
}
