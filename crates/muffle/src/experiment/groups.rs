//! What is to be run.

use super::cell::Cell;
use super::random_search::Draw;
use crate::data::{Dataset, Search};
use crate::error::{Error, Result};
use crate::kinds;
use crate::run::{Job, Parts, RunRecipe};
use crate::train::evaluation::Measure;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A recipe to be run several times, and what sets it apart from the others.
#[derive(Clone)]
pub struct Variant {
    /// Its value of every factor of the experiment.
    pub levels: Vec<String>,
    /// The name that its folders begin with.
    pub name: String,
    /// What is run.
    pub recipe: Parts,
}

/// A variant whose open questions are answered.
pub struct Group {
    /// Its value of every factor of the experiment.
    pub levels: Vec<String>,
    /// The name that its folders begin with.
    pub name: String,
    /// What is run; cells differ from it in their seed only.
    pub job: Box<dyn Job>,
}

impl Group {
    /// Name or path of the data set that it trains on.
    pub fn data(&self) -> String {
        self.job.terms().recipe.data.clone()
    }
}

/// What tells data sets apart: where they come from, and how many of their records are used.
type DataKey = (String, Option<u64>, Option<u64>, Option<u64>);

fn data_key(run: &RunRecipe) -> DataKey {
    (run.data.clone(), run.subset, run.test_subset, run.test_from_training)
}

/// Runs side by side.
pub struct Experiment {
    /// What groups may differ in.
    pub factors: Vec<String>,
    /// What is compared.
    pub groups: Vec<Group>,
    /// The folder of all cells and results.
    pub folder: PathBuf,
    /// The runs, in the order in which they are taken up.
    pub cells: Vec<Cell>,
    datasets: BTreeMap<DataKey, Dataset>,
}

impl Experiment {
    /// The data sets of all groups, each once, in the order of the groups.
    pub fn data(&self) -> Vec<String> {
        let mut sets: Vec<String> = Vec::new();
        for set in self.groups.iter().map(Group::data) {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets
    }

    /// Loads the data and plans every variant, so that what cannot run is known before anything does.
    pub fn new(
        folder: &Path,
        factors: Vec<String>,
        variants: Vec<Variant>,
        search: &Search,
    ) -> Result<Experiment> {
        let mut experiment = Experiment {
            factors,
            groups: Vec::new(),
            folder: folder.to_path_buf(),
            cells: Vec::new(),
            datasets: BTreeMap::new(),
        };
        for Variant { levels, name, mut recipe } in variants {
            let data = data_key(&recipe.run);
            if !experiment.datasets.contains_key(&data) {
                experiment.datasets.insert(data.clone(), recipe.run.dataset(search)?);
            }
            // Cells run side by side, each on one core. The cell decides its seed.
            (recipe.run.threads, recipe.run.seed) = (Some(1), None);
            let job = kinds::plan(&recipe, &experiment.datasets[&data])
                .map_err(|error| Error::Plan(format!("{}: {error}", levels.join(" "))))?;
            experiment.groups.push(Group { levels, name, job });
        }
        Ok(experiment)
    }

    /// What its runs are compared by: the measure of this name, or the usual one of the first group's records.
    pub fn measure(&self, name: Option<&str>) -> Result<Measure> {
        let refuse = |reason: String| Error::Plan(format!("--rank-by: {reason}"));
        let mut tasks = self.groups.iter().map(|group| self.dataset(group).task());
        let measure = match (name, tasks.next()) {
            (Some(name), _) => Measure::parse(name).map_err(refuse)?,
            (None, Some(task)) => Measure::usual(task),
            (None, None) => return Err(Error::Plan("there is nothing to run".to_string())),
        };
        let check = |group: &Group| measure.check(self.dataset(group).task()).map_err(refuse);
        self.groups.iter().try_for_each(check)?;
        Ok(measure)
    }

    /// Runs every group with the seeds from one to `seeds`, all groups before the next seed.
    ///
    /// Cells of one seed share their noise: fair to compare, but not to be published together.
    pub fn with_seeds(self, seeds: u64) -> Experiment {
        self.with_runs(seeds, Some)
    }

    /// Runs every group so many times, each with noise of its own that nobody can repeat.
    pub fn with_secret_runs(self, runs: u64) -> Experiment {
        self.with_runs(runs, |_| None)
    }

    fn with_runs(mut self, runs: u64, seed: fn(u64) -> Option<u64>) -> Experiment {
        let groups = 0..self.groups.len();
        let cell = |number: u64| move |group: usize| Cell { group, number, seed: seed(number) };
        self.cells = (1..=runs).flat_map(|number| groups.clone().map(cell(number))).collect();
        self
    }

    /// Runs the groups that were drawn, each with noise of its own that nobody can repeat.
    pub fn with_draws(mut self, draws: &[Draw]) -> Result<Experiment> {
        let place = |draw: &Draw| {
            self.groups.iter().position(|group| group.name == draw.name).ok_or_else(|| {
                Error::Plan(format!(
                    "{} holds a search that drew `{}`, which this grid does not have; give the grid it was drawn from, or \
                     choose another folder",
                    self.folder.display(),
                    draw.name
                ))
            })
        };
        let cells: Result<Vec<Cell>> = (1..)
            .zip(draws)
            .map(|(number, draw)| Ok(Cell { group: place(draw)?, number, seed: None }))
            .collect();
        self.cells = cells?;
        Ok(self)
    }

    /// The group of a cell.
    pub fn group(&self, cell: &Cell) -> &Group {
        &self.groups[cell.group]
    }

    /// The name of a cell's folder.
    pub fn name(&self, cell: &Cell) -> String {
        format!("{}-{}", self.group(cell).name, cell.number)
    }

    /// The folder of a cell.
    pub fn path(&self, cell: &Cell) -> PathBuf {
        self.folder.join("cells").join(self.name(cell))
    }

    /// The records of a group.
    pub(super) fn dataset(&self, group: &Group) -> &Dataset {
        &self.datasets[&data_key(&group.job.terms().recipe)]
    }

    /// A short name of a group among the others: the factors that are not the same for all, without some, with its values.
    pub fn label(&self, group: &Group, without: Range<usize>) -> String {
        let differs =
            |place: usize| self.groups.iter().any(|other| other.levels[place] != group.levels[place]);
        let places: Vec<usize> =
            (0..self.factors.len()).filter(|&place| !without.contains(&place) && differs(place)).collect();
        self.values(group, if places.is_empty() { &[0] } else { &places })
    }

    /// Factors with the values that a group has of them.
    pub fn values(&self, group: &Group, places: &[usize]) -> String {
        let parts = places.iter().map(|&place| format!("{} {}", self.factors[place], group.levels[place]));
        parts.collect::<Vec<_>>().join(", ")
    }
}
