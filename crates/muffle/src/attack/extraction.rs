//! Model extraction: a copy of a model, learned from its answers.

use super::{Entry, Trainings};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::side_by_side::side_by_side;
use crate::train::evaluation::predicted;
use crate::train::{DataShape, Evaluator, ModelChoice, Plan, Recipe, train_in_memory};
use muffle_nn::ModelDescription;
use std::sync::Arc;

/// Its row of the table.
pub static ENTRY: Entry = Entry {
    name: "extraction",
    command: "extraction",
    paper: "Tramèr, Zhang, Juels, Reiter, Ristenpart, Stealing machine learning models via prediction APIs, USENIX Security",
    year: 2016,
    question: "can the model be copied by asking it?",
    needs: "the attacker sees the classes that the model gives to records of the test split and knows its layers, not its \
            parameters, its records or its recipe",
    steps: "train a surrogate with the same layers on those answers, without privacy, for 1000 steps of at most 64 answers with \
            Adam; more queries include those of fewer",
    figure: "the share of records of the other half of the test split, which is never asked about, for which a surrogate says \
             what the model says, beside that of whoever always says the most frequent answer. Differential privacy protects \
             records, not models: no epsilon speaks of this attack",
};

/// Steps of every surrogate, whatever the number of answers it learns from.
pub const STEPS: u64 = 1000;

/// How a surrogate is trained: an attacker does not know the recipe of the model.
const RECIPE: &str = r#"
    data = ""
    model = ""
    private = false
    batch_size = 64
    learning_rate = 0.001
    optimizer = { kind = "adam" }
    clip = { kind = "flat", threshold = 1.0 }
    threads = 1
"#;

/// A copy and how good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surrogate {
    /// Answers it was trained on.
    pub queries: usize,
    /// Share of records that it was not trained on for which it gives the answer of the model.
    pub agreement: f64,
}

/// Copies by number of queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// In the order in which numbers were given.
    pub surrogates: Vec<Surrogate>,
    /// Records on which agreement was measured.
    pub judged_on: usize,
    /// Agreement of whoever always says the most frequent answer.
    pub most_frequent: f64,
}

/// Trains copies of a model by its answers (classes only) to records of the test split; `None` if it was stopped.
///
/// Queries come from one half of the test split, more queries include those of fewer; agreement is measured on the other half. A copy
/// has the layers of the model and weights of its own.
///
/// # Source
/// Tramèr, Zhang, Juels, Reiter and Ristenpart 2016, "Stealing machine learning models via prediction APIs", §5 (class labels
/// only); agreement is one less their R_test.
pub fn extract(
    description: &ModelDescription,
    parameters: &[f32],
    dataset: &Dataset,
    queries: &[usize],
    trainings: &Trainings,
) -> Result<Option<Extraction>> {
    let answered = answers(description, parameters, dataset)?;
    let mut order: Vec<usize> = (0..answered.len()).collect();
    let mut uniform = Uniform::new(&Key::from_seed(trainings.seed), Stream::new(Purpose::Audit, 0));
    uniform.shuffle(&mut order);
    let (asked, judged) = order.split_at(answered.len() / 2);
    if let Some(outside) = queries.iter().find(|queries| !(1..=asked.len()).contains(*queries)) {
        return Err(Error::Plan(format!(
            "{outside} queries: queries come from half of the test split, so that their number lies in 1 to {}",
            asked.len()
        )));
    }
    let judged = answered.select(judged);
    let surrogates = side_by_side(queries.len(), trainings.workers, &|place| {
        let queries = queries[place];
        let own = dataset.with_splits(answered.select(&asked[..queries]), judged.clone())?;
        let plan = surrogate_plan(description, &own)?;
        let key = Key::from_seed(trainings.seed.wrapping_add(1));
        let Some(copy) = train_in_memory(&plan, &own, key, trainings.stop, trainings.after_step)? else {
            return Ok(None);
        };
        let agreement = plan.evaluator(Some(1))?.evaluate(&copy, &own.test())?.accuracy;
        Ok(Some(Surrogate { queries, agreement: agreement.unwrap_or_default() }))
    })?;
    let Some(surrogates) = surrogates.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let most = judged.class_counts(dataset.classes().len()).into_iter().max().unwrap_or(0);
    let judged_on = judged.len();
    Ok(Some(Extraction { surrogates, judged_on, most_frequent: most as f64 / judged_on as f64 }))
}

/// The test split with the model's answers in place of its labels.
fn answers(description: &ModelDescription, parameters: &[f32], dataset: &Dataset) -> Result<Split> {
    let mut evaluator = Evaluator::new(Arc::new(description.network()?), None)?;
    let mut labels = Vec::with_capacity(dataset.test().split().len());
    evaluator.for_each(parameters, &dataset.test(), |_, outputs| labels.push(predicted(outputs) as u32))?;
    Ok(Split::classified(dataset.test().split().records.clone(), labels))
}

fn surrogate_plan(description: &ModelDescription, own: &Dataset) -> Result<Plan> {
    let mut recipe = Recipe::parse("the surrogate's recipe", RECIPE, &[])?;
    recipe.training.model = ModelChoice::from(description);
    recipe.training.steps = Some(STEPS);
    recipe.training.batch_size = recipe.training.batch_size.min(own.train().split().len() as u64);
    Plan::new(recipe, &DataShape::of(own))
}
