//! From a recipe and the shape of its data to numbers: sample rate, steps, noise, epsilon.

use super::choices::{SamplerChoice, TimeUnit};
use super::error::{Result, TrainError};
use super::ledger::{Access, Preparation};
use super::network::{check_shapes, describe};
use super::recipe::Recipe;
use crate::data::{Dataset, Visibility};
use crate::methods::{self, Blueprint, Entry, Method, Mode, Parameters};
use crate::noise::Key;
use crate::sampler::{Charges, Sampler};
use muffle_accounting::budget::Budget;
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::rdp::{Rdp, best_order};
use muffle_accounting::{Accountant, AccountingError, Adjacency, Composition, Event};
use muffle_nn::shape::Shape;
use muffle_nn::{ModelDescription, Network};
use std::ops::Range;
use std::sync::Arc;

/// A recipe whose open questions are answered.
#[derive(Clone)]
pub struct Plan {
    /// The recipe, with steps, noise multiplier, adjacency and records filled in.
    pub recipe: Recipe,
    /// The network as it is described.
    pub description: ModelDescription,
    /// The network.
    pub network: Arc<Network>,
    /// Probability that a record takes part in a step.
    pub sample_rate: f64,
    /// Number of steps.
    pub steps: u64,
    /// Noise multiplier before its schedule.
    pub noise_multiplier: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The method, as a row of the table.
    pub method: &'static Entry,
    /// What the paper's argument gives for a form that is not proved.
    pub claimed: Option<f64>,
    /// The order of the filter that stops a run whose noise follows what it released (R7).
    pub filter_order: Option<f64>,
}

/// What a record looks like to a plan, without the records.
#[derive(Clone, Copy, Debug)]
pub struct DataShape {
    /// Shape of an input.
    pub input: Shape,
    /// Number of classes.
    pub classes: usize,
    /// Number of training records.
    pub records: usize,
    /// Whether that number is published.
    pub visibility: Visibility,
}

impl DataShape {
    /// Of a data set.
    pub fn of(dataset: &Dataset) -> DataShape {
        DataShape {
            input: dataset.input(),
            classes: dataset.classes().len(),
            records: dataset.train().split().len(),
            visibility: dataset.visibility(),
        }
    }
}

impl Plan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, the whole run is priced at no more than that.
    pub fn new(mut recipe: Recipe, data: &DataShape) -> Result<Plan> {
        let adjacency = recipe.adjacency.unwrap_or(recipe.sampler.usual_adjacency());
        let records = nominal_records(&recipe, data, adjacency)?;
        if recipe.batch_size > records {
            return Err(TrainError::Plan(format!(
                "batch_size = {} is more than the {records} records there are",
                recipe.batch_size
            )));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if let Some(threads) = recipe.threads.filter(|threads| !(1..=cores).contains(threads)) {
            return Err(TrainError::Plan(format!(
                "threads = {threads} is outside 1 to {cores}, the cores of this machine"
            )));
        }
        let input = recipe.principal_components.map_or(data.input, |pca| Shape::Vector(pca.dimensions));
        let description = describe(&recipe.model, input)?;
        let network = Arc::new(description.network()?);
        check_shapes(&network, input, data.classes)?;
        let method = methods::find(&recipe.method).map_err(TrainError::Plan)?;
        if !method.modes.contains(&recipe.mode) {
            return Err(TrainError::Plan(format!(
                "method `{}` has no form `{}`: what was published is sound as it stands",
                method.name,
                recipe.mode.name()
            )));
        }
        if let Some(choice) = &recipe.audit {
            let components = recipe.principal_components.is_some();
            choice.check(data.records, adjacency, components).map_err(TrainError::Plan)?;
        }
        if !recipe.private && method.name != "dp-sgd" {
            return Err(TrainError::Plan("private = false goes with method = \"dp-sgd\"".to_string()));
        }
        let training = check_held_out(&recipe, adjacency)? * records as f64;
        let mut plan = Plan {
            sample_rate: recipe.sampler.sample_rate(recipe.batch_size as f64 / training),
            steps: 0,
            noise_multiplier: 0.0,
            adjacency,
            description,
            network,
            method,
            claimed: None,
            filter_order: None,
            recipe: recipe.clone(),
        };
        plan.clip_factor(0)?;
        plan.settle(data.records)?;
        plan.check_room()?;
        recipe.adjacency = Some(adjacency);
        recipe.records = Some(records);
        recipe.steps = Some(plan.steps);
        recipe.epochs = None;
        recipe.noise_multiplier = Some(plan.noise_multiplier);
        plan.recipe = recipe;
        Ok(plan)
    }

    /// Methods that ask more than one question share the noise among them, and with too little of it none is left for the
    /// gradient.
    fn check_room(&self) -> Result<()> {
        let multipliers = (0..self.steps).map(|step| self.noise_multiplier_at(step));
        let smallest = multipliers.fold(f64::INFINITY, f64::min);
        let noisy = self.recipe.private && smallest > 0.0 && smallest.is_finite();
        if noisy && self.build_method()?.event(smallest) == Event::NonPrivate {
            return Err(TrainError::Plan(format!(
                "method `{}` counts records beside the gradient, and at noise multiplier {smallest:.4} and batch_size = {} \
                 the counts alone cost more than that: raise parameters.count_noise, the batch size or the noise",
                self.method.name, self.recipe.batch_size
            )));
        }
        Ok(())
    }

    /// Finds steps and noise from what is given of steps, noise and epsilon.
    fn settle(&mut self, records: usize) -> Result<()> {
        let recipe = self.recipe.clone();
        // The key decides which records are drawn, not what drawing them costs.
        let sampler = self.sampler(&Key::from_seed(0), records);
        let given = recipe.steps.or_else(|| {
            let steps = |epochs: f64| (epochs / self.sample_rate * (1.0 - 1e-12)).ceil().max(1.0) as u64;
            recipe.epochs.map(steps)
        });
        let noise = if recipe.private { recipe.noise_multiplier } else { Some(0.0) };
        let target = recipe.epsilon.filter(|_| recipe.private).map(|epsilon| Target {
            epsilon,
            delta: recipe.delta,
            adjacency: self.adjacency,
        });
        let method = self.build_method()?;
        let filtered = recipe.validation.is_some() || method.adaptive();
        let published = recipe.mode == Mode::AsPublished;
        let accountant: &dyn Accountant = match published {
            _ if filtered => &Rdp,
            true => method.accountant(recipe.sampler),
            false => &Pld,
        };
        let total = |noise: f64, steps: u64| match published {
            // What a paper claims is the price of its steps; no paper here counts its principal components.
            true => self.steps_cost(&*method, &*sampler, noise, 0..steps),
            false => self.run_cost(&*method, &*sampler, noise, steps),
        };
        // An epoch of a sampler that deals out every record once is paid as a whole.
        let period = sampler.period();
        let affordable = |noise: f64, target: &Target| {
            let found =
                calibrate::steps(accountant, target, |periods| total(noise, periods.saturating_mul(period)));
            found.map(|found| found.value * period).map_err(|error| unaffordable(error, target))
        };
        let (noise, steps) = match (noise, given, target) {
            (Some(noise), Some(steps), Some(target)) if !filtered => {
                let price = accountant.epsilon(&total(noise, steps), self.adjacency, recipe.delta)?.epsilon;
                if price > target.epsilon {
                    return Err(TrainError::Plan(format!(
                        "{steps} steps with noise_multiplier = {noise} cost epsilon {price:.4}, above the limit \
                         epsilon = {}; take more noise or fewer steps, or remove the limit (--set epsilon=)",
                        target.epsilon
                    )));
                }
                (noise, steps)
            }
            (Some(noise), Some(steps), _) => (noise, steps),
            (None, Some(steps), Some(target)) => {
                let found = calibrate::noise_multiplier(accountant, &target, |noise| total(noise, steps));
                (found.map_err(|error| unaffordable(error, &target))?.value, steps)
            }
            (Some(noise), None, Some(target)) if noise > 0.0 => (noise, affordable(noise, &target)?),
            (_, None, _) => {
                return Err(TrainError::Plan("the length is missing: set steps or epochs".to_string()));
            }
            (None, Some(_), None) => {
                return Err(TrainError::Plan(
                    "set epsilon (the noise is then calibrated) or noise_multiplier (epsilon is then reported)"
                        .to_string(),
                ));
            }
        };
        if filtered {
            let target = target.filter(|_| !published).ok_or_else(|| {
                TrainError::Plan(
                    "noise that follows what was released needs a budget that is fixed in advance: set epsilon, with \
                     mode = \"sound\" and private = true"
                        .to_string(),
                )
            })?;
            // A filter is best at the order of the run that spends the whole budget.
            let whole = Composition::of(&total(noise, affordable(noise, &target)?))?;
            self.filter_order = Some(best_order(&whole, self.adjacency, recipe.delta)?.0);
        } else if published {
            self.claimed =
                Some(accountant.epsilon(&total(noise, steps), self.adjacency, recipe.delta)?.epsilon);
        }
        (self.noise_multiplier, self.steps) = (noise, steps);
        Ok(())
    }

    /// The budget of a run whose noise follows what it released; `None` if the noise is fixed in advance.
    pub fn filter(&self) -> Result<Option<Budget>> {
        let (Some(order), Some(epsilon)) = (self.filter_order, self.recipe.epsilon) else { return Ok(None) };
        let target = Target { epsilon, delta: self.recipe.delta, adjacency: self.adjacency };
        Ok(Some(Budget::adaptive(target, order)?))
    }

    /// The sampler of a run on this many records.
    pub fn sampler(&self, key: &Key, records: usize) -> Box<dyn Sampler> {
        self.recipe.sampler.sampler(key, records, self.sample_rate)
    }

    /// Where schedules are at a step.
    pub fn time(&self, step: u64) -> u64 {
        match self.recipe.schedule_unit {
            TimeUnit::Step => step,
            TimeUnit::Epoch => self.epochs(step),
        }
    }

    /// Whole passes over the data in this many steps.
    pub fn epochs(&self, step: u64) -> u64 {
        // A product that should be whole may fall short by one rounding.
        (step as f64 * self.sample_rate + 1e-9).floor() as u64
    }

    /// Whether the model is checked on validation records after this many steps.
    pub fn checked_after(&self, step: u64) -> bool {
        let epochs = self.epochs(step);
        let check = self.recipe.validation.is_some_and(|validation| validation.checked_after(epochs));
        check && self.epochs(step - 1) < epochs
    }

    /// The factor on all thresholds at a step.
    pub fn clip_factor(&self, step: u64) -> Result<f64> {
        let factor = self.recipe.clip_schedule.as_ref().map_or(1.0, |schedule| schedule.at(self.time(step)));
        match factor > 0.0 && factor.is_finite() {
            true => Ok(factor),
            false => Err(TrainError::Plan(format!(
                "clip_schedule gives {factor} at step {step}; it has to be positive"
            ))),
        }
    }

    /// The method, ready for the first step.
    pub fn build_method(&self) -> Result<Box<dyn Method>> {
        let parameters = Parameters::new(self.method, &self.recipe.parameters).map_err(TrainError::Plan)?;
        let blueprint = Blueprint {
            network: &self.network,
            mode: self.recipe.mode,
            recipe: &self.recipe,
            parameters: &parameters,
        };
        (self.method.build)(&blueprint).map_err(TrainError::Plan)
    }

    /// The noise multiplier at a step.
    pub fn noise_multiplier_at(&self, step: u64) -> f64 {
        self.noise_multiplier * self.noise_factor(step)
    }

    fn noise_factor(&self, step: u64) -> f64 {
        self.recipe.noise_schedule.as_ref().map_or(1.0, |schedule| schedule.at(self.time(step)))
    }

    /// What a step with this noise is charged for, before sampling: its release, or the claim of a form that is not proved.
    pub fn event(&self, method: &dyn Method, noise_multiplier: f64) -> Event {
        self.claim().unwrap_or_else(|| method.event(noise_multiplier))
    }

    /// What stands in the ledger for a form that is not proved.
    pub fn claim(&self) -> Option<Event> {
        self.claimed.map(|epsilon| Event::Claimed {
            source: self.method.paper.to_string(),
            epsilon,
            delta: self.recipe.delta,
        })
    }

    /// The release of principal components, if the recipe asks for them.
    pub(super) fn principal_components(&self) -> Option<Preparation> {
        let event = |noise_multiplier: f64| match self.recipe.private {
            true => Event::gaussian(noise_multiplier),
            false => Event::NonPrivate,
        };
        let choice = self.recipe.principal_components?;
        Some(Preparation { purpose: Access::PrincipalComponents, event: event(choice.noise_multiplier) })
    }

    /// What a method releases before the first step, if anything.
    pub(super) fn method_preparation(&self, method: &dyn Method) -> Option<Preparation> {
        Some(Preparation { purpose: Access::Method, event: method.preparation()? })
    }

    /// What the whole run costs; if its noise follows what was released, what it would cost with the noise it begins with.
    pub fn total_cost(&self) -> Result<Event> {
        let sampler = self.sampler(&Key::from_seed(0), self.recipe.records.unwrap_or_default() as usize);
        Ok(self.run_cost(&*self.build_method()?, &*sampler, self.noise_multiplier, self.steps))
    }

    fn run_cost(&self, method: &dyn Method, sampler: &dyn Sampler, noise: f64, steps: u64) -> Event {
        let preparations = self.principal_components().into_iter().chain(self.method_preparation(method));
        let mut total = Event::compose(preparations.map(|preparation| preparation.event));
        total.append(self.steps_cost(method, sampler, noise, 0..steps));
        let checks = self.recipe.validation.and_then(|validation| validation.cost(self.epochs(steps)));
        checks.into_iter().for_each(|checks| total.append(checks));
        total
    }

    /// What steps cost that begin without anything paid.
    pub(super) fn steps_cost(
        &self,
        method: &dyn Method,
        sampler: &dyn Sampler,
        noise: f64,
        steps: Range<u64>,
    ) -> Event {
        let mut total = Event::compose([]);
        if steps.is_empty() {
            return total;
        }
        if self.recipe.noise_schedule.is_none() {
            let periods = steps.end.div_ceil(sampler.period()) - steps.start / sampler.period();
            total.append(sampler.amplify(method.event(noise)).repeated(periods));
            return total;
        }
        let mut charges = Charges::new();
        for step in steps {
            let event = method.event(noise * self.noise_factor(step));
            charges.charge(sampler, step, event).into_iter().for_each(|charge| total.append(charge));
        }
        total
    }
}

/// The public number of records that the sample rate refers to (R2).
fn nominal_records(recipe: &Recipe, data: &DataShape, adjacency: Adjacency) -> Result<u64> {
    let counted = data.records as u64;
    let public =
        data.visibility == Visibility::Public || adjacency != Adjacency::AddRemove || !recipe.private;
    match recipe.records {
        Some(records) if recipe.sampler == SamplerChoice::FixedSize && records != counted => {
            Err(TrainError::Plan(format!(
                "records = {records}, but there are {counted}; a sample of fixed size needs their exact number, which \
                 is then public"
            )))
        }
        Some(records) => Ok(records),
        None if public => Ok(counted),
        None => Err(TrainError::Plan(
            "records is missing: under add_remove the number of your records is itself private, so the sample rate \
             refers to a public figure; set records to a round number near theirs, or adjacency = \"replace_one\", \
             which takes their number as public"
                .to_string(),
        )),
    }
}

/// The share of the records that is trained on, if the rest can be held out.
fn check_held_out(recipe: &Recipe, adjacency: Adjacency) -> Result<f64> {
    let share = recipe.validation.map_or(0.0, |validation| validation.share());
    let refuse =
        |reason: &str| Err(TrainError::Plan(format!("validation.records.kind = \"held-out\": {reason}")));
    match (recipe.sampler, adjacency) {
        _ if share == 0.0 => Ok(1.0),
        (SamplerChoice::FixedSize, _) => refuse(
            "a sample of fixed size needs the exact number of the records that are left, which is not public; take \
             another sampler",
        ),
        (SamplerChoice::Reshuffled, Adjacency::ReplaceOne) => refuse(
            "a record that is replaced can change sides, and then all batches of a shuffle change; set adjacency = \
             \"zero_out\" or sampler = \"balls-and-bins\"",
        ),
        _ => Ok(1.0 - share),
    }
}

/// A budget that allows nothing, with what would help.
fn unaffordable(error: AccountingError, target: &Target) -> TrainError {
    match error {
        AccountingError::Unreachable { .. } => TrainError::Plan(format!(
            "{error}; epsilon = {} at delta = {} leaves no room for this run: raise one of them, or take fewer steps or \
             smaller batches",
            target.epsilon, target.delta
        )),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: DataShape =
        DataShape { input: Shape::Vector(4), classes: 2, records: 1000, visibility: Visibility::Public };

    fn plan_on(data: &DataShape, settings: &[&str]) -> Result<Plan> {
        let text = r#"
            data = "none"
            model = { layers = [{ type = "dense", features = 2 }] }
            batch_size = 50
            learning_rate = 0.5
            clip = { kind = "flat", threshold = 1.0 }
        "#;
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Plan::new(Recipe::parse("test", text, &settings)?, data)
    }

    fn plan(settings: &[&str]) -> Result<Plan> {
        plan_on(&DATA, settings)
    }

    fn price(plan: &Plan) -> f64 {
        let event = plan.total_cost().unwrap();
        Pld.epsilon(&event, plan.adjacency, plan.recipe.delta).unwrap().epsilon
    }

    #[test]
    fn any_two_of_epsilon_noise_and_length_give_the_third() {
        let noise = plan(&["epsilon=2", "epochs=10"]).unwrap();
        assert_eq!(noise.steps, 200);
        assert!(price(&noise) <= 2.0 && price(&noise) > 1.99);
        let setting = format!("noise_multiplier={}", noise.noise_multiplier);
        assert_eq!(plan(&["epsilon=2", &setting]).unwrap().steps, 200);
        assert!(plan(&["steps=200", &setting]).unwrap().recipe.epsilon.is_none());
        let limit = plan(&["epsilon=1", "steps=200", &setting]).err().unwrap().to_string();
        assert!(limit.contains("above the limit epsilon = 1"), "{limit}");
    }

    #[test]
    fn every_sampler_is_calibrated_to_its_own_price() {
        for sampler in ["poisson", "fixed-size", "reshuffled", "balls-and-bins"] {
            let plan = plan(&["epsilon=2", "epochs=3", &format!("sampler={sampler}")]).unwrap();
            assert!(price(&plan) <= 2.0 && price(&plan) > 1.98, "{sampler}: {}", price(&plan));
        }
    }

    #[test]
    fn schedules_and_principal_components_are_part_of_the_price() {
        let settings = ["epsilon=2", "epochs=4", "noise_schedule={kind=\"exponential\",initial=1,rate=0.3}"];
        let scheduled = plan(&settings).unwrap();
        assert!(scheduled.noise_multiplier_at(60) < 0.5 * scheduled.noise_multiplier_at(0));
        assert!(price(&scheduled) <= 2.0 && price(&scheduled) > 1.99);
        let with = "principal_components={dimensions=4,noise_multiplier=2}";
        let prepared = plan(&["epsilon=2", "epochs=4", with]).unwrap();
        let without = plan(&["epsilon=2", "epochs=4"]).unwrap();
        assert!(prepared.noise_multiplier > 1.1 * without.noise_multiplier);
        assert!(price(&prepared) <= 2.0);
    }

    #[test]
    fn private_records_need_a_public_number() {
        let own = DataShape { visibility: Visibility::Private, ..DATA };
        let message = plan_on(&own, &["epsilon=2", "epochs=3"]).err().unwrap().to_string();
        assert!(message.contains("records is missing"), "{message}");
        let plan = plan_on(&own, &["epsilon=2", "epochs=3", "records=2000"]).unwrap();
        assert_eq!(plan.sample_rate, 0.025);
    }

    #[test]
    fn counts_that_leave_no_noise_to_the_gradient_are_refused() {
        for method in ["icgc", "quantile-clip"] {
            let settings = |batch_size: &str| {
                let method = format!("method={method}");
                plan(&["noise_multiplier=1", "steps=3", &method, &format!("batch_size={batch_size}")])
            };
            let message = settings("4").err().unwrap().to_string();
            assert!(message.contains("parameters.count_noise"), "{message}");
            assert!(settings("50").is_ok());
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_sides() {
        for (setting, part) in [
            ("model={layers=[{type=\"dense\",features=3}]}", "3 outputs, the data has 2 classes"),
            ("model=cnn-small", "shape [1, 28, 28], the data has [4]"),
            ("batch_size=2000", "more than the 1000 records"),
            (
                "clip={kind=\"grouped\",groups=[{tensors=[\"0.weight\"],threshold=1}]}",
                "`0.bias` is in no group",
            ),
            ("epsilon=", "set epsilon"),
            ("epochs=", "the length is missing"),
            ("principal_components={dimensions=4,noise_multiplier=0.1}", "leaves no room"),
        ] {
            let message = plan(&["epsilon=2", "epochs=3", setting]).err().unwrap().to_string();
            assert!(message.contains(part), "{setting}: {message}");
        }
    }
}
