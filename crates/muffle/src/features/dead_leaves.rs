//! Images that nobody took: overlapping leaves of random shapes and colours, which have edges, corners and sizes as photographs do.

use muffle_nn::initialise::SplitMix;
use muffle_nn::shape::Shape;

/// Points in a pixel, along each direction: its value is their mean, so that edges are as soft as a camera's.
const POINTS: usize = 2;
/// The smallest leaf, in pixels from its middle to its edge.
const SMALLEST: f64 = 1.0;
/// Leaves are laid from the front to the back until all is covered, but for this many at most.
const MOST_LEAVES: usize = 4000;
/// How far the colour of a leaf may be from grey, of a range of one.
const COLOUR: f64 = 0.25;

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
        let turn = std::f64::consts::PI * random.uniform();
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

/// An image of this shape, with values from 0 to 1; everything follows from the generator.
///
/// # Source
/// Lee, Mumford, Huang 2001, "Occlusion models for natural images"; Baradad et al. 2021, "Learning to see by looking at noise".
fn image(shape: Shape, random: &mut SplitMix) -> Vec<f32> {
    let Shape::Image { height, width, channels } = shape else { panic!("leaves of shape {shape}") };
    let (rows, columns) = (height * POINTS, width * POINTS);
    let mut image = vec![0.0; height * width * channels];
    let mut bare: Vec<usize> = (0..rows * columns).collect();
    for _ in 0..MOST_LEAVES {
        let leaf = Leaf::new(random, [height as f64, width as f64]);
        let grey = random.uniform();
        let tint = |random: &mut SplitMix| COLOUR * (2.0 * random.uniform() - 1.0);
        let colour: Vec<f32> = match channels {
            1 => vec![grey as f32],
            _ => (0..channels).map(|_| (grey + tint(random)).clamp(0.0, 1.0) as f32).collect(),
        };
        bare.retain(|&place| {
            let [y, x] = [place / columns, place % columns];
            let covered = leaf.covers([y, x].map(|place| (place as f64 + 0.5) / POINTS as f64));
            if covered {
                let pixel = (y / POINTS * width + x / POINTS) * channels;
                let share = 1.0 / (POINTS * POINTS) as f32;
                image[pixel..][..channels]
                    .iter_mut()
                    .zip(&colour)
                    .for_each(|(value, colour)| *value += share * colour);
            }
            !covered
        });
        if bare.is_empty() {
            break;
        }
    }
    image
}

/// Images one after the other, scaled to mean zero and variance one as a whole, as inputs of networks usually are.
pub(super) fn scaled(shape: Shape, count: usize, random: &mut SplitMix) -> Vec<f32> {
    let mut images: Vec<f32> = (0..count).flat_map(|_| image(shape, random)).collect();
    let len = images.len() as f64;
    let mean = images.iter().map(|value| f64::from(*value)).sum::<f64>() / len;
    let variance = images.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / len;
    let scale = variance.sqrt().recip();
    images.iter_mut().for_each(|value| *value = ((f64::from(*value) - mean) * scale) as f32);
    images
}
