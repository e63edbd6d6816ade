//! Records and a network of one's own: points in the plane, and on which side of a line they lie.
//!
//!     cargo run --release -p muffle --example own_records

use muffle::Training;
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::train::Evaluation;
use muffle_nn::initialise::SplitMix;
use muffle_nn::{ModelDescription, Shape};
use std::sync::atomic::AtomicBool;

fn main() -> muffle::Result<()> {
    let mut generator = SplitMix::new(1);
    let mut split = |count: usize| {
        let values: Vec<f32> = (0..2 * count).map(|_| generator.normal()).collect();
        let sides = values.chunks_exact(2).map(|point| u32::from(point[0] + point[1] > 0.0)).collect();
        Split::classified(Records::Floats(values), sides)
    };
    let (train, test) = (split(2000), split(500));
    let sides = vec!["below".to_string(), "above".to_string()];
    // The scaling is a public constant, and so is the number of records that the sample rate refers to.
    let scaling = Scaling::identity("coordinates as measured");
    let points = Dataset::new("points", Shape::Vector(2), sides, scaling, Visibility::Private, train, test)?;
    let network = ModelDescription::from_toml("input = [2]\nlayers = [{ type = \"dense\", features = 2 }]")?;

    let folder = std::env::temp_dir().join(format!("muffle-own-records-{}", std::process::id()));
    let stop = AtomicBool::new(false); // set it from anywhere to end the run in good order
    let model = Training::new(&points, &network)
        .epsilon(1.0)
        .epochs(5.0)
        .records(2000)
        .on_progress(|progress| eprintln!("step {} of {}", progress.step, progress.steps))
        .stop_on(&stop)
        .train(&folder)?;

    let test = Evaluation::of(&model.measured);
    println!("{} right on points that were set aside", test.in_words());
    println!("epsilon {:?} at delta {}", model.certificate.proved.epsilon, model.certificate.delta);
    println!("the certificate is {}", folder.join("privacy.json").display());
    Ok(())
}
