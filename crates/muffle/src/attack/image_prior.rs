//! What an attacker knows of images before looking at a model: their mean, and the directions in which they differ most.

use crate::data::{Dataset, Records, View};
use muffle_nn::Examples;
use nalgebra::{DMatrix, SymmetricEigen};

/// Most images that directions are taken from.
const IMAGES: usize = 600;

/// Images as a mean and weights of a few directions, each so long that a weight has deviation one.
pub struct ImagePrior {
    mean: Vec<f32>,
    directions: Vec<Vec<f32>>,
}

impl ImagePrior {
    /// The main directions of the images of the test split, whatever their classes; fewer than `count` if there are no more.
    ///
    /// # Source
    /// Zhang et al. 2020, "The secret revealer: generative model-inversion attacks against deep neural networks", whose prior is a
    /// generator of public images; principal components are the linear case (Turk and Pentland 1991).
    pub fn new(dataset: &Dataset, count: usize) -> ImagePrior {
        let test = dataset.test();
        let every = test.len().div_ceil(IMAGES).max(1);
        let images: Vec<Vec<f32>> = (0..test.len()).step_by(every).map(|index| image(&test, index)).collect();
        let (width, many) = (dataset.input().len(), images.len());
        let mut mean = vec![0.0f32; width];
        for image in &images {
            mean.iter_mut().zip(image).for_each(|(mean, pixel)| *mean += pixel / many as f32);
        }
        // Of few images with many pixels the products of images with images have the same directions, and are fewer.
        let centred =
            DMatrix::from_fn(width, many, |pixel, index| f64::from(images[index][pixel] - mean[pixel]));
        let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::new(centred.tr_mul(&centred));
        let mut order: Vec<usize> =
            (0..many).filter(|&index| eigenvalues[index] > 1e-6 * eigenvalues.max()).collect();
        order.sort_by(|&left, &right| eigenvalues[right].total_cmp(&eigenvalues[left]));
        let directions = order.iter().take(count).map(|&index| {
            let direction = &centred * eigenvectors.column(index) / (many as f64).sqrt();
            direction.iter().map(|value| *value as f32).collect()
        });
        ImagePrior { directions: directions.collect(), mean }
    }

    /// Number of directions.
    pub fn len(&self) -> usize {
        self.directions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.directions.is_empty()
    }

    /// The mean image.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// The image of these weights.
    pub fn image(&self, weights: &[f32]) -> Vec<f32> {
        let mut image = self.mean.clone();
        for (weight, direction) in weights.iter().zip(&self.directions) {
            image.iter_mut().zip(direction).for_each(|(pixel, value)| *pixel += weight * value);
        }
        image.iter_mut().for_each(|pixel| *pixel = pixel.clamp(0.0, 255.0));
        image
    }

    /// The gradient of the weights, given that of the pixels.
    pub fn gradient(&self, pixels: &[f32]) -> Vec<f32> {
        let product =
            |direction: &Vec<f32>| direction.iter().zip(pixels).map(|(one, other)| one * other).sum();
        self.directions.iter().map(product).collect()
    }
}

/// The pixels of a record of bytes.
fn image(view: &View, index: usize) -> Vec<f32> {
    let width = view.dataset().input().len();
    match &view.split().records {
        Records::Bytes(values) => {
            values[view.record(index) * width..][..width].iter().map(|pixel| f32::from(*pixel)).collect()
        }
        _ => vec![0.0; width],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Scaling, Split, Visibility};
    use muffle_nn::Shape;

    #[test]
    fn directions_are_those_in_which_images_differ() {
        // Images 100 ± 40 in the first pixel and 50 ± 10 in the second.
        let pixels = [[140, 60], [60, 60], [140, 40], [60, 40]].concat();
        let split = Split::classified(Records::Bytes(pixels), vec![0, 1, 0, 1]);
        let classes = vec!["a".to_string(), "b".to_string()];
        let scaling = Scaling::identity("as is");
        let (shape, visibility) = (Shape::image(1, 1, 2), Visibility::Public);
        let dataset = Dataset::new("x", shape, classes, scaling, visibility, split.clone(), split).unwrap();
        let prior = ImagePrior::new(&dataset, 9);
        assert_eq!(prior.len(), 2);
        assert_eq!(prior.mean(), [100.0, 50.0]);
        let sign = prior.directions[0][0].signum();
        let image = prior.image(&[sign, 0.0]);
        assert!((image[0] - 140.0).abs() < 1e-3 && (image[1] - 50.0).abs() < 1e-3, "{image:?}");
        let gradient = prior.gradient(&[1.0, 0.0]);
        assert!((gradient[0] * sign - 40.0).abs() < 1e-3 && gradient[1].abs() < 1e-3, "{gradient:?}");
        assert_eq!(ImagePrior::new(&dataset, 1).len(), 1);
    }
}
