//! What PyTorch computed, as the fixtures hold it.

use super::layer_run::to_stored;
use super::relative_error;
use muffle_nn::Shape;
use muffle_nn::examples::from_channels_first;
use muffle_nn::layer::Tensor;
use safetensors::SafeTensors;
use serde_json::Value;
use std::path::Path;

/// Largest accepted relative L2 distance.
pub const TOLERANCE: f64 = 1e-5;

/// One case: what went in, and what came out.
pub struct Case {
    pub name: String,
    pub kind: String,
    pub hyperparameters: Value,
    pub bytes: Vec<u8>,
}

impl Case {
    pub fn has(&self, name: &str) -> bool {
        SafeTensors::deserialize(&self.bytes).unwrap().tensor(name).is_ok()
    }

    pub fn sizes(&self, name: &str) -> Vec<usize> {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        file.tensor(name).unwrap().shape().to_vec()
    }

    /// Values as they are in the file; whole numbers become single precision too.
    pub fn values(&self, name: &str) -> Vec<f32> {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let tensor = file.tensor(name).unwrap_or_else(|_| panic!("{}: {name}", self.name));
        match tensor.dtype() {
            safetensors::Dtype::F32 => {
                let (chunks, _) = tensor.data().as_chunks::<4>();
                chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
            safetensors::Dtype::I64 => {
                let (chunks, _) = tensor.data().as_chunks::<8>();
                chunks.iter().map(|bytes| i64::from_le_bytes(*bytes) as f32).collect()
            }
            other => panic!("{}: {name} holds {other:?}", self.name),
        }
    }

    /// Shape of one example.
    pub fn shape(&self, name: &str) -> Shape {
        Shape::from_sizes(&self.sizes(name)[1..]).unwrap()
    }

    /// A batch of examples with the channels of each pixel side by side.
    pub fn batch(&self, name: &str) -> Vec<f32> {
        let (shape, values) = (self.shape(name), self.values(name));
        let mut stored = vec![0.0; values.len()];
        for (values, stored) in values.chunks_exact(shape.len()).zip(stored.chunks_exact_mut(shape.len())) {
            from_channels_first(shape, values, stored);
        }
        stored
    }

    /// A tensor in the layout of its layer; running statistics are buffers in PyTorch.
    pub fn tensor(&self, prefix: &str, name: &str, tensor: &Tensor) -> Vec<f32> {
        let parameter = format!("{prefix}.{name}");
        let name = if self.has(&parameter) { parameter } else { format!("buffer.{name}") };
        assert_eq!(self.sizes(&name), tensor.sizes, "{}: {name}", self.name);
        to_stored(tensor, &self.values(&name))
    }

    pub fn check(&self, what: &str, computed: &[f32], expected: &[f32]) {
        let error = relative_error(computed, expected);
        assert!(error <= TOLERANCE, "{}: {what} differs by {error}", self.name);
    }

    /// Norms from Gram matrices are larger by all that rounding could have taken away, and none is smaller.
    pub fn check_norms(&self, computed: &[f32], name: &str) {
        let expected = self.values(&format!("norm{name}"));
        for (computed, expected) in computed.iter().zip(&expected) {
            let error = f64::from(*computed) / f64::from(*expected) - 1.0;
            assert!((-TOLERANCE..1e-4).contains(&error), "{}: norm{name} differs by {error}", self.name);
        }
    }

    pub fn number(&self, name: &str) -> f32 {
        self.hyperparameters[name].as_f64().unwrap() as f32
    }
}

/// All cases of the manifest.
pub fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = std::fs::read_to_string(directory.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let case = |case: &Value| Case {
        name: case["name"].as_str().unwrap().to_string(),
        kind: case["kind"].as_str().unwrap().to_string(),
        hyperparameters: case["hyperparameters"].clone(),
        bytes: std::fs::read(directory.join(case["file"].as_str().unwrap())).unwrap(),
    };
    manifest["cases"].as_array().unwrap().iter().map(case).collect()
}
