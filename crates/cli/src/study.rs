//! `muffle study`: the experiments of a paper, in the form of its tables.

use crate::CommandResult;
use crate::experiment::{Layout, Options, Remarks, run as run_experiment};
use crate::interrupt::stop_on_interrupt;
use crate::study_gradient_norms::GradientNorms;
use crate::study_places::{self, Length, Rate, length};
use crate::study_tables::{Row, Tables};
use crate::train::Outcome;
use clap::{Args, Subcommand};
use muffle::data::Search;
use muffle::data::registry::entry;
use muffle::experiment::{Axis, Column, Experiment, Results, Variant, distortion};
use muffle::methods;
use muffle::recipes;
use muffle::run::REPRODUCIBLE;
use muffle::statistics::Mean;
use muffle::train::Trained;

/// Repeat the experiments of a paper: its runs, its tables, its statistics.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Subcommand)]
enum Study {
    NoisyGradient(NoisyGradient),
    GradientNorms(GradientNorms),
}

/// The factor study of Lin et al. 2020: does noise before the clip do less harm than noise after it?
///
/// Data sets, networks, optimizers, noise, thresholds and both orders of noise and clip are combined (96 runs for each
/// seed), beside the same runs without noise. AC adds noise to every example's gradient and clips it afterwards
/// (noisy-gradient, as published, no epsilon); CA clips first (DP-SGD). Results are accuracy, loss and TPVD, how far the
/// weights are from those without noise: a distortion, not a measure of privacy.
///
/// The paper gives neither learning rates nor lengths: SGD has 0.1, Adam 0.001, unless --rate says otherwise, and all runs have the
/// steps of the recipes lin-2020-table-3 to -5 unless --steps does. AC draws noise for every single example, which takes long on large
/// networks; --together draws once what it comes to in many dimensions. Data sets that are not on this machine are left out.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle study noisy-gradient --output study
  muffle study noisy-gradient --data mnist --models lstm-rows --steps 500 --seeds 3 --output lstm
  muffle study noisy-gradient --data mnist --together --rate lstm-rows/sgd=1 --rate lstm-rows/sgd/AC=5 \\
      --steps 300,lstm-rows=1500 --output rates
  muffle study noisy-gradient --data mnist --optimizers adam --noise 0.5 \\
      --thresholds 0.001,0.04,1.4,10,100 --output table-12
  muffle study noisy-gradient --models cnn-5x5 --optimizers adam --noise 0.5 --thresholds 1.4 \\
      --orders quantile,quantile-per-layer --output table-7-adaptive
  muffle study noisy-gradient --data mnist --models cnn-5x5 --optimizers adam --noise 0.5 --thresholds 1.4 \\
      --evaluations 20 --output figure-1")]
struct NoisyGradient {
    /// Steps of every run, or of those of one network (default: those of the recipes)
    #[arg(long, value_name = "[MODEL=]N", value_delimiter = ',', value_parser = length)]
    steps: Vec<Length>,
    /// Runs of each combination, with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Data sets
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = DATA.map(|data| data.0), value_parser = DATA.map(|data| data.0))]
    data: Vec<String>,
    /// Networks for grey images of 28 by 28: see `muffle bench` and docs/models.md
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["cnn-5x5", "lstm-rows"])]
    models: Vec<String>,
    /// Optimizers
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = OPTIMIZERS.map(|it| it.0), value_parser = OPTIMIZERS.map(|it| it.0))]
    optimizers: Vec<String>,
    /// Noise multipliers
    #[arg(long, value_name = "SIGMAS", value_delimiter = ',', default_values_t = [0.1, 0.5])]
    noise: Vec<f64>,
    /// Clipping thresholds
    #[arg(long, value_name = "THRESHOLDS", value_delimiter = ',', default_values_t = [0.8, 1.4])]
    thresholds: Vec<f64>,
    /// Orders of noise and clip: noise first (AC), clip first (CA), a clip on both sides of the noise of the sum (CAC) or of
    /// every record's own noise (local); those with a quantile take the median norm for the threshold, of the batch (Algorithm 2)
    /// or by noisy counts (-sound)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["AC", "CA"], value_parser = ORDERS.map(|order| order.0))]
    orders: Vec<String>,
    /// Tests on the way, equally spaced (default: those of the recipes)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    evaluations: Option<u64>,
    /// The learning rate of a network with an optimizer, or of these in one order (AC, CA, plain, ...); the last that fits counts
    #[arg(long = "rate", value_name = "MODEL/OPTIMIZER[/ORDER]=RATE", value_parser = rate)]
    rates: Vec<Rate>,
    /// AC with one draw of noise in a step, which to large networks makes no difference and is much faster (`muffle methods
    /// noisy-gradient`)
    #[arg(long)]
    together: bool,
    #[command(flatten)]
    options: Options,
}

/// Reads a `--rate`.
fn rate(text: &str) -> Result<Rate, String> {
    let orders: Vec<&str> = ORDERS.iter().map(|order| order.0).chain([PLAIN[2]]).collect();
    study_places::rate(text, &OPTIMIZERS.map(|it| it.0), &orders)
}

/// What the runs differ in; the first `PLACE` say which run without noise belongs to a run.
const FACTORS: [&str; 6] = ["data", "model", "optimizer", "noise", "threshold", "order"];
const PLACE: usize = 3;

/// The levels of a run without noise in the other factors.
const PLAIN: [&str; 3] = ["-", "-", "plain"];

/// Data sets, and the recipes that runs on them are made from.
const DATA: [(&str, &str); 3] =
    [("mnist", "lin-2020-table-3"), ("cifar10-grey", "lin-2020-table-4"), ("svhn-grey", "lin-2020-table-5")];

/// Settings of a level.
type Level = (&'static str, &'static [&'static str]);

/// Learning rates are not the paper's, which gives none.
const OPTIMIZERS: [Level; 2] = [
    ("sgd", &["optimizer={kind=\"sgd\"}", "learning_rate=0.1"]),
    ("adam", &["optimizer={kind=\"adam\"}", "learning_rate=0.001"]),
];

const ORDERS: [Level; 8] = [
    ("AC", &["method=noisy-gradient", "mode=as-published"]),
    ("CA", &["method=dp-sgd", "mode=sound"]),
    ("CAC", &["method=noisy-gradient", "mode=sound"]),
    ("local", &["method=ng-local", "mode=sound", "sampler=fixed-size", "adjacency=replace_one"]),
    ("quantile", &["method=quantile-clip", "mode=as-published"]),
    ("quantile-per-layer", &["method=quantile-clip", "mode=as-published", "parameters.per_layer=1.0"]),
    ("quantile-sound", &["method=quantile-clip", "mode=sound"]),
    ("quantile-per-layer-sound", &["method=quantile-clip", "mode=sound", "parameters.per_layer=1.0"]),
];

const WITHOUT_NOISE: Level = (PLAIN[2], &["method=dp-sgd", "mode=sound", "private=false"]);

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.study {
        Study::NoisyGradient(study) => study.run(),
        Study::GradientNorms(study) => study.run(),
    }
}

impl NoisyGradient {
    fn run(&self) -> CommandResult {
        if self.options.rank_by.is_some() {
            return Err("--rank-by: a study has the measures of its paper; leave it out".into());
        }
        self.check_places()?;
        let search = self.options.search();
        let (data, missing) = present(&self.data, &search)?;
        let variants = self.variants(data)?;
        let factors = FACTORS.map(String::from).to_vec();
        let experiment = Experiment::new(&self.options.output, factors, variants, &search)?;
        let experiment = experiment.with_seeds(self.seeds);
        let title = "Noise before and after the clip (Lin et al. 2020)".to_string();
        let layout = Layout { title, across: None, panels: PLACE };
        run_experiment(&experiment, &self.options, &layout, &*stop_on_interrupt()?, |results| {
            remarks(&experiment, results, &missing, self.departures())
        })
    }

    /// Refuses what no run of the study would heed.
    fn check_places(&self) -> Outcome<()> {
        let no_run = |option: String| -> CommandResult {
            Err(format!("{option}: no run of this study is of that kind; mend it or leave it out").into())
        };
        let of_no_run = |rate: &&Rate| {
            let order = rate.order.as_ref();
            let order = order.is_none_or(|order| order == PLAIN[2] || self.orders.contains(order));
            !(self.models.contains(&rate.model) && self.optimizers.contains(&rate.optimizer) && order)
        };
        if let Some(rate) = self.rates.iter().find(of_no_run) {
            return no_run(format!("--rate {}", rate.place()));
        }
        let unknown =
            |length: &&Length| length.model.as_ref().is_some_and(|model| !self.models.contains(model));
        if let Some(Length { model: Some(model), .. }) = self.steps.iter().find(unknown) {
            return no_run(format!("--steps {model}"));
        }
        match self.together && !self.orders.iter().any(|order| order == ORDERS[0].0) {
            true => no_run("--together".to_string()),
            false => Ok(()),
        }
    }

    /// What of a run is not the paper's by the options of this command.
    fn departures(&self) -> Vec<String> {
        let together = "AC has one draw of noise in a step (`parameters.together`): what the noise of all records comes to in many \
             dimensions, but along each record's own gradient. It measures accuracy, not what an attack sees of the paper's form.";
        let mut found = Vec::from_iter(self.together.then(|| together.to_string()));
        if !self.rates.is_empty() {
            let rates: Vec<String> =
                self.rates.iter().map(|rate| format!("{} {}", rate.place(), rate.value)).collect();
            found.push(format!(
                "Learning rates by --rate: {}. Where orders differ in their rate, TPVD and the test of the order compare both together.",
                rates.join(", ")
            ));
        }
        found
    }

    /// For every place a run without noise, then the combinations of noise, threshold and order.
    fn variants(&self, data: Vec<String>) -> Outcome<Vec<Variant>> {
        let numbers = |values: &[f64]| values.iter().map(f64::to_string).collect();
        let values: [Vec<String>; 6] = [
            data,
            self.models.clone(),
            self.optimizers.clone(),
            numbers(&self.noise),
            numbers(&self.thresholds),
            self.orders.clone(),
        ];
        let axes: Vec<Axis> = FACTORS
            .into_iter()
            .zip(values)
            .map(|(key, values)| Axis { key: key.to_string(), values: distinct(values) })
            .collect();
        let (places, perturbations) = axes.split_at(PLACE);
        let perturbations = Axis::combinations(perturbations);
        let mut variants = Vec::new();
        for place in Axis::combinations(places) {
            let plain = PLAIN.map(String::from).to_vec();
            for perturbation in [&[plain][..], &perturbations].concat() {
                let levels = [&place[..], &perturbation].concat();
                let recipe = recipes::find(find(&DATA, &levels[0]), &self.settings(&levels))?;
                variants.push(Variant { name: Axis::folder_name(&axes, &levels), levels, recipe });
            }
        }
        Ok(variants)
    }

    /// What makes the base recipe one of these levels.
    fn settings(&self, levels: &[String]) -> Vec<String> {
        let [_, model, optimizer, noise, threshold, order] = levels else {
            unreachable!("a level for each factor")
        };
        let mut settings = vec![format!("model={model:?}")];
        let own = |length: &&Length| length.model.as_ref() == Some(model);
        let all = |length: &&Length| length.model.is_none();
        let length = self.steps.iter().rfind(own).or_else(|| self.steps.iter().rfind(all));
        settings.extend(length.map(|length| format!("steps={}", length.steps)));
        settings.extend(self.evaluations.map(|count| format!("evaluations={count}")));
        let own = match is_plain(levels) {
            true => WITHOUT_NOISE.1,
            false => {
                settings.push(format!("noise_multiplier={noise}"));
                settings.push(format!("clip.threshold={threshold}"));
                find(&ORDERS, order)
            }
        };
        settings.extend(find(&OPTIMIZERS, optimizer).iter().chain(own).map(ToString::to_string));
        if self.together && order == ORDERS[0].0 {
            settings.push("parameters.together=1".to_string());
        }
        let here = |rate: &&Rate| rate.holds(model, optimizer, order);
        settings.extend(self.rates.iter().rfind(here).map(|rate| format!("learning_rate={}", rate.value)));
        settings
    }
}

/// Of the data sets that were asked for those that are there, and those that are not.
fn present(names: &[String], search: &Search) -> Outcome<(Vec<String>, Vec<String>)> {
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match search.find(entry(name)?) {
            Ok(_) => present.push(name.clone()),
            Err(error) => {
                eprintln!("left out: {error}");
                missing.push(name.clone());
            }
        }
    }
    match present.is_empty() {
        true => Err(format!("--data {}: none of these is on this machine", names.join(",")).into()),
        false => Ok((present, missing)),
    }
}

/// The values without repetitions.
fn distinct(values: Vec<String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// What belongs to a name that the parser let through.
fn find<T: Copy>(table: &[(&str, T)], name: &str) -> T {
    table.iter().find(|(known, _)| *known == name).expect("the parser knows the names").1
}

fn is_plain(levels: &[String]) -> bool {
    levels[PLACE..] == PLAIN
}

/// How far the weights of every run with noise are from those of the run without, of the same seed.
fn distortions(experiment: &Experiment) -> Outcome<Vec<Option<f64>>> {
    let levels = |group: usize| &experiment.groups[group].levels;
    let mut values = Vec::with_capacity(experiment.cells.len());
    for cell in &experiment.cells {
        if is_plain(levels(cell.group)) {
            values.push(None);
            continue;
        }
        let reference = experiment.cells.iter().find(|other| {
            let place = levels(other.group)[..PLACE] == levels(cell.group)[..PLACE];
            place && is_plain(levels(other.group)) && other.seed == cell.seed
        });
        let reference = reference.expect("every place has a run without noise for every seed");
        let plain = Trained::open(&experiment.path(reference))?;
        let perturbed = Trained::open(&experiment.path(cell))?;
        values.push(distortion(&plain.network, &plain.parameters, &perturbed.parameters));
    }
    Ok(values)
}

/// The tables, and what to know about them.
fn remarks(
    experiment: &Experiment,
    results: &Results,
    missing: &[String],
    departures: Vec<String>,
) -> Outcome<Remarks> {
    let values = distortions(experiment)?;
    let mean = |group: usize| {
        let cells = experiment.cells.iter().zip(&values).filter(|(cell, _)| cell.group == group);
        let values: Option<Vec<f64>> = cells.map(|(_, value)| *value).collect();
        Mean::of(&values?).ok().map(|mean| mean.mean)
    };
    let rows = results.groups.iter().map(|result| {
        let levels = experiment.groups[result.group].levels.clone();
        Row {
            plain: is_plain(&levels),
            levels,
            accuracy: result.measured.map_or(f64::NAN, |mean| mean.mean),
            loss: result.loss.map(|loss| loss.mean),
            distortion: mean(result.group),
            epsilon: result.epsilon_if_seed_is_secret,
        }
    });
    let tables = Tables::new(&FACTORS, rows.collect());
    let mut paragraphs = tables.markdown();
    if !missing.is_empty() {
        paragraphs.push(format!("Not on this machine, and left out: {}.", missing.join(", ")));
    }
    paragraphs.extend([
        "TPVD is the mean relative distance of weight matrices from those of the run without noise of the same seed: a \
         distortion, not privacy. Permuted hidden units or another seed without any noise give large values and protect \
         nothing."
            .to_string(),
        format!(
            "An epsilon is the certificate's: of CA, of CAC, which is CA with a clip of what was released, of local (under replace_one) \
             and of what is called sound. AC has none: {}. The paper states none for it. An order with a quantile of the batch has none either: {}.",
            methods::NOISY_GRADIENT.breaks,
            methods::QUANTILE_CLIP.breaks
        ),
        "Figures are means over seeds, on the whole test split (the paper's tables are captioned training results, and \
         some are of a single batch). The tests take one value for each combination. Learning rates and lengths are not \
         the paper's, which gives none."
            .to_string(),
    ]);
    paragraphs.extend(departures);
    paragraphs.push(REPRODUCIBLE.to_string());
    let columns = vec![Column { name: "distortion", values }];
    Ok(Remarks { paragraphs, fields: tables.json(), columns, ..Remarks::default() })
}
