//! `muffle study gradient-norms`: how long gradients are, tensor by tensor, while a network learns without privacy.

use crate::CommandResult;
use crate::bar::bar;
use clap::Args;
use muffle::data::Search;
use muffle::gradient_norms::NormsOverTraining;
use muffle::recipes;
use muffle::train::{DataShape, Plan, Recipe};
use muffle_page::plot::{self, Line, Panel};
use muffle_page::results::{Plots, leave};
use serde_json::json;
use std::path::PathBuf;

/// Figure 1 of Ma, Kong, Huang 2023: the L2 norm of every tensor's gradient over a training.
///
/// A network learns by plain descent, without clip, noise and momentum, at the learning rate and batch size of the recipe, and the norms
/// of the gradients of single records are averaged over the batch. Such norms say something of the records, and nothing pays for
/// them here: only published data sets are taken.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle study gradient-norms --recipe ma-2023-table-1 --set learning_rate=0.005 --steps 5000 --output norms
  muffle study gradient-norms --recipe ma-2023-table-2 --set learning_rate=0.01 --steps 1000 --plot norms.svg --output norms")]
pub struct GradientNorms {
    /// A recipe by name (see `muffle recipes`) or a .toml file: data, network, first weights, batch size and learning rate
    #[arg(long, value_name = "RECIPE", default_value = "ma-2023-table-1")]
    recipe: String,
    /// Change a key of the recipe: learning_rate=0.005, model=cnn-small
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Steps of descent
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Steps from one look at the norms to the next (default: a hundred looks)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Of first weights and batches
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Folder for table and plot
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Also draw the plot into a file, SVG or PNG by its ending
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// No progress, only the result
    #[arg(long)]
    quiet: bool,
}

impl GradientNorms {
    /// Runs the command.
    pub fn run(&self) -> CommandResult {
        let settings = [&self.settings[..], &["private=false".to_string(), "epsilon=".to_string()]].concat();
        let recipe = Recipe::of(&recipes::find(&self.recipe, &settings)?)?;
        let dataset = recipe.run.dataset(&Search::new(self.data_dir.as_deref()))?;
        let plan = Plan::new(recipe, &DataShape::of(&dataset))?;
        let every = self.every.unwrap_or(self.steps.div_ceil(100));
        let bar = bar("norms of gradients", self.steps, self.quiet || self.json);
        let found = NormsOverTraining::of(&plan, &dataset, [self.steps, every], self.seed, |step| {
            bar.set_position(step)
        });
        bar.finish_and_clear();
        let found = found?;
        let panel = panel(&found, &format!("{}, {}", plan.recipe.run.data, self.recipe));
        if let Some(path) = &self.plot {
            plot::write(path, std::slice::from_ref(&panel))?;
        }
        let text = format!("# Norms of gradients over a training\n\n{}", table(&found));
        leave(
            &self.output,
            &text,
            Plots { caution: CAUTION.into(), panels: vec![panel], ..Plots::default() },
        )?;
        match self.json {
            true => println!(
                "{}",
                json!({ "tensors": found.tensors, "looks": found.looks, "output": self.output })
            ),
            false => println!("{}\n{CAUTION}\n\nresults in {}", table(&found), self.output.display()),
        }
        Ok(())
    }
}

const CAUTION: &str =
    "The norms are those of records as they are: nothing protects them, and no epsilon covers them.";

/// The first look, one in the middle and the last.
fn table(found: &NormsOverTraining) -> String {
    let last = found.looks.len() - 1;
    let mut places = vec![0, last / 2, last];
    places.dedup();
    let heads: String = places.iter().map(|&place| format!(" step {} |", found.looks[place].0)).collect();
    let mut text = format!("| tensor |{heads}\n|---|{}\n", "---|".repeat(places.len()));
    for (tensor, name) in found.tensors.iter().enumerate() {
        let norms: String =
            places.iter().map(|&place| format!(" {:.4} |", found.looks[place].1[tensor])).collect();
        text += &format!("| {name} |{norms}\n");
    }
    text
}

/// A line for each tensor.
fn panel(found: &NormsOverTraining, title: &str) -> Panel {
    let line = |(tensor, name): (usize, &String)| Line {
        name: name.clone(),
        points: found.looks.iter().map(|(step, norms)| (*step as f64, norms[tensor])).collect(),
        ..Line::default()
    };
    Panel {
        title: title.to_string(),
        x_label: "steps".into(),
        y_label: "mean norm of a record's gradient".into(),
        y_logarithmic: true,
        lines: found.tensors.iter().enumerate().map(line).collect(),
        ..Panel::default()
    }
}
