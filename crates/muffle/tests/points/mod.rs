//! Four hundred points in three dimensions, to train a run of a few steps on.

use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle_nn::Shape;

pub fn dataset() -> Dataset {
    let values = (0..3 * 400).map(|place| ((place * 37 + place / 3) % 101) as f32 / 50.0 - 1.0).collect();
    let split = Split::classified(Records::Floats(values), (0..400).map(|record| record % 2).collect());
    let classes = vec!["no".to_string(), "yes".to_string()];
    let scaling = Scaling::identity("as is");
    Dataset::new("points", Shape::Vector(3), classes, scaling, Visibility::Public, split.clone(), split)
        .unwrap()
}
