//! The plans of candidates, all with the same noise, and what they cost together.

use super::Settings;
use super::genotype::Cell;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::train::{DataShape, ModelChoice, Plan, Recipe, TargetShape};
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, AccountingError, Event};
use muffle_nn::Shape;
use muffle_nn::layers::activation::Activation;
use muffle_nn::models::dpnas;

/// Plans of candidates, all with the same noise.
pub(super) struct Plans {
    pub recipe: Recipe,
    shape: DataShape,
    channels: [usize; 3],
    /// The public number of all records, those held out included.
    pub records: u64,
    /// What the whole search may cost.
    target: Target,
    /// What the training of one candidate costs.
    single: Event,
}

impl Plans {
    /// Finds the noise with which the whole search costs the recipe's epsilon.
    pub fn new(recipe: &Recipe, settings: &Settings, dataset: &Dataset) -> Result<Plans> {
        settings.check(recipe)?;
        let Some(epsilon) = recipe.run.epsilon else {
            return Err(Error::Plan(
                "a search needs epsilon, the budget of all candidates together".to_string(),
            ));
        };
        let shape = DataShape::of(dataset);
        let Shape::Image { .. } = shape.input else {
            return Err(Error::Plan(format!("cells are for images; the records have shape {}", shape.input)));
        };
        let mut recipe = recipe.clone();
        (recipe.run.epsilon, recipe.training.noise_multiplier) = (None, Some(1.0));
        // All candidates cost the same, so any will do.
        let any = Cell::random(&mut Uniform::new(&Key::from_seed(0), Stream::new(Purpose::Data, 0)));
        let plan_of = |recipe: &Recipe| plan(recipe, &shape, settings.channels, &any);
        let resolved = plan_of(&recipe)?.recipe;
        let records = resolved.run.records.unwrap_or_default();
        recipe.run.adjacency = resolved.run.adjacency;
        // Candidates are trained on what is not held out.
        recipe.run.records = Some((records as f64 * (1.0 - settings.share)).round().max(1.0) as u64);
        let unit = plan_of(&recipe)?;
        let cost = unit.total_cost()?;
        let total = |noise: f64| settings.cost(cost.with_noise_scaled(noise), settings.candidates);
        let target = Target { epsilon, delta: recipe.run.delta, adjacency: unit.adjacency };
        let noise = calibrate::noise_multiplier(&Pld, &target, total)?.value;
        recipe.training.noise_multiplier = Some(noise);
        let single = cost.with_noise_scaled(noise);
        Ok(Plans { recipe, shape, channels: settings.channels, records, target, single })
    }

    /// The plan of one candidate.
    pub fn of(&self, cell: &Cell) -> Result<Plan> {
        plan(&self.recipe, &self.shape, self.channels, cell)
    }

    /// How many more candidates the budget allows after so many, counting what was lost when a process died.
    pub fn affordable(&self, settings: &Settings, ledger: &Ledger, tried: u64) -> Result<u64> {
        let left = settings.candidates.saturating_sub(tried);
        if left == 0 || ledger.entries().is_empty() {
            return Ok(left);
        }
        let Target { epsilon, delta, adjacency } = self.target;
        let total = |count: u64| {
            Event::compose([ledger.total(), settings.cost(self.single.clone(), count.min(left))])
        };
        if Pld.epsilon(&total(left), adjacency, delta)?.epsilon <= epsilon {
            return Ok(left);
        }
        match calibrate::steps(&Pld, &self.target, total) {
            Ok(found) => Ok(found.value.min(left)),
            Err(AccountingError::Unreachable { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

/// The plan of a candidate that is trained by this recipe.
fn plan(recipe: &Recipe, shape: &DataShape, channels: [usize; 3], cell: &Cell) -> Result<Plan> {
    let TargetShape::Classes(classes) = shape.targets else {
        return Err(Error::Plan("a search judges classes, and the data has none".to_string()));
    };
    let model = dpnas::network(shape.input, classes, &cell.genotype(), channels, Activation::Tanh);
    let mut recipe = recipe.clone();
    recipe.training.model = ModelChoice::from(&model);
    Plan::new(recipe, shape)
}
