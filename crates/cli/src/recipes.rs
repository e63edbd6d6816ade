//! `muffle recipes`: the recipes that come with the program.

use crate::CommandResult;
use clap::Args;
use muffle::recipes::{RECIPES, find};
use serde_json::json;

/// List the recipes that come with the program, or print one to start your own from.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle recipes
  muffle recipes mnist > my-recipe.toml")]
pub struct Arguments {
    /// The recipe to print
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    if let Some(name) = &arguments.name {
        find(name, &[])?;
        let recipe = RECIPES.iter().find(|recipe| recipe.name == name);
        let text = recipe.ok_or_else(|| format!("{name} is a file, not a recipe of the program"))?.text;
        print!("{text}");
        return Ok(());
    }
    for recipe in RECIPES {
        let about = find(recipe.name, &[])?.run.about;
        if arguments.json {
            println!("{}", json!({ "name": recipe.name, "about": about }));
        } else {
            println!("{:<28} {about}", recipe.name);
        }
    }
    Ok(())
}
