//! How long a run will take and how much memory it will need, measured on made-up records.

use super::plan::Plan;
use super::self_check::made_up_inputs;
use super::trainer::GradientTrainer;
use crate::data::targets::Table;
use crate::data::{Dataset, Records, Scaling, Split, Targets, Task, Visibility};
use crate::error::Result;
use crate::ledger::Ledger;
use crate::memory::peak_rss_mb;
use crate::noise::Key;
use crate::run::{Estimate, Purse, Trainer};
use muffle_nn::Loss;
use muffle_nn::initialise::SplitMix;
use std::time::Instant;

/// Most steps that are timed after the first.
const TIMED: u32 = 3;

/// Seconds after which no further one is.
const PATIENCE: f64 = 5.0;

/// Takes a few steps on made-up records. No record of the user's is read.
pub fn estimate(plan: &Plan) -> Result<Estimate> {
    let plan = plan.rehearsal();
    let mut trainer = GradientTrainer::new(&plan, &made_up(&plan)?, Key::from_seed(0))?;
    let mut purse = Purse::new(Ledger::in_memory(), None)?;
    while trainer.step() == 0 {
        purse.pay_and_do(&mut trainer, 1)?;
    }
    let clock = Instant::now();
    let mut timed = 0;
    while timed == 0 || (timed < TIMED && clock.elapsed().as_secs_f64() < PATIENCE) {
        purse.pay_and_do(&mut trainer, 1)?;
        timed += 1;
    }
    let step = clock.elapsed().as_secs_f64() / f64::from(timed);
    Ok(Estimate { seconds: step * plan.steps as f64, peak_rss_mb: peak_rss_mb() })
}

/// One batch of records.
fn made_up(plan: &Plan) -> Result<Dataset> {
    let mut generator = SplitMix::new(0);
    let (input, outputs) = (plan.network.input(), plan.network.output().len());
    let names = || (0..outputs).map(|output| output.to_string()).collect();
    let task = match plan.loss {
        Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy => Task::Classes(names()),
        _ => Task::Labels(names()),
    };
    let mut split = |records: usize| Split {
        records: Records::Floats(made_up_inputs(&plan.network, records, &mut generator)),
        targets: match task {
            Task::Classes(_) => {
                Targets::Classes((0..records).map(|record| (record % outputs) as u32).collect())
            }
            _ => Targets::Labels(Table::new(outputs, vec![0.0; records * outputs])),
        },
    };
    let (train, test) = (split(plan.recipe.training.batch_size as usize), split(1));
    let scaling = Scaling::identity("made up");
    Ok(Dataset::with_task("made up", input, task, scaling, Visibility::Public, train, test)?)
}
