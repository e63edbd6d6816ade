//! How long a run will take and how much memory it will need, measured on made-up records.

use super::error::Result;
use super::plan::Plan;
use super::session::Session;
use crate::bench::peak_rss_mb;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::noise::Key;
use muffle_nn::initialise::SplitMix;
use std::time::Instant;

/// What a run is expected to need.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Seconds for all steps.
    pub seconds: f64,
    /// Most memory of the process after a few steps, the data included, in megabytes.
    pub peak_rss_mb: Option<f64>,
}

/// Steps that are timed after the first.
const TIMED: u32 = 3;

/// Takes a few steps on made-up records. No record of the user's is read.
pub fn estimate(plan: &Plan) -> Result<Estimate> {
    let mut plan = plan.clone();
    // Every sampler then draws the whole batch.
    plan.sample_rate = 1.0;
    plan.recipe.validation = None;
    let dataset = made_up(&plan)?;
    let mut session = Session::new(&plan, &dataset, Key::from_seed(0))?;
    session.advance()?;
    let clock = Instant::now();
    for _ in 0..TIMED {
        session.advance()?;
    }
    let step = clock.elapsed().as_secs_f64() / f64::from(TIMED);
    Ok(Estimate { seconds: step * plan.steps as f64, peak_rss_mb: peak_rss_mb() })
}

/// One batch of records.
fn made_up(plan: &Plan) -> Result<Dataset> {
    let mut generator = SplitMix::new(0);
    let (input, classes) = (plan.network.input(), plan.network.output().len());
    let mut split = |records: usize| {
        Split::classified(
            Records::Floats((0..records * input.len()).map(|_| generator.normal()).collect()),
            (0..records).map(|record| (record % classes) as u32).collect(),
        )
    };
    let names = (0..classes).map(|class| class.to_string()).collect();
    let (train, test) = (split(plan.recipe.batch_size as usize), split(1));
    let scaling = Scaling::identity("made up");
    Ok(Dataset::new("made up", input, names, scaling, Visibility::Public, train, test)?)
}
