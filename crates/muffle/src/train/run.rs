//! A run: steps that are paid for before they are taken, with everything needed to continue after any interruption.

use super::canaries::{Canaries, CanaryMeasurement};
use super::certificate::{Certificate, Status};
use super::checkpoint;
use super::components;
use super::error::Result;
use super::evaluation::{Evaluation, Evaluator};
use super::ledger::{Access, Entry, Ledger};
use super::metrics::{self, Metric};
use super::plan::Plan;
use super::run_folder::RunFolder;
use super::self_check::self_check;
use super::session::Session;
use crate::data::Dataset;
use crate::noise::Key;
use crate::sampler::Charges;
use muffle_accounting::budget::{Budget, BudgetError};
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, AccountingError, Event};
use muffle_nn::initialise::initial_parameters;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Steps are paid for in blocks of about this long, so that waiting for the disk does not show.
const BLOCK: Duration = Duration::from_millis(500);
/// A checkpoint is followed by at least this many times its own duration without one.
const REST: u32 = 100;
/// Time between prices on the way: pricing takes milliseconds.
const PRICE: Duration = Duration::from_secs(5);

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Spent as of the last price; infinite without privacy.
    pub epsilon: f64,
    /// The last test, if there was one.
    pub test: Option<Evaluation>,
    /// Records a second since the start of this process, without the time of tests.
    pub examples_per_s: f64,
    /// Whether the test is new.
    pub evaluated: bool,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Accuracy of the result on the test split.
    pub test: Evaluation,
    /// What was spent.
    pub certificate: Certificate,
    /// Steps taken, in all processes.
    pub steps: u64,
    /// Steps of the recipe that the budget did not allow: after an interruption, or because a filter ended the run.
    pub steps_lost: u64,
    /// Records a second in this process: everything between two steps is included, tests of the model are not.
    pub examples_per_s: f64,
    /// Seconds of this process, tests included.
    pub seconds: f64,
    /// Contributions left out because they were not finite. **Not private**: for the holder of the records.
    pub excluded: usize,
}

/// Checks the network, makes the folder of a run and takes its steps: see [`resume`].
pub fn start(
    path: &Path,
    plan: &Plan,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    self_check(&plan.network, &initial_parameters(&plan.network, 0))?;
    let folder = RunFolder::create(path, &plan.recipe)?;
    resume(&folder, plan, dataset, stop, observe)
}

/// Takes the steps of a plan that are not taken yet, and reports on the way.
///
/// `stop` ends it after the steps that are already paid for.
///
/// # Guarantee
/// Every access to the training records is in the ledger on disk before it happens. With a seed, steps that are taken
/// again after an interruption give the same release and are paid once; without one they are taken with new noise and
/// paid again, and the run ends sooner rather than exceed its epsilon.
pub fn resume(
    folder: &RunFolder,
    plan: &Plan,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    let key = match plan.recipe.seed {
        Some(seed) => Key::from_seed(seed),
        None => Key::from_entropy()?,
    };
    let canaries = plan.recipe.audit.map(|choice| Canaries::plant(dataset, choice)).transpose()?;
    let dataset = canaries.as_ref().map_or(dataset, Canaries::training);
    let mut ledger = Ledger::open(&folder.ledger())?;
    let prepared = components::prepare(folder, plan, dataset, &key, &mut ledger)?;
    let mut session = Session::new(plan, prepared.as_ref().unwrap_or(dataset), key)?;
    match checkpoint::load_newest(&folder.checkpoints())? {
        Some((step, state)) => session.restore(&state, step)?,
        None => prepare(folder, plan, &mut session, &mut ledger)?,
    }
    metrics::rewind(&folder.metrics(), session.step())?;
    Run::new(folder, plan, session, &mut ledger, canaries.as_ref())?.complete(stop, observe)
}

/// Lets the method learn what it needs of all records before the first step, if it needs anything.
///
/// # Guarantee
/// The release is in the ledger before the records are read. What was learned is on disk before the first step, with the
/// first parameters it belongs to, and is used again for nothing (R9).
fn prepare(folder: &RunFolder, plan: &Plan, session: &mut Session, ledger: &mut Ledger) -> Result<()> {
    let Some(preparation) = plan.method_preparation(session.method()) else { return Ok(()) };
    ledger.prepare(&preparation, plan.recipe.seed.is_some())?;
    let event = session.prepare()?;
    assert_eq!(event, Some(preparation.event), "the method released something else than was paid for");
    checkpoint::save(&folder.checkpoints(), session.step(), &session.state())
}

/// A run in one process.
struct Run<'a> {
    folder: &'a RunFolder,
    plan: &'a Plan,
    session: Session<'a>,
    ledger: &'a mut Ledger,
    canaries: Option<&'a Canaries>,
    charges: Charges,
    /// Ends a run whose noise follows what it released.
    filter: Option<Budget>,
    /// The first step of this process.
    first: u64,
    /// One past the last step that the budget allows.
    last: u64,
    begun: Instant,
    /// Time in tests of the model.
    tested: Duration,
    drawn: usize,
    excluded: usize,
    progress: Progress,
    priced: Instant,
}

impl<'a> Run<'a> {
    fn new(
        folder: &'a RunFolder,
        plan: &'a Plan,
        session: Session<'a>,
        ledger: &'a mut Ledger,
        canaries: Option<&'a Canaries>,
    ) -> Result<Run<'a>> {
        let charges = match ledger.last_step_charge() {
            Some(last) if plan.recipe.seed.is_some() => {
                Charges::resumed_at(session.sampler(), ledger.paid_steps(), last.clone())
            }
            _ => Charges::new(),
        };
        let mut filter = plan.filter()?;
        let last = match &mut filter {
            Some(filter) => {
                filter.recall(&ledger.total())?;
                plan.steps
            }
            None => affordable(plan, &session, ledger)?,
        };
        let now = Instant::now();
        let progress = Progress {
            step: session.step(),
            steps: last,
            epsilon: 0.0,
            test: None,
            examples_per_s: 0.0,
            evaluated: false,
        };
        Ok(Run {
            folder,
            plan,
            first: session.step(),
            session,
            ledger,
            canaries,
            charges,
            filter,
            last,
            begun: now,
            tested: Duration::ZERO,
            drawn: 0,
            excluded: 0,
            progress,
            priced: now,
        })
    }

    fn complete(mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Progress)) -> Result<Summary> {
        self.price()?;
        let between = Duration::from_secs_f64(self.plan.recipe.checkpoint_seconds);
        let mut block = 1;
        let mut checkpoint_due = Instant::now() + between;
        while self.session.step() < self.last && !stop.load(Ordering::Relaxed) {
            let begin = self.session.step();
            let wanted = (begin + block).min(self.last).min(self.next_evaluation());
            let clock = Instant::now();
            let end = self.pay(begin, wanted.min(self.session.noise_known_until()))?;
            if end == begin {
                break;
            }
            self.take(end)?;
            self.check()?;
            let step_time = clock.elapsed() / (end - begin) as u32;
            let paid_ahead = BLOCK.min(between).as_secs_f64();
            block = (paid_ahead / step_time.as_secs_f64().max(1e-9)).clamp(1.0, 1e6) as u64;
            self.progress.evaluated = end == self.next_evaluation_after(begin);
            if self.progress.evaluated {
                self.measure()?;
            } else if self.priced.elapsed() > PRICE {
                self.price()?;
            }
            self.progress.step = end;
            self.progress.examples_per_s = self.examples_per_s();
            observe(&self.progress);
            if Instant::now() >= checkpoint_due {
                let clock = Instant::now();
                self.save()?;
                let rest = if between.is_zero() { between } else { REST * clock.elapsed() };
                checkpoint_due = Instant::now() + between.max(rest);
            }
        }
        self.finish()
    }

    /// Writes the cost of steps to the disk, and returns one past the last that is paid for: a filter may allow fewer.
    fn pay(&mut self, begin: u64, end: u64) -> Result<u64> {
        // The same seed gives the same release: it is paid for already.
        let begin = if self.plan.recipe.seed.is_some() { begin.max(self.ledger.paid_steps()) } else { begin };
        if begin >= end {
            return Ok(end);
        }
        let (mut event, mut paid) = (Event::compose([]), begin);
        while paid < end {
            let release = self.session.event(paid);
            if let Some(charge) = self.charges.charge(self.session.sampler(), paid, release) {
                if !self.allows(&charge)? {
                    self.last = paid;
                    break;
                }
                event.append(charge);
            }
            paid += 1;
        }
        if paid > begin {
            self.ledger.charge(Entry { purpose: Access::Steps, from: begin, to: paid, event })?;
        }
        Ok(paid)
    }

    /// Asks the filter, if there is one; what it allows is spent. Where it refuses, the run ends.
    fn allows(&mut self, charge: &Event) -> Result<bool> {
        match self.filter.as_mut().map_or(Ok(()), |filter| filter.spend(charge)) {
            Ok(()) => Ok(true),
            Err(BudgetError::Exceeded { .. }) => Ok(false),
            Err(BudgetError::Accounting(error)) => Err(error.into()),
        }
    }

    /// Checks the model on validation records where that is due, which is paid for first.
    fn check(&mut self) -> Result<()> {
        let step = self.session.step();
        if step >= self.last {
            return Ok(());
        }
        let cost = self.session.check_event();
        let again = self.plan.recipe.seed.is_some() && self.ledger.has_validation_after(step);
        if let Some(event) = cost.clone().filter(|_| !again) {
            if !self.allows(&event)? {
                self.last = step;
                return Ok(());
            }
            self.ledger.charge(Entry { purpose: Access::Validation, from: step, to: step, event })?;
        }
        let event = self.session.check()?;
        assert_eq!(event, cost, "the check after step {step} cost something else than was paid");
        Ok(())
    }

    /// Takes steps that are paid for.
    fn take(&mut self, end: u64) -> Result<()> {
        while self.session.step() < end {
            let step = self.session.step();
            let paid = self.session.event(step);
            let report = self.session.advance()?;
            assert_eq!(report.event, paid, "step {step} released something else than was paid for");
            self.drawn += report.drawn;
            self.excluded += report.excluded;
        }
        Ok(())
    }

    /// The next step after which the model is tested.
    fn next_evaluation(&self) -> u64 {
        self.next_evaluation_after(self.session.step())
    }

    fn next_evaluation_after(&self, step: u64) -> u64 {
        let (count, last) = (self.plan.recipe.evaluations.min(self.last), self.last);
        (1..=count).map(|part| last * part / count).find(|place| *place > step).unwrap_or(last)
    }

    fn price(&mut self) -> Result<()> {
        let epsilon = match (&self.filter, self.plan.recipe.epsilon) {
            // The odometer holds at all times at once, the budget at the end.
            (Some(filter), Some(budget)) => filter.spent()?.epsilon.min(budget),
            _ => Pld.epsilon(&self.ledger.total(), self.plan.adjacency, self.plan.recipe.delta)?.epsilon,
        };
        (self.progress.epsilon, self.priced) = (epsilon, Instant::now());
        Ok(())
    }

    /// Tests the model and notes the result.
    fn measure(&mut self) -> Result<()> {
        self.price()?;
        let clock = Instant::now();
        let test = self.session.evaluate()?;
        self.tested += clock.elapsed();
        self.progress.test = Some(test);
        metrics::append(
            &self.folder.metrics(),
            &Metric {
                step: self.session.step(),
                epoch: self.session.step() as f64 * self.plan.sample_rate,
                epsilon: Some(self.progress.epsilon).filter(|epsilon| epsilon.is_finite()),
                test,
                seconds: self.begun.elapsed().as_secs_f64(),
                examples_per_s: self.examples_per_s(),
            },
        )
    }

    fn examples_per_s(&self) -> f64 {
        let training = self.begun.elapsed().saturating_sub(self.tested);
        self.drawn as f64 / training.as_secs_f64().max(1e-9)
    }

    fn save(&self) -> Result<()> {
        checkpoint::save(&self.folder.checkpoints(), self.session.step(), &self.session.state())
    }

    /// What the result gives away of the canaries, if there are any.
    fn audit(&self) -> Result<Option<CanaryMeasurement>> {
        let Some(canaries) = self.canaries else { return Ok(None) };
        let mut evaluator = Evaluator::new(self.plan.network.clone(), self.plan.recipe.threads)?;
        canaries.measure(&mut evaluator, self.session.result(), self.plan.recipe.delta).map(Some)
    }

    /// Saves what there is: the state, the certificate, and the model if no step is left.
    fn finish(mut self) -> Result<Summary> {
        let (seconds, examples_per_s) = (self.begun.elapsed().as_secs_f64(), self.examples_per_s());
        let steps = self.session.step();
        let finished = steps >= self.last;
        self.save()?;
        let status = if finished { Status::Finished } else { Status::Interrupted };
        let audit = if finished { self.audit()? } else { None };
        let certificate = Certificate::new(self.plan, self.ledger, steps, status, audit);
        if finished {
            let model = self.folder.model();
            let description = Some(&self.plan.description);
            muffle_nn::weights::save(&model, &self.plan.network, description, self.session.result())?;
        }
        self.folder.write("privacy.json", certificate.to_json())?;
        if finished && steps > self.first && !self.progress.evaluated {
            // A filter ends a run where no measurement was planned.
            self.measure()?;
            self.progress.evaluated = true;
        }
        let test = match self.progress.test.filter(|_| self.progress.evaluated) {
            Some(test) => test,
            None => self.session.evaluate()?,
        };
        Ok(Summary {
            test,
            certificate,
            steps,
            steps_lost: self.plan.steps - self.last,
            examples_per_s,
            seconds,
            excluded: self.excluded,
        })
    }
}

/// One past the last step that the limit allows, counting what was lost in interruptions.
fn affordable(plan: &Plan, session: &Session, ledger: &Ledger) -> Result<u64> {
    let (step, delta) = (session.step(), plan.recipe.delta);
    let proved = plan.recipe.private && plan.claimed.is_none();
    let limit = plan.recipe.epsilon.filter(|_| proved && plan.recipe.seed.is_none());
    let (Some(epsilon), false) = (limit, ledger.is_empty()) else {
        return Ok(plan.steps);
    };
    let after = |count: u64| {
        let mut total = ledger.total();
        let steps =
            plan.steps_cost(session.method(), session.sampler(), plan.noise_multiplier, step..step + count);
        total.append(steps);
        total
    };
    let target = Target { epsilon, delta, adjacency: plan.adjacency };
    let left = plan.steps - step;
    if left == 0 || Pld.epsilon(&after(left), plan.adjacency, delta)?.epsilon <= epsilon {
        return Ok(plan.steps);
    }
    match calibrate::steps(&Pld, &target, |count| after(count.min(left))) {
        Ok(found) => Ok(step + found.value.min(left)),
        Err(AccountingError::Unreachable { .. }) => Ok(step),
        Err(error) => Err(error.into()),
    }
}
