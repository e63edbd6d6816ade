//! The engine: a logical batch, split over threads and micro-batches, becomes one gradient.

mod exact_sums;
mod pool;

pub use exact_sums::Settle;
pub use pool::on_single_thread;

use crate::buffer::{Buffer, buffer};
use crate::error::{Error, Result};
use crate::examples::Examples;
use crate::groups::{Groups, Ordered, Share, share};
use crate::hooks::Hooks;
use crate::kernel::elementwise::add;
use crate::layer::Purpose;
use crate::loss::Loss;
use crate::network::{Network, Operation};
use crate::plan::Plan;
use crate::quanta::Quanta;
use crate::rounding::GROUP;
use crate::totals::{CHUNK, Chunk, Totals};
use crate::worker::{Excluded, Task, Visit, Weigh, Worker};
use crate::workspace::Step;
use rayon::prelude::*;
use std::sync::Arc;

/// How an engine runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the engine is for: memory is laid out for it.
    pub purpose: Purpose,
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
    /// Most examples a thread handles at once, but never less than one record with all its views; chosen by memory if
    /// absent.
    pub micro_batch: Option<usize>,
    /// Whether hooks will be called: layers then work on copies of their own.
    pub hooked: bool,
    /// Whether gradients will be carried through the first layers to the inputs.
    pub input_gradients: bool,
}

impl Options {
    /// All cores, micro-batches chosen by memory.
    pub fn new(purpose: Purpose) -> Options {
        Options { purpose, threads: None, micro_batch: None, hooked: false, input_gradients: false }
    }
}

/// What a step found beside the gradient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Sum of the losses of all records but those left out; the loss of a record is the mean over its views.
    pub loss: f64,
    /// Records left out because they are not finite; they contribute nothing to the gradient.
    pub excluded: Vec<Excluded>,
}

/// Threads and their memory for one network.
///
/// Where examples come in several [views](Examples::views) of one record, all steps work with records instead: a
/// record's gradient is the mean over its views, and it has one norm, one factor and one visit. A view that is not finite
/// leaves its whole record out.
///
/// Same seed and same number of threads give the same bits: examples are dealt to threads in fixed shares, and shares
/// are summed in a fixed order.
pub struct Engine {
    network: Arc<Network>,
    options: Options,
    plan: Plan,
    pool: Arc<rayon::ThreadPool>,
    workers: Vec<Worker>,
    prepared: Buffer,
    /// Examples a thread handles at once, if each is a record of its own.
    capacity: usize,
    /// Whether a layer must see the whole batch at once.
    mixes: bool,
    /// Whether the threads' sums have yet to be added up.
    apart: bool,
    /// The grid on which groups of records are added up; `None` where sums are plain.
    quanta: Option<Quanta>,
    /// What the groups of a step come to, if there are several.
    totals: Vec<Chunk>,
    /// Whether there are several in the step at hand.
    has_totals: bool,
}

impl Engine {
    /// Lays out memory and starts the threads.
    pub fn new(network: Arc<Network>, options: Options) -> Result<Engine> {
        if options.purpose == Purpose::PerExample {
            refuse_mixing(&network)?;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = match options.threads {
            Some(0) => {
                return Err(Error::Options("threads: 0 threads do no work; use 1 or more".to_string()));
            }
            Some(threads) if threads > cores => {
                return Err(Error::Options(format!(
                    "threads: {threads} asked for, this machine has {cores} cores"
                )));
            }
            Some(threads) => threads,
            None => cores,
        };
        // In training, a layer that looks at the whole batch must see it whole: on one thread, in one micro-batch.
        let mixes = options.purpose == Purpose::Plain && network.mixing_layer().is_some();
        let threads = if mixes { 1 } else { threads };
        if options.micro_batch == Some(0) {
            return Err(Error::Options("micro-batch: 0 examples; use 1 or more".to_string()));
        }
        let plan = Plan::new(&network, options.input_gradients, options.hooked);
        let capacity = options.micro_batch.unwrap_or_else(|| micro_batch(&network, &plan, options.purpose));
        let pool = pool::pool(threads)?;
        let workers = (0..threads).map(|_| Worker::new(&network, &plan, options.purpose, capacity)).collect();
        let prepared = buffer(plan.prepared_len);
        Ok(Engine {
            network,
            options,
            plan,
            pool,
            workers,
            prepared,
            capacity,
            mixes,
            apart: false,
            quanta: None,
            totals: Vec::new(),
            has_totals: false,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The threads, for work between steps.
    pub fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// Adds up the gradients of all examples; the sum is then in [`Engine::gradient`].
    pub fn sum(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
    ) -> Result<Outcome> {
        let outcome = self.step(parameters, examples, loss, seed, None, Task::Plain)?;
        self.reduce();
        Ok(outcome)
    }

    /// Adds up the gradients of all examples, each tensor of each example times the factor that `weigh` gives it.
    ///
    /// `weigh` is called once for every example with the squared norms of its gradient, tensor by tensor in the order
    /// of [`Network::parameters`], and writes one factor for each tensor.
    ///
    /// The layers' short cuts to norms are for single examples, so with several views every record's gradient is written
    /// out. The first such step lays out the memory anew.
    pub fn weighted_sum(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        weigh: &Weigh,
    ) -> Result<Outcome> {
        let outcome = self.weighted_sum_apart(parameters, examples, loss, seed, weigh)?;
        self.reduce();
        Ok(outcome)
    }

    /// The same as [`Engine::weighted_sum`], for a caller that goes on with [`Engine::for_each_chunk`]: the threads' sums
    /// are added up there, in one pass over memory, and [`Engine::gradient`] is not to be had before.
    pub fn weighted_sum_apart(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        weigh: &Weigh,
    ) -> Result<Outcome> {
        self.step(parameters, examples, loss, seed, None, Task::Weighted(weigh))
    }

    /// Adds up the gradients of all records, value `i` of each moved into ±`limits[i]`, for a caller that goes on with
    /// [`Engine::for_each_chunk`]. A record whose gradient is not finite is left out.
    ///
    /// # Panics
    /// If there is not one limit for every parameter.
    pub fn limited_sum_apart(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        limits: &[f32],
    ) -> Result<Outcome> {
        assert_eq!(limits.len(), self.network.parameter_len(), "one limit for every parameter");
        self.step(parameters, examples, loss, seed, None, Task::Limited(limits))
    }

    /// Hands out the gradient of every example with the thread's sum to add to.
    ///
    /// `visit(record, gradient, sum)` may change both; the sums of the threads are then added up.
    pub fn visit(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        visit: &Visit,
    ) -> Result<Outcome> {
        let outcome = self.step(parameters, examples, loss, seed, None, Task::Visit(visit))?;
        self.reduce();
        Ok(outcome)
    }

    /// The same as [`Engine::weighted_sum`], with hooks around every layer, for examples with one view each.
    pub fn hooked_sum(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        hooks: &dyn Hooks,
        weigh: &Weigh,
    ) -> Result<Outcome> {
        if !self.options.hooked {
            return Err(Error::Options("hooks: this engine was built without them".to_string()));
        }
        if examples.views() > 1 {
            // What a hook bounds in every view it would not bound in their mean.
            let views = examples.views();
            return Err(Error::Options(format!(
                "hooks: they see single examples, not records of {views} views; use one view of each"
            )));
        }
        let outcome = self.step(parameters, examples, loss, seed, Some(hooks), Task::Weighted(weigh))?;
        self.reduce();
        Ok(outcome)
    }

    /// The network's outputs for all examples, one after the other.
    pub fn outputs(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        outputs: &mut [f32],
    ) -> Result<()> {
        let width = self.network.output().len();
        assert_eq!(outputs.len(), examples.len() * width, "room for the outputs");
        self.check_purpose(Purpose::Evaluate)?;
        self.prepare(parameters);
        let Engine { network, plan, pool, workers, prepared, .. } = self;
        let step = Step::new(network, plan, parameters, prepared, examples, Loss::SoftmaxCrossEntropy, 0);
        run_shares(pool, workers, &step, Task::Evaluate, outputs, width);
        Ok(())
    }

    /// The gradient of the loss of every example at its input, one after the other; zeros for an example that is not finite.
    ///
    /// The engine has to be built to train plainly, with input gradients. Layers behave as in training, so that dropout drops and
    /// a layer that mixes examples is refused.
    pub fn input_gradients(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        gradients: &mut [f32],
    ) -> Result<()> {
        let width = self.network.input().len();
        assert_eq!(gradients.len(), examples.len() * width, "room for the gradients");
        self.check_purpose(Purpose::Plain)?;
        if !self.options.input_gradients {
            return Err(Error::Options("input gradients: this engine was built without them".to_string()));
        }
        refuse_mixing(&self.network)?;
        for index in 0..examples.len() {
            loss.check(self.network.output(), examples.target(index))?;
        }
        self.prepare(parameters);
        let Engine { network, plan, pool, workers, prepared, .. } = self;
        let step = Step::new(network, plan, parameters, prepared, examples, loss, seed);
        run_shares(pool, workers, &step, Task::InputGradients, gradients, width);
        Ok(())
    }

    /// The sum of the last step.
    ///
    /// # Panics
    /// If the last step left the threads' sums apart.
    pub fn gradient(&self) -> &[f32] {
        assert!(!self.apart, "the threads' sums have not been added up yet");
        &self.workers[0].gradient
    }

    /// Works on the sum in place, in parallel: `work(first, chunk)` for every chunk that starts at coordinate `first`.
    pub fn for_each_chunk(&mut self, work: &(dyn Fn(usize, &mut [f32]) + Sync)) {
        let (apart, (first, others)) =
            (self.apart, self.workers.split_first_mut().expect("at least one thread"));
        self.pool.install(|| {
            first.gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
                if apart {
                    // In the order of the threads, so that the same number of threads gives the same bits.
                    for other in others.iter() {
                        add(chunk, &other.gradient[index * CHUNK..][..chunk.len()]);
                    }
                }
                work(index * CHUNK, chunk);
            });
        });
        self.apart = false;
    }

    fn check_purpose(&self, wanted: Purpose) -> Result<()> {
        if self.options.purpose == wanted {
            return Ok(());
        }
        Err(Error::Options(format!(
            "purpose: this engine was built to {:?}, not to {wanted:?}",
            self.options.purpose
        )))
    }

    fn prepare(&mut self, parameters: &[f32]) {
        assert_eq!(parameters.len(), self.network.parameter_len(), "parameters of this network");
        let mut rest = &mut self.prepared[..];
        let mut taken = 0;
        let mut jobs = Vec::new();
        for (node, plan) in self.network.nodes().iter().zip(&self.plan.nodes) {
            let (Some(plan), Operation::Layer(layer)) = (plan, &node.operation) else {
                continue;
            };
            if plan.prepared.is_empty() {
                continue;
            }
            let (own, behind) = rest[plan.prepared.start - taken..].split_at_mut(plan.prepared.len());
            taken = plan.prepared.end;
            rest = behind;
            jobs.push((layer, &parameters[node.parameters.clone()], own));
        }
        self.pool.install(|| {
            jobs.into_par_iter()
                .for_each(|(layer, parameters, prepared)| layer.prepare(parameters, prepared));
        });
    }

    fn step(
        &mut self,
        parameters: &[f32],
        examples: &dyn Examples,
        loss: Loss,
        seed: u64,
        hooks: Option<&dyn Hooks>,
        task: Task,
    ) -> Result<Outcome> {
        self.check_purpose(match task {
            Task::Evaluate => Purpose::Evaluate,
            Task::Plain | Task::Limited(_) | Task::Visit(_) | Task::InputGradients => Purpose::Plain,
            Task::Weighted(_) => Purpose::PerExample,
        })?;
        for index in 0..examples.len() {
            loss.check(self.network.output(), examples.target(index))?;
        }
        if self.mixes && matches!(task, Task::Limited(_) | Task::Visit(_)) {
            refuse_mixing(&self.network)?;
        }
        let views = examples.views();
        assert!(
            views > 0 && examples.len().is_multiple_of(views),
            "{} examples do not divide into records of {views} views",
            examples.len()
        );
        self.lay_out(task, examples);
        self.prepare(parameters);
        let records = examples.len() / views;
        let mut groups = match self.quanta {
            Some(_) => {
                // Written out, every record has a vector of its own.
                let together = task.purpose(views) == Purpose::PerExample;
                let most = if together { self.network.group() } else { GROUP };
                Groups::by_identity(examples, records, most)
            }
            None => Groups::one(records),
        };
        let shares = groups.deal(self.workers.len());
        let examples = &Ordered { examples, groups: &groups };
        let Engine { network, plan, pool, workers, prepared, quanta, totals, .. } = self;
        self.has_totals = groups.several();
        let grid = quanta.as_ref().filter(|_| self.has_totals);
        let totals = grid.map(|quanta| Totals::new(quanta, network.parameter_len(), totals));
        let step = Step {
            views,
            hooks,
            totals,
            ..Step::new(network, plan, parameters, prepared, examples, loss, seed)
        };
        pool.install(|| {
            workers
                .par_iter_mut()
                .zip(&shares)
                .for_each(|(worker, share)| worker.run(&step, task, share, None));
        });
        let mut outcome = Outcome::default();
        for worker in &mut self.workers {
            outcome.loss += worker.loss;
            outcome.excluded.append(&mut worker.excluded);
        }
        for excluded in &mut outcome.excluded {
            excluded.example = groups.position(excluded.example);
        }
        self.apart = true;
        Ok(outcome)
    }

    /// Makes the threads' memory fit the step: whole records in a micro-batch, and all of them if a layer mixes
    /// examples. Nothing changes from one step to the next of the same kind.
    fn lay_out(&mut self, task: Task, examples: &dyn Examples) {
        let (views, purpose) = (examples.views(), task.purpose(examples.views()));
        let mut capacity = self.capacity;
        if views > 1 {
            let usual = || micro_batch(&self.network, &self.plan, purpose);
            let most = self.options.micro_batch.unwrap_or_else(usual);
            capacity = (most / views).max(1) * views;
        }
        for worker in &mut self.workers {
            let whole = if self.mixes { worker.capacity().max(examples.len()) } else { 0 };
            worker.reserve(&self.network, &self.plan, purpose, capacity.max(whole));
        }
    }

    /// Adds the threads' sums to the first, unless they are to be rounded to a grid before.
    fn reduce(&mut self) {
        if self.quanta.is_none() {
            self.for_each_chunk(&|_, _| {});
        }
    }
}

/// Refuses networks whose examples have no gradients of their own.
fn refuse_mixing(network: &Network) -> Result<()> {
    match network.mixing_layer() {
        Some(node) => Err(Error::MixesExamples { layer: node.name.clone(), kind: node.kind() }),
        None => Ok(()),
    }
}

/// Runs every thread's share of a step, each of which writes `width` values for each of its examples.
fn run_shares(
    pool: &rayon::ThreadPool,
    workers: &mut [Worker],
    step: &Step,
    task: Task,
    values: &mut [f32],
    width: usize,
) {
    let (count, threads) = (step.examples.len(), workers.len());
    let mut shares = Vec::new();
    let mut rest = values;
    for (index, worker) in workers.iter_mut().enumerate() {
        let range = share(count, threads, index);
        let (own, behind) = rest.split_at_mut(range.len() * width);
        shares.push((worker, range, own));
        rest = behind;
    }
    pool.install(|| {
        let run = |(worker, range, own): (&mut Worker, _, _)| {
            worker.run(step, task, &Share::whole(range), Some(own))
        };
        shares.into_par_iter().for_each(run);
    });
}

/// Examples a thread handles at once: as many as stay close in memory, but enough that reading the weights again for
/// every micro-batch does not show.
fn micro_batch(network: &Network, plan: &Plan, purpose: Purpose) -> usize {
    const SMALL: usize = 2 << 20;
    const VALUE: usize = size_of::<f32>();
    let budget = SMALL + 3 * VALUE * network.parameter_len();
    (budget / (VALUE * plan.example_len(network, purpose)).max(1)).clamp(1, 128)
}
