//! Scattering features are those of Kymatio; see `fixtures/scattering.py`.

use crate::common::relative_error;
use muffle_nn::examples::from_channels_first;
use muffle_nn::{Batch, Engine, ModelDescription, Options, Purpose, Shape};
use safetensors::SafeTensors;
use std::path::Path;
use std::sync::Arc;

/// Features of some images, channels last.
fn features(input: [usize; 3], images: &[f32]) -> (Shape, Vec<f32>) {
    let text = format!("input = {input:?}\nlayers = [{{ type = \"scattering\" }}]");
    let network = Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap());
    let count = images.len() / network.input().len();
    let mut outputs = vec![0.0; count * network.output().len()];
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
    engine.outputs(&[], &Batch::new(images.to_vec(), vec![0; count]), &mut outputs).unwrap();
    (network.output(), outputs)
}

fn channels_last(values: &[f32], sizes: &[usize]) -> Vec<f32> {
    let shape = Shape::Image { channels: sizes[1], height: sizes[2], width: sizes[3] };
    let mut moved = vec![0.0; values.len()];
    from_channels_first(shape, values, &mut moved);
    moved
}

#[test]
fn features_are_those_of_kymatio() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scattering.safetensors");
    let bytes = std::fs::read(file).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let values = |name: &str| {
        let tensor = tensors.tensor(name).unwrap();
        let values: Vec<f32> =
            tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        channels_last(&values, tensor.shape())
    };
    for (name, input, output) in [
        ("28x28x1", [1, 28, 28], Shape::Image { height: 7, width: 7, channels: 81 }),
        ("32x32x3", [3, 32, 32], Shape::Image { height: 8, width: 8, channels: 243 }),
        ("9x14x1", [1, 9, 14], Shape::Image { height: 2, width: 3, channels: 81 }),
    ] {
        let (shape, found) = features(input, &values(&format!("input.{name}")));
        assert_eq!(shape, output, "{name}");
        let expected = values(&format!("output.{name}"));
        let largest = found.iter().zip(&expected).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-5, "{name}: {largest}");
        let error = relative_error(&found, &expected);
        assert!(error < 1e-5, "{name}: {error}");
    }
}

/// Planes are transformed side by side: none may see its neighbours.
#[test]
fn an_image_has_the_same_features_in_any_company() {
    let image = |seed: usize| (0..192).map(move |place| ((place * place + 31 * seed) % 17) as f32 / 17.0);
    let images: Vec<f32> = (0..11).flat_map(image).collect();
    let (_, all) = features([3, 8, 8], &images);
    for (number, together) in all.chunks_exact(all.len() / 11).enumerate() {
        let alone: Vec<f32> = image(number).collect();
        assert_eq!(features([3, 8, 8], &alone).1, together, "image {number}");
    }
}

/// A wave is found at its orientation, and its mirror image at the mirrored one.
#[test]
fn a_flip_permutes_orientations() {
    for orientation in 0..8 {
        let angle = (3.0 - orientation as f32) * std::f32::consts::PI / 8.0;
        let wave = |place: usize| {
            let (y, x) = ((place / 28) as f32, (place % 28) as f32);
            (0.75 * std::f32::consts::PI * (y * angle.cos() + x * angle.sin())).cos()
        };
        let image: Vec<f32> = (0..784).map(wave).collect();
        let flipped: Vec<f32> = image.chunks_exact(28).flat_map(|row| row.iter().rev().copied()).collect();
        let strongest = |image: &[f32]| {
            let (_, features) = features([1, 28, 28], image);
            let middle = &features[24 * 81..][1..9];
            (0..8).max_by(|&one, &other| middle[one].total_cmp(&middle[other])).unwrap()
        };
        assert_eq!([strongest(&image), strongest(&flipped)], [orientation, (14 - orientation) % 8]);
    }
}

#[test]
fn images_that_are_too_small_or_too_large_are_refused() {
    for input in ["[1, 4, 28]", "[1, 28, 257]", "[7]"] {
        let text = format!("input = {input}\nlayers = [{{ type = \"scattering\" }}]");
        let error =
            ModelDescription::from_toml(&text).and_then(|model| model.network().map(|_| ())).unwrap_err();
        assert!(error.to_string().contains("it takes images"), "{error}");
    }
}
