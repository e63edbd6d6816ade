//! `muffle train`: from records to a model with a defended epsilon.

use crate::CommandResult;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::progress::{Display, plan_text};
use crate::words::{delta_warning, duration, figure_in_words, in_words};
use clap::Args;
use muffle::data::{Search, Visibility, load};
use muffle::noise::{Key, Purpose, Stream, Uniform};
use muffle::run::{
    Certificate, Job, Parts, Pilot, REPRODUCIBLE, RunFolder, Status, Summary, Terms, begin, clock, resume,
};
use muffle::train::Evaluation;
use muffle::train::canaries::usual_choice;
use muffle::{kinds, recipes};
use muffle_accounting::Quotes;
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Train a private model: from records to weights, an accuracy, and an epsilon with its certificate.
///
/// Without arguments it trains on the built-in digits for about a minute. Every run has a folder with the resolved recipe,
/// the ledger of what was spent, measurements, checkpoints, the model (safetensors) and privacy.json, the certificate.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle train                                   digits at epsilon 3, about a minute
  muffle train --epsilon 1 --seed 7              another budget, reproducible
  muffle train my-recipe.toml --set epochs=30    your own recipe, one key changed
  muffle train mnist --dry-run                   the plan: steps, noise, epsilon, memory, time
  muffle train --resume runs/mnist-...           continue after an interruption")]
pub struct Arguments {
    /// A recipe by name (see `muffle recipes`), a .toml file, the folder of a run or its model
    #[arg(default_value = recipes::RECIPES[0].name, conflicts_with = "resume")]
    recipe: String,
    /// Change a key of the recipe: epsilon=2, clip.threshold=0.5; `epsilon=` removes it
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The privacy to reach and not to exceed
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<f64>,
    /// Published method with its usual settings: see `muffle methods`
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Form of the method: sound or as-published
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Data set: a published name or a path of your own
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// Model: a name or a model file
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Makes the run reproducible, and its noise known to whoever knows the seed
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Threads (default: the machine's cores)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Plant so many canaries among the training records and measure what the model gives away of them
    #[arg(long, value_name = "CANARIES", conflicts_with = "resume")]
    audit: Option<u64>,
    /// Folder of the run (default: runs/RECIPE-TIME)
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    output: Option<PathBuf>,
    /// Continue the run in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["settings", "epsilon", "data", "model", "method", "mode", "seed", "dry_run"])]
    resume: Option<PathBuf>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print the plan and take no step
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: labelled public records of the same kind, on which a few teachers show what answers are worth
    #[arg(long, value_name = "DATA", requires = "dry_run")]
    pilot: Option<String>,
    /// One JSON object a line on standard output; the last is the result
    #[arg(long)]
    json: bool,
    /// No progress, only the result
    #[arg(long)]
    quiet: bool,
}

/// What the command makes of its input, or one message.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let search = Search::new(arguments.data_dir.as_deref());
    if let Some(path) = &arguments.resume {
        let folder = RunFolder::open(path)?;
        let recipe = Parts::read(path, &arguments.thread_setting())?;
        let (job, dataset) = kinds::prepare(&recipe, &search.near(path))?;
        let stop = stop_on_interrupt()?;
        let mut display = Display::new(&*job, arguments.json, arguments.quiet);
        let summary = resume(&folder, &*job, &dataset, &stop, &mut |progress| display.show(progress));
        display.finish();
        let summary = came_to(path, summary, arguments.json)?;
        return end(path, &job.terms(), &summary, arguments.json);
    }
    let mut recipe = kinds::find(&arguments.recipe, arguments.method.as_deref(), &arguments.all_settings()?)?;
    recipe.run.threads = Some(recipe.run.threads.unwrap_or_else(cores));
    let (job, dataset) = kinds::prepare(&recipe, &search_for(&arguments.recipe, &search))?;
    warn(&*job, dataset.train().split().len());
    if arguments.dry_run {
        return dry_run(&*job, arguments.pilot(&*job, &search)?, arguments.json);
    }
    let path = arguments.output.clone().unwrap_or_else(|| free_folder(&arguments.recipe));
    // Nothing can be lost before the run has its folder: until then a signal ends the process at once.
    let folder = begin(&path, &*job)?;
    let stop = stop_on_interrupt()?;
    let mut display = Display::new(&*job, arguments.json, arguments.quiet);
    let summary = resume(&folder, &*job, &dataset, &stop, &mut |progress| display.show(progress));
    display.finish();
    let summary = came_to(&path, summary, arguments.json)?;
    end(&path, &job.terms(), &summary, arguments.json)
}

/// Says what may be wrong with a run before it begins.
fn warn(job: &dyn Job, counted: usize) {
    let run = job.terms().recipe;
    let records = run.records.filter(|_| run.private);
    if let Some(warning) = records.and_then(|records| delta_warning(run.delta, records)) {
        eprintln!("warning: {warning}");
    }
    if let Some(records) = run.records {
        warn_of_records(records, counted);
    }
    if let Some(breaks) = job.breaks() {
        eprintln!("as published, not proved: {breaks}");
    }
}

/// Reports how a run ended, and fails if it did not come to its end.
fn end(path: &Path, terms: &Terms, summary: &Summary, json: bool) -> CommandResult {
    report(path, terms, summary, json);
    match summary.certificate.status {
        Status::Finished => Ok(()),
        // The result in JSON says so already.
        status => Err(unfinished(path, status, false)),
    }
}

/// What a run came to, or how to go on with one that was stopped before its first step.
pub fn came_to(path: &Path, summary: muffle::Result<Summary>, json: bool) -> Outcome<Summary> {
    summary.map_err(|error| match error {
        muffle::Error::Interrupted { .. } => unfinished(path, Status::Interrupted, json),
        error => error.into(),
    })
}

/// What to say of a run that did not come to its end; `json` if nothing else says so.
pub fn unfinished(path: &Path, status: Status, json: bool) -> Box<dyn Error> {
    match status {
        Status::Diverged => muffle::Error::Diverged { folder: path.to_path_buf() }.into(),
        Status::Finished | Status::Interrupted => Interrupted::without_result(next(path, status), json),
    }
}

/// What to do after a run.
fn next(path: &Path, status: Status) -> String {
    let path = path.display();
    match status {
        Status::Finished => {
            format!(
                "`muffle evaluate {path}`, `muffle predict {path}`; what it cost is in {path}/privacy.json"
            )
        }
        Status::Interrupted => format!("continue with `muffle train --resume {path}`"),
        Status::Diverged => {
            "start another run with a lower learning_rate, or a lower clip threshold".to_string()
        }
    }
}

impl Arguments {
    /// Options are settings with a name of their own.
    fn all_settings(&self) -> Outcome<Vec<String>> {
        let mut settings = Vec::new();
        let named = [
            ("mode", self.mode.clone()),
            ("epsilon", self.epsilon.map(|value| value.to_string())),
            ("data", self.data.as_ref().map(|value| format!("{value:?}"))),
            ("model", self.model.as_ref().map(|value| format!("{value:?}"))),
            ("seed", self.seed.map(|value| value.to_string())),
        ];
        if let Some(canaries) = self.audit {
            // Coins that a seed decides would be known to whoever knows it.
            let seed = match self.seed {
                Some(seed) => seed,
                None => Uniform::new(&Key::from_entropy()?, Stream::new(Purpose::Audit, 0)).below(1 << 62),
            };
            let choice = usual_choice(canaries, seed);
            let values = [("canaries", choice.canaries), ("guesses", choice.guesses), ("seed", choice.seed)];
            settings.extend(values.map(|(key, value)| format!("audit.{key}={value}")));
        }
        let named = named.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        settings.extend(named.chain(self.thread_setting()).chain(self.settings.clone()));
        Ok(settings)
    }

    /// What a pilot lets one expect, if one is asked for.
    fn pilot(&self, job: &dyn Job, search: &Search) -> Outcome<Option<Pilot>> {
        let Some(name) = &self.pilot else { return Ok(None) };
        let (public, run) = (load(name, search)?, job.terms().recipe);
        if public.visibility() == Visibility::Private && *name == run.data {
            return Err(format!(
                "--pilot {name}: a pilot reads its records without noise; give others, that are public"
            )
            .into());
        }
        match job.pilot(&public)? {
            Some(pilot) => Ok(Some(pilot)),
            None => Err(format!("--pilot: training of kind \"{}\" has no pilot", run.kind).into()),
        }
    }

    fn thread_setting(&self) -> Vec<String> {
        self.threads.map(|threads| format!("threads={threads}")).into_iter().collect()
    }
}

/// The machine's cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Where the data of a recipe may be: those of a run, given as its folder or its model, may lie anywhere above it.
pub fn search_for(recipe: &str, search: &Search) -> Search {
    let path = Path::new(recipe);
    match path.is_dir() || path.extension().is_some_and(|ending| ending == "safetensors") {
        true => search.near(path),
        false => search.clone(),
    }
}

/// A folder that does not exist yet, named after the recipe and the time.
pub fn free_folder(recipe: &str) -> PathBuf {
    let name = Path::new(recipe).file_stem().map_or("run".into(), |stem| stem.to_string_lossy());
    let time: String = clock::now().chars().filter(char::is_ascii_digit).collect();
    let candidate = |count: u32| match count {
        1 => PathBuf::from(format!("runs/{name}-{time}")),
        count => PathBuf::from(format!("runs/{name}-{time}-{count}")),
    };
    (1..).map(candidate).find(|path| !path.exists()).expect("some number is free")
}

/// What the certificate of a finished run will say: an epsilon that is proved, or that is if the seed is secret.
fn planned_epsilon(job: &dyn Job) -> Outcome<[Option<f64>; 2]> {
    let terms = job.terms();
    let epsilon = match terms.budget() {
        Some(_) => terms.recipe.epsilon,
        None => {
            let quotes = Quotes::ask(&job.cost()?, terms.adjacency, terms.recipe.delta);
            quotes.best().map(|quote| quote.price.epsilon).filter(|_| !terms.is_unproved())
        }
    };
    let seeded = terms.recipe.seed.is_some();
    Ok([epsilon.filter(|_| !seeded), epsilon.filter(|_| seeded)])
}

/// The public figure sets the sample rate and the divisor of every step: far from the truth it wastes noise or steps. The true number
/// is private under add_remove and is not said.
fn warn_of_records(nominal: u64, counted: usize) {
    if are_far_apart(nominal as f64, counted as f64) {
        eprintln!(
            "warning: records = {nominal} is more than half off the number of training records: batches are not of the size \
             that batch_size says, and noise or steps are wasted; take a round number nearer to it (this warning follows from \
             the private number of records: do not publish it)"
        );
    }
}

/// Whether one number is more than one and a half times the other.
fn are_far_apart(one: f64, other: f64) -> bool {
    one.max(other) > 1.5 * one.min(other)
}

fn dry_run(job: &dyn Job, pilot: Option<Pilot>, json: bool) -> CommandResult {
    let ([proved, if_seed_is_secret], expected) = (planned_epsilon(job)?, job.estimate()?);
    let terms = job.terms();
    let (run, memory) = (&terms.recipe, expected.and_then(|expected| expected.peak_rss_mb));
    if json {
        let mut object = json!({
            "dry_run": true, "data": run.data, "epsilon": proved,
            "epsilon_if_seed_is_secret": if_seed_is_secret, "claimed_epsilon": terms.claimed, "delta": run.delta,
            "adjacency": terms.adjacency, "peak_rss_mb": memory,
            "seconds": expected.map(|expected| expected.seconds), "recipe": job.recipe(),
        });
        let expected = pilot.into_iter().flat_map(|pilot| pilot.figures);
        object.as_object_mut().expect("it is an object").extend(job.figures().into_iter().chain(expected));
        println!("{object}");
        return Ok(());
    }
    print!("{}", plan_text(job));
    for (name, value) in pilot.into_iter().flat_map(|pilot| pilot.outline) {
        println!("{name:<17} {value}");
    }
    println!(
        "epsilon           {} at delta {} under {}",
        figure_in_words(proved, if_seed_is_secret, terms.claimed),
        run.delta,
        terms.adjacency
    );
    if run.seed.is_some() {
        println!("{REPRODUCIBLE}");
    }
    if let Some(memory) = memory {
        println!(
            "memory            {memory:.0} MB (after a few steps on made-up records, the data included)"
        );
    }
    if let Some(expected) = expected {
        let time = duration(expected.seconds);
        println!("time              about {time} (three steps on made-up records)");
    }
    println!("\nThe recipe with every question answered:\n\n{}", job.recipe());
    Ok(())
}

/// What the steps of an interrupted run cost if nobody looked before it was stopped.
fn stopped_blindly(certificate: &Certificate) -> Option<f64> {
    certificate.proved_if_stopped_without_looking.as_ref().and_then(|blind| blind.epsilon)
}

fn print_measures(test: &Evaluation, threshold: Option<f64>) {
    let measure = if test.accuracy.is_some() { "test accuracy" } else { "test error   " };
    println!("{measure}  {}", test.in_words());
    if let Some(threshold) = threshold {
        println!("threshold      {threshold}");
    }
    test.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// What was measured beside the test, the place in the training and the threshold, which have words of their own.
fn further(summary: &Summary) -> impl Iterator<Item = (&str, &Value)> {
    summary.measured.iter().filter(|(name, _)| !["test", "epoch", "threshold"].contains(name))
}

/// How a run ended, for programs.
fn object(path: &Path, summary: &Summary, test: &Evaluation) -> Value {
    let certificate = &summary.certificate;
    let mut object = json!({
        "test_accuracy": test.accuracy, "test_loss": test.loss, "test": test,
        "epsilon": certificate.proved.epsilon,
        "epsilon_if_seed_is_secret": certificate.epsilon_if_seed_is_secret(),
        "epsilon_if_stopped_without_looking": stopped_blindly(certificate), "claimed_epsilon": certificate.claimed,
        "measured_epsilon": certificate.measured, "delta": certificate.delta,
        "method": certificate.method, "mode": certificate.mode,
        "adjacency": certificate.adjacency, "accountant": certificate.proved.accountant,
        "steps": summary.steps, "finished": certificate.status == Status::Finished,
        "interrupted": certificate.status == Status::Interrupted,
        "diverged": certificate.status == Status::Diverged, "next": next(path, certificate.status), "examples_per_s": summary.examples_per_s,
        "seconds": summary.seconds, "run_dir": path, "reproducible": certificate.reproducible,
        "threshold": summary.measured.get::<f64>("threshold"),
    });
    for (name, value) in further(summary) {
        object[name] = value.clone();
    }
    if let Some(warning) = &certificate.warning {
        object["warning"] = Value::from(warning.clone());
    }
    object
}

fn report(path: &Path, terms: &Terms, summary: &Summary, json: bool) {
    let certificate = &summary.certificate;
    let finished = certificate.status == Status::Finished;
    if summary.excluded > 0 {
        eprintln!(
            "note to the holder of the records: {} contributions were not finite and counted as zero (not private: do \
             not publish this number)",
            summary.excluded
        );
    }
    if summary.steps_lost > 0 && finished && terms.filter_order.is_some() {
        eprintln!(
            "note: the budget ended the run after {} of at most {} steps: its noise followed what it released",
            summary.steps, terms.steps
        );
    } else if summary.steps_lost > 0 {
        eprintln!(
            "note: {} of {} steps were not taken: steps lost in an interruption were paid for, and the rest would \
             exceed epsilon",
            summary.steps_lost, terms.steps
        );
    }
    let test = Evaluation::of(&summary.measured);
    if json {
        println!("{}", object(path, summary, &test));
        return;
    }
    let if_seed_is_secret = certificate.epsilon_if_seed_is_secret();
    let epsilon = figure_in_words(certificate.proved.epsilon, if_seed_is_secret, certificate.claimed);
    print_measures(&test, summary.measured.get("threshold"));
    for (name, value) in further(summary).filter(|(_, value)| value.is_number()) {
        println!("{:<14} {value}", name.replace('_', " "));
    }
    let argument = certificate.proved_if_seed_is_secret.as_ref().unwrap_or(&certificate.proved);
    println!(
        "epsilon        {epsilon} at delta {}, {}, by {}",
        certificate.delta, certificate.adjacency, argument.accountant
    );
    if !finished && argument.epsilon.is_some() {
        let blind = stopped_blindly(certificate).map_or(String::new(), |epsilon| {
            format!("; {} if it was stopped by a rule that did not look at the records", in_words(epsilon))
        });
        println!("               the price of all that was planned{blind}");
    }
    if let Some(audit) = &certificate.audit {
        println!(
            "measured       at least {:.4} with confidence {}: {} of {} guesses about {} canaries are right",
            audit.epsilon, audit.confidence, audit.correct, audit.guesses, audit.canaries
        );
    }
    println!(
        "steps          {} in {}, {:.0} records/s",
        summary.steps,
        duration(summary.seconds),
        summary.examples_per_s
    );
    println!("run            {}", path.display());
    if certificate.reproducible {
        println!("{REPRODUCIBLE}");
    }
    if finished {
        println!("next           {}", next(path, certificate.status));
    }
}
