//! From a recipe and its data to numbers: noise, queries, epsilon.

use super::published;
use super::recipe::{METHOD, PateRecipe};
use super::votes::Votes;
use crate::data::{Dataset, Task, Visibility};
use crate::error::{Error, Result};
use crate::methods::Mode;
use crate::run::{Parts, RunRecipe, Terms};
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Event};
use muffle_nn::{Examples, ModelDescription, Network};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Teachers that are trained in one step of a run: some for every core, few enough to show how far the run is.
pub(super) const TOGETHER: usize = 10;

/// A recipe whose open questions are answered.
#[derive(Clone)]
pub struct PatePlan {
    /// What every run has.
    pub run: RunRecipe,
    /// The rest, with noise and number of queries filled in.
    pub recipe: PateRecipe,
    /// Number of queries.
    pub queries: u64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The network of the teachers.
    pub(super) teacher: Arc<Network>,
    /// The network of the student, and how it is published.
    pub(super) student: (ModelDescription, Arc<Network>),
    /// Records in the public pool.
    pub pool: usize,
    /// Answers that epsilon affords with this noise, however many are asked for; `None` without an epsilon.
    pub affordable: Option<u64>,
    /// What the papers' argument gives of the published practice, whatever the votes.
    pub claimed: Option<f64>,
}

impl PatePlan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, all queries are priced at no more than that, whatever the votes.
    pub fn new(parts: &Parts, dataset: &Dataset) -> Result<PatePlan> {
        let mut recipe: PateRecipe = parts.training()?;
        recipe.check().map_err(|reason| parts.refuse(reason))?;
        let mut run = parts.run.clone();
        if !run.private {
            return Err(parts.refuse(
                "private = false: a committee without noise is no use of one; leave it out (--without-privacy is for recipes of other \
                 kinds)"
                    .to_string(),
            ));
        }
        let Task::Classes(classes) = dataset.task() else {
            return Err(Error::Plan("votes are about classes, and the data has none".to_string()));
        };
        let divided = divide(&recipe, dataset)?;
        let pool = divided.public().expect("it was divided").len();
        let adjacency = run.adjacency.unwrap_or(Adjacency::AddRemove);
        let (input, count) = (dataset.input(), classes.len());
        let (_, teacher) = recipe.teacher.network(input, count)?;
        let student = recipe.student.network(input, count)?;
        let affordable = settle(&mut recipe, &run, adjacency)?;
        // Without a number to ask for, as many are asked as there are and the budget affords.
        let queries = recipe.queries.unwrap_or(affordable.unwrap_or(u64::MAX).min(pool as u64));
        if queries > pool as u64 {
            return Err(Error::Plan(format!(
                "queries = {queries}, but the public pool has {pool} records; ask about fewer, or declare more of them public"
            )));
        }
        let claimed = (recipe.mode == Mode::AsPublished)
            .then(|| published::most(&recipe.votes, queries, count, run.delta));
        if dataset.visibility() == Visibility::Public {
            run.records = run.records.or(Some(dataset.train().len() as u64));
        }
        run.adjacency = Some(adjacency);
        recipe.queries = Some(queries);
        Ok(PatePlan { run, recipe, queries, adjacency, teacher, student, pool, affordable, claimed })
    }

    /// Steps in which the teachers are trained.
    pub(super) fn lessons(&self) -> u64 {
        self.recipe.teachers.div_ceil(TOGETHER) as u64
    }

    /// What all queries cost, and what is printed of the votes as they are.
    pub fn cost(&self) -> Event {
        let printed = self.claimed.map(|_| published::event());
        Event::compose([self.recipe.cost(self.queries)].into_iter().chain(printed))
    }

    /// What the run has to keep to.
    pub fn terms(&self) -> Terms {
        Terms {
            recipe: self.run.clone(),
            adjacency: self.adjacency,
            steps: self.lessons() + self.queries,
            method: METHOD,
            mode: self.recipe.mode,
            claimed: self.claimed,
            filter_order: None,
            preparations: Vec::new(),
            training: self.certified(),
            not_covered: vec![
                "the public pool: its records are declared to be public and protected by nothing".to_string(),
                "teachers and raw votes: they stay in the folder `private` and are covered by no epsilon"
                    .to_string(),
            ],
        }
    }

    /// What the certificate says of this kind of training.
    fn certified(&self) -> Map<String, Value> {
        let parts = [
            ("teachers", json!(self.recipe.teachers)),
            ("queries", json!(self.queries)),
            ("votes", json!(self.recipe.votes)),
            ("public_pool", json!(self.pool)),
            ("split", json!("by a hash of each record alone")),
        ];
        parts.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }
}

/// The data with their public pool apart from what is tested on.
pub(super) fn divide(recipe: &PateRecipe, dataset: &Dataset) -> Result<Dataset> {
    let divided = match recipe.public_from_test {
        Some(count) => dataset.clone().with_public_from_test(count)?,
        None => dataset.clone(),
    };
    match divided.public() {
        Some(_) => Ok(divided),
        None => Err(Error::Plan(
            "the teachers are asked about public records, and the data has none: declare some with `public` in the description \
             of the data, or take them from the test records with public_from_test"
                .to_string(),
        )),
    }
}

/// Finds the noise from what is given of noise, queries and epsilon, and how many answers epsilon affords with it.
fn settle(recipe: &mut PateRecipe, run: &RunRecipe, adjacency: Adjacency) -> Result<Option<u64>> {
    let target = run.epsilon.map(|epsilon| Target { epsilon, delta: run.delta, adjacency });
    let votes = recipe.votes;
    let cost = |votes: Votes, queries: u64| PateRecipe { votes, ..recipe.clone() }.cost(queries);
    match (target, votes.noise(), recipe.queries) {
        (Some(target), None, Some(queries)) => {
            let found =
                calibrate::noise_multiplier(&Pld, &target, |noise| cost(votes.with_noise(noise), queries))?;
            recipe.votes = votes.with_noise(found.value);
            Ok(Some(queries))
        }
        (Some(target), Some(_), queries) => {
            if let Some(queries) = queries {
                let price = Pld.epsilon(&cost(votes, queries), adjacency, run.delta)?.epsilon;
                if price > target.epsilon {
                    return Err(Error::Plan(format!(
                        "{queries} queries with this noise cost {price:.4}, more than epsilon = {}; ask fewer, or leave the noise \
                         or the number of queries out",
                        target.epsilon
                    )));
                }
            }
            Ok(Some(calibrate::steps(&Pld, &target, |queries| cost(votes, queries))?.value))
        }
        (None, Some(_), Some(_)) => Ok(None),
        _ => Err(Error::Plan(
            "of epsilon, queries and the noise on votes any two are needed: the third follows".to_string(),
        )),
    }
}
