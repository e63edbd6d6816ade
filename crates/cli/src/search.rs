//! `muffle search`: a network that learns well under clipping and noise, found privately.

use crate::CommandResult;
use crate::interrupt::{Interrupted, stop_on_interrupt};
use crate::train::cores;
use crate::words::figure_in_words;
use clap::Args;
use muffle::data::Search;
use muffle::recipes;
use muffle::run::{REPRODUCIBLE, Status};
use muffle::search::{Candidate, Found, Settings, Strategy, search};
use muffle::train::Recipe;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Search for a network of cells (DPNAS) under a budget: a model file, and a certificate of what the search cost.
///
/// Every candidate is trained privately on a part of the training records and judged by a noisy count of the others. With `--strategy
/// walk` the next one differs from the best so far in one edge of its cell; with `controller` a recurrent network draws it, and learns
/// from the noisy counts which to draw. The budget covers all of them. Training the network that was found costs an epsilon of its own,
/// and both add up. The same command on the same folder goes on with a search that was interrupted.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle search mnist --epsilon 3 --set steps=60 --output found
  muffle search mnist --epsilon 3 --set steps=60 --strategy controller --candidates 40 --output drawn
  muffle train mnist --model found/model.toml")]
pub struct Arguments {
    /// How a candidate is trained: a recipe by name (see `muffle recipes`) or a .toml file
    #[arg(default_value = recipes::RECIPES[0].name)]
    recipe: String,
    /// Change a key of the recipe: steps=60, batch_size=1000
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The budget of the whole search (default: the recipe's)
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<f64>,
    /// How the next candidate follows from those before
    #[arg(long, value_name = "STRATEGY", default_value = Strategy::Walk.name(), value_parser = Strategy::ALL.map(Strategy::name))]
    strategy: String,
    /// Networks that are tried
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    candidates: u64,
    /// Share of the training records that judges candidates
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    held_out: f64,
    /// Epsilon of one judgement
    #[arg(long, value_name = "EPSILON", default_value_t = 0.02)]
    reward_epsilon: f64,
    /// Channels of the three cells, multiples of eight
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', default_values_t = [16, 16, 32])]
    channels: Vec<usize>,
    /// Makes the search reproducible, and its noise known to whoever knows the seed
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Folder for model.toml, candidates.jsonl, privacy.json and ledger.jsonl: the same command on the same folder goes on
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// One JSON object a line on standard output; the last is the result
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let mut settings = arguments.settings.clone();
    settings.extend(arguments.epsilon.map(|epsilon| format!("epsilon={epsilon}")));
    settings.extend(arguments.seed.map(|seed| format!("seed={seed}")));
    let mut recipe = Recipe::of(&recipes::find(&arguments.recipe, &settings)?)?;
    recipe.run.threads = Some(recipe.run.threads.unwrap_or_else(cores));
    let Ok(channels) = <[usize; 3]>::try_from(arguments.channels.clone()) else {
        return Err("--channels: there are three cells; give three numbers, for example 16,16,32".into());
    };
    let settings = Settings {
        strategy: Strategy::find(&arguments.strategy).unwrap_or_default(),
        candidates: arguments.candidates,
        share: arguments.held_out,
        reward_epsilon: arguments.reward_epsilon,
        channels,
    };
    let dataset = recipe.run.dataset(&Search::new(arguments.data_dir.as_deref()))?;
    let stop = stop_on_interrupt()?;
    let mut show = |candidate: &Candidate| {
        let Candidate { number, accuracy, best } = *candidate;
        match arguments.json {
            true => println!("{}", json!({ "candidate": number, "noisy_accuracy": accuracy, "best": best })),
            false => eprintln!(
                "candidate {number} of {}: {:.2} % (noisy){}",
                arguments.candidates,
                100.0 * accuracy,
                if best { ", the best so far" } else { "" }
            ),
        }
    };
    let found = search(&arguments.output, &recipe, &settings, &dataset, &stop, &mut show)?;
    print(&found, &arguments.output.join("model.toml"), arguments.json);
    match found.certificate.status {
        Status::Interrupted => Err(Interrupted::with_result(
            "the best of the candidates that were tried is kept, and all are paid for; the same command goes on with the next",
        )),
        Status::Finished | Status::Diverged => Ok(()),
    }
}

fn print(found: &Found, model: &Path, json: bool) {
    let certificate = &found.certificate;
    if json {
        println!(
            "{}",
            json!({
                "model": model, "noisy_accuracy": found.accuracy, "epsilon": certificate.proved.epsilon,
                "epsilon_if_seed_is_secret": certificate.epsilon_if_seed_is_secret(),
                "delta": certificate.delta, "adjacency": certificate.adjacency, "steps": certificate.steps,
                "accountant": certificate.proved.accountant, "reproducible": certificate.reproducible,
                "interrupted": certificate.status == Status::Interrupted,
            })
        );
        return;
    }
    println!("accuracy  {:.2} % of the records held out (noisy)", 100.0 * found.accuracy);
    println!(
        "epsilon   {} at delta {}, {}, by {}, for the search alone",
        figure_in_words(certificate.proved.epsilon, certificate.epsilon_if_seed_is_secret(), None),
        certificate.delta,
        certificate.adjacency,
        certificate.proved.accountant
    );
    println!("model     {}", model.display());
    if certificate.reproducible {
        println!("{REPRODUCIBLE}");
    }
}
