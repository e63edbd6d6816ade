//! Layers trained one after the other by descent on noisy polynomials, and a head, as two papers print it. Nothing is proved of it.

mod code;
mod head;
mod machine;

use super::choices::{Stack, StackLayer};
use super::course::Course;
use super::frozen::Frozen;
use super::plan::Plan;
use super::published::Published;
use super::purposes::{EXTREMES, HEAD, PRETRAINING};
use crate::State;
use crate::data::Dataset;
use crate::error::Result;
use crate::ledger::{Access, Head as LedgerHead, Receipt};
use crate::mechanism::Mechanism;
use crate::noise::Key;
use crate::records::PrivateRecords;
use crate::run::{Measurements, Trainer, Work};
use crate::sampler::Poisson;
use code::Code;
use head::Head;
use machine::Machine;
use muffle_accounting::Event;
use muffle_nn::{ModelDescription, Shape};
use std::path::Path;
use std::sync::Arc;

/// What a paper's noise is measured by.
#[derive(Clone, Copy)]
struct Scale {
    /// Epsilon of one layer, or of the head.
    epsilon: f64,
    /// |L|.
    batch: f64,
    /// |D|.
    records: f64,
}

/// A layer in training.
enum Layer {
    Code(Code),
    Machine(Machine),
}

impl Layer {
    fn new(choice: StackLayer, input: Shape, number: usize) -> Result<Layer> {
        Ok(match choice {
            StackLayer::Code(hidden) => Layer::Code(Code::new(input.len(), hidden, number)),
            StackLayer::Filters(filters) => Layer::Machine(Machine::new(input, filters, number)?),
        })
    }

    fn parameters(&mut self) -> &mut Vec<f32> {
        match self {
            Layer::Code(code) => &mut code.parameters,
            Layer::Machine(machine) => &mut machine.parameters,
        }
    }

    /// Along which the noisy loss of these records falls, for a mean over records.
    fn direction(&self, visible: &[f32], mechanism: &Mechanism, scale: Scale) -> Vec<f64> {
        match self {
            Layer::Code(code) => code.direction(visible, mechanism, scale),
            Layer::Machine(machine) => machine.direction(visible, mechanism, scale),
        }
    }

    /// What the layer is scaled by once it is done: extremes of what it makes of all records.
    fn extremes(&self, visible: &[f32]) -> Vec<f64> {
        match self {
            Layer::Code(code) => code.extremes(visible),
            Layer::Machine(machine) => vec![machine.largest(visible)],
        }
    }

    fn freeze(&self, extremes: &[f32], below: &mut Frozen) -> Result<()> {
        match self {
            Layer::Code(code) => code.freeze(extremes, below),
            Layer::Machine(machine) => machine.freeze(extremes[0], below),
        }
    }
}

/// A stack in training.
pub struct StackTrainer {
    plan: Plan,
    stack: Stack,
    key: Key,
    dataset: Arc<Dataset>,
    course: Course,
    below: Frozen,
    layer: Option<Layer>,
    /// Parameters and extremes of layers that are done.
    finished: State,
    head: Option<Head>,
}

impl StackTrainer {
    /// Before anything is touched.
    ///
    /// # Panics
    /// If the plan has no stack.
    pub fn new(plan: &Plan, dataset: &Dataset, key: Key) -> Result<StackTrainer> {
        let stack = plan.learned.stack.clone().expect("a plan with a stack");
        let mut trainer = StackTrainer {
            below: Frozen::new(dataset.input(), stack.descent.range),
            course: Course::new(plan.accesses()),
            plan: plan.clone(),
            key,
            dataset: Arc::new(dataset.clone()),
            layer: None,
            finished: State::new(),
            head: None,
            stack,
        };
        trainer.begin()?;
        Ok(trainer)
    }

    /// Begins the next layer, or the head behind the last.
    fn begin(&mut self) -> Result<()> {
        let number = self.number();
        let next = self.stack.layers.get(number);
        self.layer = next.map(|choice| Layer::new(*choice, self.below.output(), number)).transpose()?;
        if self.layer.is_none() {
            self.head = Some(Head::new(&self.stack, self.below.output(), self.plan.classes, self.threads())?);
        }
        Ok(())
    }

    /// Layers that are done: each has parameters and extremes.
    fn number(&self) -> usize {
        self.finished.len() / 2
    }

    fn threads(&self) -> Option<usize> {
        self.plan.recipe.run.threads
    }

    fn scale(&self) -> Scale {
        Scale {
            epsilon: self.plan.claimed.unwrap_or(f64::INFINITY) / (self.stack.layers.len() + 1) as f64,
            batch: self.stack.descent.batch,
            records: self.plan.recipe.run.records.unwrap_or(1) as f64,
        }
    }

    /// A step of the layer in training.
    fn descend(&mut self, receipt: Receipt) -> Result<()> {
        let (mechanism, scale) = (Mechanism::new(self.key.clone(), 1.0), self.scale());
        let records = PrivateRecords::new(self.dataset.clone());
        let mut sampler = Poisson::new(&self.key, records.count(), self.plan.sample_rate().unwrap_or(1.0));
        let (view, receipt) = records.draw(&mut sampler, receipt);
        let visible = self.below.visible(&view, self.plan.recipe.run.threads)?;
        let layer = self.layer.as_mut().expect("a layer is in training");
        let direction = mechanism.publish_numbers(layer.direction(&visible, &mechanism, scale), 0.0, receipt);
        let rate = self.stack.descent.rate;
        let moved = layer.parameters().iter_mut().zip(direction);
        moved.for_each(|(value, slope)| *value += (rate * slope) as f32);
        Ok(())
    }

    /// Reads the extremes of all records, and freezes the layer by them.
    fn measure_extremes(&mut self, receipt: Receipt) -> Result<()> {
        let mechanism = Mechanism::new(self.key.clone(), 1.0);
        let records = PrivateRecords::new(self.dataset.clone());
        let (view, receipt) = records.all(receipt);
        let layer = self.layer.as_ref().expect("a layer is in training");
        let extremes = layer.extremes(&self.below.visible(&view, self.threads())?);
        let extremes = mechanism.publish_numbers(extremes, 0.0, receipt);
        self.freeze(extremes.into_iter().map(|value| value as f32).collect())
    }

    fn freeze(&mut self, extremes: Vec<f32>) -> Result<()> {
        let (number, mut layer) = (self.number(), self.layer.take().expect("a layer is in training"));
        layer.freeze(&extremes, &mut self.below)?;
        self.finished.insert(format!("layer.{number}"), layer.parameters().clone());
        self.finished.insert(format!("extremes.{number}"), extremes);
        self.begin()
    }

    fn improve_head(&mut self, receipt: Receipt) -> Result<()> {
        let scale = self.scale();
        let mechanism = Mechanism::new(self.key.clone(), scale.batch as f32);
        let records = PrivateRecords::new(self.dataset.clone());
        let mut sampler = Poisson::new(&self.key, records.count(), self.plan.sample_rate().unwrap_or(1.0));
        let (view, receipt) = records.draw(&mut sampler, receipt);
        let visible = self.below.visible(&view, self.plan.recipe.run.threads)?;
        self.head.as_mut().expect("all layers are done").step(visible, &view, &mechanism, scale, receipt)
    }

    /// The network with its parameters, once there is a head.
    fn model(&self) -> Result<Option<Published>> {
        let Some(head) = &self.head else { return Ok(None) };
        let layers = self.below.layers().iter().chain(head.layers()).cloned().collect();
        let description = ModelDescription { input: self.dataset.input(), layers };
        let parameters = [self.below.parameters(), &head.parameters].concat();
        Ok(Some(Published { network: Arc::new(description.network()?), description, parameters }))
    }
}

impl Trainer for StackTrainer {
    fn upcoming(&self, most: u64) -> Vec<Access> {
        self.course.upcoming(most)
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        match receipt.purpose() {
            PRETRAINING => self.descend(receipt)?,
            EXTREMES => self.measure_extremes(receipt)?,
            HEAD => self.improve_head(receipt)?,
            other => unreachable!("{} is no part of a stack", other.name()),
        }
        self.course.done += 1;
        Ok(())
    }

    fn step(&self) -> u64 {
        self.course.done as u64
    }

    fn cost(&self, steps: u64) -> Event {
        self.course.cost(steps)
    }

    fn work(&self) -> Work {
        Work { expected: self.step() * self.stack.descent.batch as u64, excluded: 0 }
    }

    fn measure(&mut self) -> Result<Measurements> {
        match self.model()? {
            Some(model) => model.measure(&self.dataset, self.threads()),
            None => Ok(Measurements::default()),
        }
    }

    fn state(&self) -> State {
        let mut state = self.finished.clone();
        if let Some(Layer::Code(Code { parameters, .. }) | Layer::Machine(Machine { parameters, .. })) =
            &self.layer
        {
            state.insert(format!("layer.{}", self.number()), parameters.clone());
        }
        if let Some(head) = &self.head {
            state.extend(head.state());
        }
        state
    }

    fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        while let Some(parameters) = state.get(&format!("layer.{}", self.number())) {
            let Some(layer) = &mut self.layer else { break };
            layer.parameters().clone_from(parameters);
            match state.get(&format!("extremes.{}", self.number())) {
                Some(extremes) => self.freeze(extremes.clone())?,
                None => break,
            }
        }
        if let Some(head) = &mut self.head {
            head.restore(state)?;
        }
        self.course.done = step as usize;
        Ok(())
    }

    fn leave_files(&self, folder: &Path, head: &LedgerHead) -> Result<Vec<String>> {
        let model = self.model()?.expect("the head is trained");
        model.leave(folder, &self.plan, &self.dataset, None, head)
    }
}
