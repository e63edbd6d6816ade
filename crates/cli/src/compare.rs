//! `muffle compare`: methods beside each other, at several budgets and with several seeds.

use crate::CommandResult;
use crate::compare_tuning::{Tuning, TuningArguments};
use crate::experiment::{Layout, Options, Remarks, run as run_experiment};
use crate::interrupt::stop_on_interrupt;
use crate::train::Outcome;
use clap::Args;
use muffle::experiment::{Difference, Experiment, Results, Variant, check_settings};
use muffle::methods::Mode;
use muffle::recipes::key;
use muffle::run::REPRODUCIBLE;
use muffle::{kinds, recipes};
use serde_json::{Value, json};
use std::path::Path;

/// Compare published methods, or recipes: each at every epsilon with every seed, as a table and plots.
///
/// Every run has a folder of its own in DIR/cells. Finished runs are not run again, and an interrupted comparison goes on
/// with the same command. DIR/results.csv has every run, DIR/results.md means and intervals, DIR/accuracy.svg accuracy
/// against epsilon and DIR/steps.svg accuracy and loss against steps; `muffle report DIR` makes a page of all that.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle compare --methods dp-sgd,auto-s --epsilon 1,3 --seeds 3 --output comparison
  muffle compare --methods dp-sgd,icgc --mode sound,as-published --epsilon 2 --output forms
  muffle compare --methods dp-sgd,adlm --against dp-sgd --epsilon 2 --seeds 5 --output paired
  muffle compare --methods dp-sgd,auto-s --epsilon 3 --without-privacy --set-without-privacy learning_rate=0.1 --output plain
  muffle compare --methods dp-sgd,auto-s --epsilon 3 --set-for auto-s:learning_rate=0.5 --output rates
  muffle compare --methods dp-sgd,auto-s --epsilon 1,3 --tune learning_rate=0.5,1,2 --output tuned
  muffle compare --recipes mnist,pate-mnist --epsilon 0.5,1.5,5 --seeds 3 --output crossover
  muffle compare --methods dp-sgd,dp-psac --recipe adult-mlp --data people.toml --set records=30000 \\
      --epsilon 0.5,1,2 --output people")]
pub struct Arguments {
    /// Methods with their usual settings: see `muffle methods`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "recipes")]
    methods: Vec<String>,
    /// Recipes as they are in place of methods, of whatever kind of training: see `muffle recipes`
    #[arg(long, value_name = "RECIPES", value_delimiter = ',', conflicts_with_all = ["methods", "mode", "recipe"])]
    recipes: Vec<String>,
    /// Forms of the methods: sound, as-published, or both; what is sound as published has one form
    #[arg(long, value_name = "MODES", value_delimiter = ',', default_value = "sound", value_parser = [Mode::Sound.name(), Mode::AsPublished.name()])]
    mode: Vec<String>,
    /// The privacy of every run, one or several
    #[arg(long, value_name = "EPSILONS", value_delimiter = ',', required = true)]
    epsilon: Vec<f64>,
    /// Runs of each method at each epsilon, with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The method or recipe that all others are tested against at the same epsilon, in pairs of runs with one seed
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// A recipe by name (see `muffle recipes`), a .toml file, or the folder of a run: all that the methods share
    #[arg(long, value_name = "RECIPE", default_value = recipes::RECIPES[0].name)]
    recipe: String,
    /// Data set: a published name or a path of your own
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// Model: a name or a model file
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Change a key of the recipe for all runs: epochs=5, clip.threshold=0.5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Change a key for one method (NAME), one form of it (NAME/MODE) or one recipe alone: auto-s:learning_rate=0.5
    #[arg(long = "set-for", value_name = "NAME:KEY=VALUE")]
    own_settings: Vec<String>,
    /// Also run the recipe without privacy, or each of the recipes
    #[arg(long)]
    without_privacy: bool,
    /// Change a key of the runs without privacy alone, whose gradients nothing shortens: learning_rate=0.1
    #[arg(long = "set-without-privacy", value_name = "KEY=VALUE", requires = "without_privacy")]
    plain_settings: Vec<String>,
    #[command(flatten)]
    tuning: TuningArguments,
    #[command(flatten)]
    options: Options,
}

/// What stands in place of an epsilon where there is none.
const NO_EPSILON: &str = "none";

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    check_settings(&[&arguments.settings[..], &arguments.plain_settings].concat())?;
    arguments.check_columns()?;
    let axis = arguments.tuning.axis()?;
    if let Some(axis) = &axis {
        arguments.check_tuned(&axis.key)?;
    }
    let (factors, mut variants) = match arguments.recipes.is_empty() {
        true => (vec!["method", "form", "epsilon"], arguments.variants()?),
        false => (vec!["recipe", "epsilon"], arguments.recipes_at_budgets()?),
    };
    arguments.check_own_settings(&variants)?;
    arguments.check_baseline(&variants)?;
    let plain = match arguments.without_privacy {
        true => arguments.variants_without_privacy()?,
        false => Vec::new(),
    };
    let options = &arguments.options;
    let across = Some(factors.len() - 1);
    let factors: Vec<String> = factors.into_iter().map(String::from).collect();
    let experiment = |variants: &[Variant]| {
        let all = [variants, &plain].concat();
        Experiment::new(&options.output, factors.clone(), all, &options.search())
    };
    // What cannot run is known before anything is tuned.
    let planned = experiment(&variants)?;
    let stop = stop_on_interrupt()?;
    let (experiment, tuning) = match axis {
        None => (planned, None),
        Some(axis) => {
            let tuning = arguments.tuning.tune(axis, &factors, &mut variants, options, &stop)?;
            (experiment(&variants)?, Some(tuning))
        }
    };
    let experiment = experiment.with_seeds(arguments.seeds);
    let title = format!("Comparison on {}", experiment.data().join(", "));
    let layout = Layout { title, across, panels: 0 };
    run_experiment(&experiment, options, &layout, &stop, |results| {
        Ok(arguments.remarks(results, tuning.as_ref()))
    })
}

impl Arguments {
    /// What is changed of a recipe, where some changes are for it alone; an epsilon of nothing takes it away. What is said of one
    /// replaces what is said of all, with everything below it: `clip={..}` also `clip.threshold=1`.
    fn changes(&self, epsilon: &str, own: Vec<String>) -> Vec<String> {
        let named = [
            Some(format!("epsilon={epsilon}")),
            self.data.as_ref().map(|value| format!("data={value:?}")),
            self.model.as_ref().map(|value| format!("model={value:?}")),
        ];
        let replaced = |general: &String| {
            own.iter().any(|setting| format!("{}.", key(general)).starts_with(&format!("{}.", key(setting))))
        };
        let general = named.into_iter().flatten().chain(self.settings.clone());
        general.filter(|setting| !replaced(setting)).chain(own.iter().cloned()).collect()
    }

    /// Changes for one alone: whose, and which.
    fn own_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.own_settings.iter().filter_map(|text| text.split_once(':'))
    }

    /// What is changed for one method or recipe, or for one form of it, alone.
    fn own(&self, name: &str, mode: Option<Mode>) -> Vec<String> {
        let form = mode.map(|mode| format!("{name}/{}", mode.name()));
        let of = move |(whose, _): &(&str, &str)| *whose == name || Some(*whose) == form.as_deref();
        self.own_settings().filter(of).map(|(_, setting)| setting.into()).collect()
    }

    /// Refuses settings of what a column of the table says.
    fn check_columns(&self) -> Outcome<()> {
        let columns: &[(&str, &str)] = match self.recipes.is_empty() {
            true => &[("epsilon", "--epsilon"), ("method", "--methods"), ("mode", "--mode")],
            false => &[("epsilon", "--epsilon")],
        };
        let own = self.own_settings().map(|(_, setting)| setting);
        let all = self.settings.iter().chain(&self.plain_settings).map(String::as_str).chain(own);
        for setting in all {
            if let Some((_, option)) = columns.iter().find(|(column, _)| *column == key(setting)) {
                return Err(format!("{setting}: a column of the table says it; use {option}").into());
            }
        }
        Ok(())
    }

    /// Refuses settings of what is to be chosen, of a part of it, or of what it is a part of.
    fn check_tuned(&self, tuned: &str) -> Outcome<()> {
        let within = |inner: &str, outer: &str| format!("{inner}.").starts_with(&format!("{outer}."));
        let model = self.model.as_ref().map(|_| "model");
        let own = self.own_settings().map(|(_, setting)| setting);
        let mut all = self.settings.iter().map(String::as_str).chain(own).chain(model);
        match all.find(|setting| within(key(setting), tuned) || within(tuned, key(setting))) {
            Some(setting) => Err(format!("{setting}: --tune chooses {tuned}; leave one of them out").into()),
            None => Ok(()),
        }
    }

    /// Refuses settings of what is not compared.
    fn check_own_settings(&self, variants: &[Variant]) -> Outcome<()> {
        let forms = |variant: &Variant| match &variant.levels[..] {
            [method, form, epsilon] if epsilon != NO_EPSILON => {
                vec![method.clone(), format!("{method}/{form}")]
            }
            [recipe, _] => vec![recipe.clone()],
            _ => vec![],
        };
        let mut names: Vec<String> = variants.iter().flat_map(forms).collect();
        names.sort();
        names.dedup();
        for text in &self.own_settings {
            let Some((whose, setting)) = text.split_once(':') else {
                return Err(format!(
                    "--set-for {text}: give NAME:KEY=VALUE, such as auto-s:learning_rate=0.5"
                )
                .into());
            };
            check_settings(&[setting.to_string()])?;
            if !names.iter().any(|name| name == whose) {
                return Err(format!(
                    "--set-for {whose}: it is not among what is compared, {}",
                    names.join(", ")
                )
                .into());
            }
        }
        Ok(())
    }

    /// Every recipe at every epsilon.
    fn recipes_at_budgets(&self) -> Outcome<Vec<Variant>> {
        let mut variants = Vec::new();
        for name in &self.recipes {
            let short = short(name);
            for &epsilon in &self.epsilon {
                let changes = self.changes(&epsilon.to_string(), self.own(&short, None));
                variants.push(Variant {
                    levels: vec![short.clone(), epsilon.to_string()],
                    name: format!("{short}-{epsilon}"),
                    recipe: recipes::find(name, &changes)?,
                });
            }
        }
        Ok(variants)
    }

    /// The recipe, or each of them, by plain descent: what privacy is measured against.
    fn variants_without_privacy(&self) -> Outcome<Vec<Variant>> {
        let of_methods = self.recipes.is_empty();
        let recipes = if of_methods { std::slice::from_ref(&self.recipe) } else { &self.recipes[..] };
        let variant = |name: &String| {
            let own = if of_methods { vec![] } else { self.own(&short(name), None) };
            let private = ["private=false".to_string()].into_iter();
            let settings = private.chain(self.changes("", [own, self.plain_settings.clone()].concat()));
            let settings: Vec<String> = settings.collect();
            let (levels, recipe) = match of_methods {
                true => (vec!["dp-sgd", "without privacy"], kinds::find(name, Some("dp-sgd"), &settings)?),
                false => (vec![], recipes::find(name, &settings)?),
            };
            let own = if of_methods { None } else { Some(short(name)) };
            let levels = own.into_iter().chain(levels.into_iter().chain([NO_EPSILON]).map(String::from));
            Ok(Variant { levels: levels.collect(), name: format!("{}-without-privacy", short(name)), recipe })
        };
        recipes.iter().map(variant).collect()
    }

    fn variants(&self) -> Outcome<Vec<Variant>> {
        let mut variants: Vec<Variant> = Vec::new();
        // The noise follows from epsilon, whatever the recipe had; where it has no length, the length does.
        let noise = (!self.has_no_length()?).then(|| "noise_multiplier=".to_string());
        for name in &self.methods {
            let (_, about) = kinds::find_method(name)?;
            for mode in [Mode::Sound, Mode::AsPublished] {
                // What is sound as published has one form, which is then both.
                let asked = self.mode.iter().any(|word| word == mode.name());
                let only = about.modes.len() == 1 && about.modes[0] == mode;
                if !about.modes.contains(&mode) || !(asked || only) {
                    continue;
                }
                if mode == Mode::AsPublished {
                    eprintln!("{name} as published, not proved: {}", about.breaks);
                }
                for &epsilon in &self.epsilon {
                    let own = [format!("mode={}", mode.name())].into_iter().chain(noise.clone());
                    let changes = self.changes(&epsilon.to_string(), self.own(name, Some(mode)));
                    let settings: Vec<String> = own.chain(changes).collect();
                    let form = if mode == Mode::Sound { String::new() } else { format!("-{}", mode.name()) };
                    let variant = Variant {
                        levels: vec![name.clone(), mode.name().to_string(), epsilon.to_string()],
                        name: format!("{name}{form}-{epsilon}"),
                        recipe: kinds::find(&self.recipe, Some(name), &settings)?,
                    };
                    if variants.iter().all(|other| other.name != variant.name) {
                        variants.push(variant);
                    }
                }
            }
        }
        Ok(variants)
    }

    /// Whether the recipe leaves the length to epsilon and noise.
    fn has_no_length(&self) -> Outcome<bool> {
        let training = recipes::find(&self.recipe, &self.settings)?.training;
        let has = |key: &str| training.contains_key(key);
        Ok(has("noise_multiplier") && !has("epochs") && !has("steps"))
    }

    fn check_baseline(&self, variants: &[Variant]) -> Outcome<()> {
        let Some(name) = &self.against else { return Ok(()) };
        let names: Vec<&str> = variants.iter().map(|variant| variant.levels[0].as_str()).collect();
        match (names.contains(&name.as_str()), names.iter().all(|other| other == name), self.seeds) {
            (false, _, _) => {
                Err(format!("--against {name}: it is not among what is compared, {}", once(&names)).into())
            }
            (_, true, _) => Err(format!("--against {name}: there is nothing else to compare with it").into()),
            (_, _, 1) => Err("--against tests pairs of runs with one seed: give --seeds 2 or more".into()),
            _ => Ok(()),
        }
    }

    /// What is to be known about the table, and the tests against a baseline.
    fn remarks(&self, results: &Results, tuning: Option<&Tuning>) -> Remarks {
        let paragraphs = [
            "Deviations and Student intervals are over seeds: they say how much the random numbers of a run matter, not the \
             choice of the test split.",
            "Every epsilon is that of one run. All of these runs read the records, and runs of one seed share their noise: \
             what is learned from the table, or published of several models, costs more than any single epsilon.",
            REPRODUCIBLE,
        ];
        let mut remarks = Remarks { paragraphs: paragraphs.map(String::from).to_vec(), ..Remarks::default() };
        if self.without_privacy {
            let plain = format!(
                "Runs whose epsilon is \"{NO_EPSILON}\" are plain descent: nothing in them protects anybody."
            );
            remarks.paragraphs.insert(1, plain);
        }
        if let Some(tuning) = tuning {
            remarks.paragraphs.insert(0, tuning.paragraph());
            remarks.fields.insert("tuning".into(), tuning.json());
        }
        if let Some(name) = &self.against {
            let introduction = format!(
                "Beside {name} at the same epsilon, in pairs of runs with one seed: the mean difference, its interval, and the p of \
                 Student's test of pairs, two-sided and by itself (of many tests some are small by chance).\n\n"
            );
            remarks.paragraphs.insert(0, introduction + results.differences(name).trim_end());
            remarks.fields.insert("against".into(), self.tests(results, name));
        }
        remarks
    }

    /// The tests for machines.
    fn tests(&self, results: &Results, name: &str) -> Value {
        let test = |found: Difference| {
            let test = found.test.ok();
            json!({
                "group": found.group, "baseline": name, "pairs": test.map(|test| test.difference.count),
                "difference": test.map(|test| test.difference.mean), "t": test.map(|test| test.t), "p": test.map(|test| test.p),
            })
        };
        results.against(name).into_iter().map(test).collect()
    }
}

/// The name of a recipe, also of one in a file.
fn short(name: &str) -> String {
    Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy().into_owned())
}

/// Names, each once, in order.
fn once(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.dedup();
    names.join(", ")
}
