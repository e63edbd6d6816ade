//! A run: accesses that are paid for before they are made, with everything needed to continue after any interruption.

use super::affordable::{affordable, affords};
use super::binding::{Binding, check_rest, read_recipe};
use super::certificate::{CanaryMeasurement, Certificate, End, Status};
use super::checkpoint::{self, Checkpoint};
use super::folder::RunFolder;
use super::metrics::{self, Metric};
use super::purse::Purse;
use super::terms::Terms;
use super::trainer::{Measurements, Readiness, Trainer};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Event};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Steps are paid for in blocks of about this long, so that waiting for the disk does not show.
const BLOCK: Duration = Duration::from_millis(500);
/// A checkpoint is followed by at least this many times its own duration without one.
const REST: u32 = 100;
/// Time between prices on the way: pricing takes milliseconds.
const PRICE: Duration = Duration::from_secs(5);

/// Where a run is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Spent as of the last price; infinite without privacy.
    pub epsilon: f64,
    /// The last measurements, if there were any.
    pub measured: Option<Measurements>,
    /// Records a second since the start of this process, without the time of measurements.
    pub examples_per_s: f64,
    /// Whether the measurements are new.
    pub evaluated: bool,
    /// How far the work before the first step is, while that lasts.
    pub readiness: Option<Readiness>,
}

impl Progress {
    /// Before the first of so many steps.
    fn new(steps: u64) -> Progress {
        Progress {
            step: 0,
            steps,
            epsilon: 0.0,
            measured: None,
            examples_per_s: 0.0,
            evaluated: false,
            readiness: None,
        }
    }

    /// While a trainer gets ready.
    fn before(steps: u64, readiness: Readiness) -> Progress {
        Progress { readiness: Some(readiness), ..Progress::new(steps) }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Measurements of the result.
    pub measured: Measurements,
    /// What was spent.
    pub certificate: Certificate,
    /// Steps taken, in all processes.
    pub steps: u64,
    /// Steps of the recipe that the budget did not allow: after an interruption, or because a filter ended the run.
    pub steps_lost: u64,
    /// Records a second in this process: everything between two steps is included, measurements are not.
    pub examples_per_s: f64,
    /// Seconds of this process, measurements included.
    pub seconds: f64,
    /// Contributions left out because they were not finite. **Not private**: for the holder of the records.
    pub excluded: u64,
}

/// Takes the steps of a trainer that are not taken yet, and reports on the way.
///
/// `stop` ends it after the steps that are already paid for, or with [`Error::Interrupted`] before the first of this process if the
/// trainer is not ready by then; and so does a trainer that has [diverged](Trainer::diverged).
///
/// # Guarantee
/// Every access to the training records is in the ledger on disk before it happens. With a seed, steps that are taken
/// again after an interruption give the same release and are paid once; without one they are taken with new noise and
/// paid again, and the run ends sooner rather than exceed its epsilon. Nothing goes on from a state, and no figure is given
/// beside a file, that rests on more than the ledger holds.
pub fn complete(
    folder: &RunFolder,
    terms: &Terms,
    trainer: &mut dyn Trainer,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Summary> {
    let recipe = read_recipe(folder.path())?;
    let ledger = Ledger::open(&folder.ledger(), &recipe, terms.recipe.seed.is_some())?;
    let certificate = folder.certificate();
    if certificate.is_file() && Certificate::read(&certificate)?.status == Status::Diverged {
        return Err(Error::Diverged { folder: folder.path().to_path_buf() });
    }
    let checkpoint = checkpoint::load_newest(&folder.checkpoints())?;
    check_rest(folder, &ledger, checkpoint.as_ref())?;
    trainer.settle_in(folder.path())?;
    if !trainer.get_ready(stop, &mut |readiness| observe(&Progress::before(terms.steps, readiness)))? {
        // Nothing was touched or paid in this process, so there is nothing to certify.
        return Err(Error::Interrupted { folder: folder.path().to_path_buf() });
    }
    if let Some(Checkpoint { step, state, .. }) = checkpoint {
        trainer.restore(&state, step)?;
    }
    metrics::rewind(&folder.metrics(), trainer.step())?;
    Run::new(folder, terms, trainer, ledger)?.complete(stop, observe)
}

/// A run in one process.
struct Run<'a> {
    folder: &'a RunFolder,
    terms: &'a Terms,
    trainer: &'a mut dyn Trainer,
    purse: Purse,
    /// The first step of this process.
    first: u64,
    /// One past the last step that the budget allows.
    last: u64,
    begun: Instant,
    /// Time in measurements.
    tested: Duration,
    progress: Progress,
    priced: Instant,
}

impl<'a> Run<'a> {
    fn new(
        folder: &'a RunFolder,
        terms: &'a Terms,
        trainer: &'a mut dyn Trainer,
        ledger: Ledger,
    ) -> Result<Run<'a>> {
        let purse = Purse::new(ledger, terms.filter()?)?;
        let last = match purse.filter() {
            Some(_) => terms.steps,
            None => affordable(terms, trainer, &purse.ledger)?,
        };
        let (first, now) = (trainer.step(), Instant::now());
        let progress = Progress { step: first, ..Progress::new(last) };
        let tested = Duration::ZERO;
        Ok(Run { folder, terms, trainer, purse, first, last, begun: now, tested, progress, priced: now })
    }

    fn complete(mut self, stop: &AtomicBool, observe: &mut dyn FnMut(&Progress)) -> Result<Summary> {
        self.price()?;
        let between = Duration::from_secs_f64(self.terms.recipe.checkpoint_seconds);
        let mut block = 1;
        let mut checkpoint_due = Instant::now() + between;
        while self.trainer.step() < self.last && !stop.load(Ordering::Relaxed) {
            let begin = self.trainer.step();
            let wanted = (begin + block).min(self.last).min(self.next_evaluation_after(begin));
            let clock = Instant::now();
            let paid = self.purse.pay_and_do(self.trainer, wanted - begin)?;
            if paid.ended {
                self.last = self.trainer.step();
            }
            if self.trainer.step() >= self.last {
                self.close()?;
            }
            let taken = self.trainer.step() - begin;
            if taken > 0 {
                let step_time = clock.elapsed() / taken as u32;
                let paid_ahead = BLOCK.min(between).as_secs_f64();
                block = (paid_ahead / step_time.as_secs_f64().max(1e-9)).clamp(1.0, 1e6) as u64;
            }
            self.report(begin, observe)?;
            if self.trainer.diverged() {
                break;
            }
            if paid.keep || Instant::now() >= checkpoint_due {
                let clock = Instant::now();
                self.save()?;
                let rest = if between.is_zero() { between } else { REST * clock.elapsed() };
                checkpoint_due = Instant::now() + between.max(rest);
            }
        }
        self.finish()
    }

    /// Pays for what is released behind the last step, unless an interruption has used up what it costs, and lets it happen.
    fn close(&mut self) -> Result<()> {
        let affordable = match self.trainer.closing() {
            Some(access) => affords(self.terms, &self.purse.ledger, &access.release)?,
            None => false,
        };
        self.purse.pay_and_close(self.trainer, affordable)
    }

    /// Measures the result where that is due, and tells where the run is.
    fn report(&mut self, begin: u64, observe: &mut dyn FnMut(&Progress)) -> Result<()> {
        let step = self.trainer.step();
        self.progress.evaluated = step > begin && step == self.next_evaluation_after(begin);
        if self.progress.evaluated {
            self.measure()?;
        } else if self.priced.elapsed() > PRICE {
            self.price()?;
        }
        self.progress.step = step;
        self.progress.examples_per_s = self.examples_per_s();
        observe(&self.progress);
        Ok(())
    }

    /// The next step after this one behind which the result is measured.
    fn next_evaluation_after(&self, step: u64) -> u64 {
        let (count, last) = (self.terms.recipe.evaluations.min(self.last), self.last);
        (1..=count).map(|part| last * part / count).find(|place| *place > step).unwrap_or(last)
    }

    fn price(&mut self) -> Result<()> {
        let epsilon = match (self.purse.filter(), self.terms.recipe.epsilon) {
            // The odometer holds at all times at once, the budget at the end.
            (Some(filter), Some(budget)) => filter.spent()?.epsilon.min(budget),
            _ => {
                Pld.epsilon(&self.purse.ledger.total(), self.terms.adjacency, self.terms.recipe.delta)?
                    .epsilon
            }
        };
        (self.progress.epsilon, self.priced) = (epsilon, Instant::now());
        Ok(())
    }

    /// Measures the result and notes what was found.
    fn measure(&mut self) -> Result<()> {
        self.price()?;
        let clock = Instant::now();
        let measured = self.trainer.measure()?;
        self.tested += clock.elapsed();
        self.progress.measured = Some(measured.clone());
        let epsilon = Some(self.progress.epsilon).filter(|epsilon| epsilon.is_finite());
        let seeded = self.terms.recipe.seed.is_some();
        metrics::append(
            &self.folder.metrics(),
            &Metric {
                step: self.trainer.step(),
                epsilon: epsilon.filter(|_| !seeded),
                epsilon_if_seed_is_secret: epsilon.filter(|_| seeded),
                measured,
                ledger: self.purse.ledger.head(),
                seconds: self.begun.elapsed().as_secs_f64(),
                examples_per_s: self.examples_per_s(),
            },
        )
    }

    fn examples_per_s(&self) -> f64 {
        let training = self.begun.elapsed().saturating_sub(self.tested);
        self.trainer.work().expected as f64 / training.as_secs_f64().max(1e-9)
    }

    fn save(&self) -> Result<()> {
        let (step, state, head) = (self.trainer.step(), self.trainer.state(), self.purse.ledger.head());
        checkpoint::save(&self.folder.checkpoints(), &Checkpoint { step, state, head })
    }

    /// What was planned and is not paid for yet.
    fn rest(&self) -> Event {
        match self.terms.is_unproved() {
            true => Event::compose([]),
            false => self.trainer.cost(self.last - self.trainer.step()),
        }
    }

    /// Writes the certificate of a run that has left files of these names.
    fn certify(
        &self,
        status: Status,
        audit: Option<CanaryMeasurement>,
        names: &[String],
    ) -> Result<Certificate> {
        let (path, ledger) = (self.folder.path(), &self.purse.ledger);
        let binding = Binding::new(path, &read_recipe(path)?, ledger.head(), names)?;
        let claimed = self.trainer.claimed().or(self.terms.claimed);
        let end = End { steps: self.trainer.step(), status, rest: self.rest(), claimed, audit, binding };
        let certificate = Certificate::new(self.terms, ledger, end);
        self.folder.write("privacy.json", certificate.to_json())?;
        Ok(certificate)
    }

    /// Saves what there is: the state unless it is lost, the certificate, and the results if no step is left.
    fn finish(mut self) -> Result<Summary> {
        let (seconds, examples_per_s) = (self.begun.elapsed().as_secs_f64(), self.examples_per_s());
        let steps = self.trainer.step();
        let diverged = self.trainer.diverged();
        let finished = steps >= self.last && !diverged;
        if finished {
            self.close()?;
        }
        if !diverged {
            self.save()?;
        }
        let audit = if finished { self.trainer.audit()? } else { None };
        // What an older certificate is about may be about to change; and if the files cannot be left, this is the price.
        let unfinished = if diverged { Status::Diverged } else { Status::Interrupted };
        let mut certificate = self.certify(unfinished, None, &[])?;
        if finished {
            let names = self.trainer.leave_files(self.folder.path(), &self.purse.ledger.head())?;
            certificate = self.certify(Status::Finished, audit, &names)?;
        }
        if finished && steps > self.first && !self.progress.evaluated {
            // A filter ends a run where no measurement was planned.
            self.measure()?;
            self.progress.evaluated = true;
        }
        let measured = match self.progress.measured.take().filter(|_| self.progress.evaluated) {
            Some(measured) => measured,
            // Whoever stops a run before its first step does not wait for figures of a model that is none.
            None if !finished && steps == self.first => Measurements::default(),
            None => self.trainer.measure()?,
        };
        Ok(Summary {
            measured,
            certificate,
            steps,
            steps_lost: self.terms.steps - self.last,
            examples_per_s,
            seconds,
            excluded: self.trainer.work().excluded,
        })
    }
}
