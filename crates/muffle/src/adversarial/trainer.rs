//! A generator and its critic, as a run sees them.

use super::duel::Duel;
use super::generator::{Asked, CRITIC_FILE, GENERATOR_FILE, Generator};
use super::measure::{classify, collapsed, diversity, grid};
use super::plan::{AdversarialPlan, positions};
use crate::State;
use crate::atomic_file;
use crate::bundle::Bundle;
use crate::data::{Dataset, Schema};
use crate::error::{Error, Result};
use crate::ledger::{Access, Head, Purpose, Receipt};
use crate::noise::{self, Key, Stream, Uniform};
use crate::records::PrivateRecords;
use crate::run::{Measurements, Trainer, Work, ledger_entry, recipe_digest};
use crate::sampler::{Charges, Sampler};
use crate::train::{CLASS_SHARES, STEPS, counted};
use muffle_accounting::Event;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Steps of the generator that touch no record.
pub const GENERATOR: Purpose = Purpose::new("generator");

/// The shares of the classes in a saved state.
const SHARES: &str = "shares";

/// From which on random numbers of the generator are counted, behind those of all steps of the critic.
const GENERATED: u64 = 1 << 40;
/// And those of measurements.
const MEASURED: u64 = 1 << 41;

/// Images on a side of a picture of samples.
const ON_A_SIDE: usize = 8;

/// Folder of the pictures of samples.
const PICTURES: &str = "samples";

/// A generator and its critic in training.
pub struct AdversarialTrainer {
    plan: Arc<AdversarialPlan>,
    dataset: Arc<Dataset>,
    key: Key,
    records: PrivateRecords,
    sampler: Box<dyn Sampler>,
    charges: Charges,
    duel: Duel,
    /// Shares of the classes, once they are known.
    shares: Option<Vec<f32>>,
    step: u64,
    work: Work,
    folder: Option<PathBuf>,
    closed: bool,
}

impl AdversarialTrainer {
    /// Before anything is touched.
    pub fn new(plan: &AdversarialPlan, dataset: &Dataset, key: Key) -> Result<AdversarialTrainer> {
        let (plan, dataset) = (Arc::new(plan.clone()), Arc::new(plan.recipe.divided(dataset)?));
        let records = match positions(&plan.recipe, &dataset) {
            Some(positions) => PrivateRecords::some(dataset.clone(), positions),
            None => PrivateRecords::new(dataset.clone()),
        };
        Ok(AdversarialTrainer {
            sampler: plan.critic.sampler(&key, records.count()),
            charges: Charges::new(),
            duel: Duel::new(plan.clone(), &key)?,
            shares: plan.known_shares(),
            step: 0,
            work: Work::default(),
            folder: None,
            closed: false,
            records,
            plan,
            dataset,
            key,
        })
    }

    fn seed(&self, number: u64) -> u64 {
        Uniform::new(&self.key, Stream::new(noise::Purpose::Data, number)).bits()
    }

    /// The count of the classes and its noise multiplier, where it is still to come.
    fn uncounted(&self) -> Option<(Access, f64)> {
        self.plan.critic.class_count().filter(|_| self.shares.is_none())
    }

    /// Counts the records of each class, with noise. A class that the noise could have made alone is taken to have no records.
    fn count(&mut self, receipt: Receipt) {
        let Some((_, noise)) = self.uncounted() else { return };
        let (view, receipt) = self.records.all(receipt);
        let mechanism = self.plan.critic.mechanism(&self.key);
        let (counts, _) = mechanism.answer(counted(&view, self.plan.outputs()), noise, receipt);
        // Laplace noise exceeds ten times its scale once in 44,000 times.
        let certain = |count: f64| if count > 10.0 * noise { count } else { 0.0 };
        let whole: f64 = counts.iter().map(|count| certain(*count)).sum();
        let share = |count: &f64| {
            if whole > 0.0 { (certain(*count) / whole) as f32 } else { 1.0 / counts.len() as f32 }
        };
        self.shares = Some(counts.iter().map(share).collect());
    }

    fn advance(&mut self, receipt: Receipt) -> Result<()> {
        let (step, plan) = (self.step, self.plan.clone());
        let seed = self.seed(step);
        let shares = self.shares.as_deref().expect("the count comes before the first step");
        let (view, receipt) = self.records.draw(&mut *self.sampler, receipt);
        // The number that was drawn is private; the expected one is not.
        self.work.expected += plan.critic.recipe.training.batch_size;
        self.work.excluded += self.duel.criticise(&view, receipt, step, shares, seed)? as u64;
        self.charges.charge(&*self.sampler, step, self.duel.event(step));
        self.step += 1;
        let every = plan.recipe.generator.critic_steps;
        if self.step.is_multiple_of(every) && !plan.recipe.generator.objective.fixed() {
            let seed =
                Uniform::new(&self.key, Stream::new(noise::Purpose::Data, GENERATED + self.step / every))
                    .bits();
            self.duel.generate(shares, seed)?;
        }
        Ok(())
    }

    /// A step of the generator by what was released before.
    fn follow(&mut self) -> Result<()> {
        let seed = self.seed(GENERATED + self.step);
        let shares = self.shares.as_deref().expect("the count comes before the first step");
        self.duel.follow(shares, seed)?;
        self.work.expected += self.plan.recipe.generator.batch_size as u64;
        self.step += 1;
        Ok(())
    }

    fn asked(&self) -> Asked {
        let generator = &self.plan.recipe.generator;
        let shares = self.shares.clone().unwrap_or_else(|| vec![1.0; self.plan.outputs()]);
        Asked { latent: generator.latent, classes: self.plan.classes, class: generator.class, shares }
    }

    /// The generator as it is by now.
    pub fn generator(&self) -> Result<Generator> {
        let (network, threads) = (self.plan.generator.1.clone(), self.plan.run().threads);
        let parameters = self.duel.generator.result().to_vec();
        Generator::new(network, parameters, self.asked(), Schema::of(&self.dataset), threads)
    }

    /// A picture of what the generator makes by now, in the folder of the run.
    fn paint(&self, generator: &mut Generator, seed: u64) -> Result<()> {
        let (Some(folder), Some(picture)) = (&self.folder, grid(generator, ON_A_SIDE, seed)?) else {
            return Ok(());
        };
        let folder = folder.join(PICTURES);
        std::fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, error))?;
        let path = folder.join(format!("step-{:07}.png", self.step));
        atomic_file::write(&path, picture).map_err(|error| Error::file(&path, error))
    }
}

impl Trainer for AdversarialTrainer {
    fn settle_in(&mut self, folder: &Path) -> Result<()> {
        self.folder = Some(folder.to_path_buf());
        Ok(())
    }

    fn upcoming(&self, most: u64) -> Vec<Access> {
        if let Some((access, _)) = self.uncounted() {
            return vec![access];
        }
        if self.step >= self.plan.critic.steps {
            let end = (self.step + most).min(self.plan.critic.steps + self.plan.recipe.generator.steps);
            let free = |number| {
                let release = Event::compose([]);
                Access { purpose: GENERATOR, number, release, charge: None, keep: false }
            };
            return (self.step..end).map(free).collect();
        }
        let end = (self.step + most).min(self.plan.critic.steps);
        let mut charges = self.charges.clone();
        let access = |number: u64| {
            let release = self.duel.event(number);
            let charge = charges.charge(&*self.sampler, number, release.clone());
            Access { purpose: STEPS, number, release, charge, keep: false }
        };
        let mut accesses: Vec<Access> = (self.step..end).map(access).collect();
        // What one release decides for all that follows is not to be lost.
        let keep = self.plan.recipe.generator.objective.fixed();
        accesses.iter_mut().for_each(|access| access.keep = keep);
        accesses
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        match receipt.purpose() {
            CLASS_SHARES => {
                self.count(receipt);
                Ok(())
            }
            GENERATOR => self.follow(),
            _ => self.advance(receipt),
        }
    }

    fn close(&mut self, _receipt: Option<Receipt>) -> Result<()> {
        self.closed = true;
        Ok(())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn cost(&self, steps: u64) -> Event {
        let mut total = Event::compose(self.uncounted().map(|(access, _)| access.release));
        let end = (self.step + steps).min(self.plan.critic.steps);
        if self.step < end {
            total.append(self.plan.critic.cost_of(self.step..end, &*self.sampler));
        }
        total
    }

    fn work(&self) -> Work {
        self.work
    }

    /// How much samples differ and, at the end, what a classifier learns from them.
    fn measure(&mut self) -> Result<Measurements> {
        if self.duel.diverged() {
            return Ok(Measurements::default());
        }
        let (mut generator, seed) = (self.generator()?, self.seed(MEASURED + self.step));
        self.paint(&mut generator, seed)?;
        let mut measured = Measurements::default();
        if let Some(diversity) = diversity(&mut generator, &self.dataset.test(), seed)? {
            measured = measured.with("diversity", diversity).with("collapsed", collapsed(diversity));
        }
        let (asked, names) = (self.asked(), self.dataset.classes());
        let empty = asked.shares.iter().enumerate().filter(|(_, share)| **share <= 0.0);
        let empty: Vec<&str> = empty.filter_map(|(class, _)| Some(names.get(class)?.as_str())).collect();
        if !empty.is_empty() {
            measured = measured.with("classes_without_records", empty);
        }
        let (Some(learner), Some(network)) = (&self.plan.recipe.classifier, &self.plan.classifier) else {
            return Ok(measured);
        };
        if !self.closed {
            return Ok(measured);
        }
        let count = self.plan.recipe.generator.measured;
        let count = count.unwrap_or(self.plan.run().records.unwrap_or(10_000) as usize);
        let synthetic = generator.in_place_of(&self.dataset, count, seed)?;
        let (test, _) = classify(learner, network, &synthetic, self.plan.run().threads, seed)?;
        Ok(measured.with("synthetic_accuracy", test.accuracy).with("test", test))
    }

    fn diverged(&self) -> bool {
        self.duel.diverged()
    }

    fn state(&self) -> State {
        let mut state = self.duel.state();
        if let Some(shares) = &self.shares {
            state.insert(SHARES.to_string(), shares.clone());
        }
        state
    }

    fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        self.duel.restore(state, step)?;
        self.shares = state.get(SHARES).cloned().or(self.plan.known_shares());
        self.step = step;
        Ok(())
    }

    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>> {
        let schema = Schema::of(&self.dataset);
        let bundle = Bundle::new(schema, None, self.plan.without_seed(), recipe_digest(folder)?);
        let path = folder.join(GENERATOR_FILE);
        let parameters = self.duel.generator.result();
        Generator::save(&path, &self.plan.generator, parameters, &self.asked(), &bundle, head)?;
        let critic = &self.plan.critic;
        muffle_nn::weights::save_with(
            &folder.join(CRITIC_FILE),
            &critic.network,
            Some(&critic.description),
            &self.duel.parameters,
            &[ledger_entry(head)],
        )?;
        Ok(vec![GENERATOR_FILE.to_string(), CRITIC_FILE.to_string()])
    }
}
