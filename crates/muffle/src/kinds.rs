//! The kinds of training that a recipe can ask for, and from its name to a job.

use crate::data::{Dataset, Search};
use crate::error::Result;
use crate::methods::{About, Mode};
use crate::run::{Job, Kind, Parts, RunRecipe};
use crate::{adversarial, objective, pate, recipes, train};
use muffle_nn::model_file::nearest::nearest;

/// All of them.
pub static KINDS: &[&Kind] = &[&train::KIND, &objective::KIND, &pate::KIND, &adversarial::KIND];

/// The published methods of every kind, each with its kind.
pub fn methods() -> impl Iterator<Item = (&'static Kind, &'static About)> {
    KINDS.iter().flat_map(|kind| (kind.methods)().into_iter().map(|about| (*kind, about)))
}

/// A method by its name, with its kind.
pub fn find_method(name: &str) -> std::result::Result<(&'static Kind, &'static About), String> {
    methods().find(|(_, about)| about.name == name).ok_or_else(|| {
        let meant = nearest(name, methods().map(|(_, about)| about.name));
        let meant = meant.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        format!("there is no method `{name}`{meant}; `muffle methods` lists them")
    })
}

/// A recipe by its name, by the path of a file or of the folder of a run, run by a method and changed by settings, which come
/// after those of the method.
///
/// A method of another kind takes what every run has from the recipe, and the usual settings of its own kind for the rest. A method that
/// comes as a setting is as good as one by name. The method that the recipe has keeps the recipe's settings; a form of it that the recipe
/// does not have brings what belongs to that form.
pub fn find(word: &str, method: Option<&str>, settings: &[String]) -> Result<Parts> {
    let (recipe, asked) = (recipes::find(word, &[])?, recipes::find(word, settings)?);
    let own = text(&recipe, "method");
    let mode = |parts| {
        if text(parts, "mode") == Some(Mode::AsPublished.name()) { Mode::AsPublished } else { Mode::Sound }
    };
    let Some(name) = method.or(text(&asked, "method")) else { return Ok(asked) };
    let (kind, about) = find_method(name).map_err(|reason| recipe.refuse(reason))?;
    let form = match (own == Some(name), mode(&asked) == mode(&recipe)) {
        (true, true) => return Ok(asked),
        (true, false) => about.own_to(mode(&asked)).map(ToString::to_string).collect(),
        (false, _) => about.form(mode(&asked)).collect::<Vec<String>>(),
    };
    let all = [&form, settings].concat();
    if recipe.run.kind == kind.name {
        return recipes::find(word, &all);
    }
    let Some(usual) = kind.usual else {
        return Err(recipe.refuse(format!(
            "this is training of kind \"{}\", and method `{name}` is {}: take a recipe of that kind (`muffle recipes`)",
            recipe.run.kind, kind.about
        )));
    };
    let run = RunRecipe { kind: kind.name.to_string(), ..recipe.run };
    let training: toml::Table = usual.parse().expect("the usual settings of a kind are TOML");
    Parts::new(&recipe.origin, &run, &training, &all)
}

/// The words of a key of a recipe.
fn text<'a>(parts: &'a Parts, key: &str) -> Option<&'a str> {
    parts.training.get(key).and_then(toml::Value::as_str)
}

/// Answers every open question of a recipe, or says which answer is missing.
pub fn plan(parts: &Parts, dataset: &Dataset) -> Result<Box<dyn Job>> {
    match KINDS.iter().find(|kind| kind.name == parts.run.kind) {
        Some(kind) => (kind.plan)(parts, dataset),
        None => {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let (kind, names) = (&parts.run.kind, names.join(", "));
            Err(parts.refuse(format!("kind = \"{kind}\" is none of the kinds of training: {names}")))
        }
    }
}

/// A recipe as a job, and its data.
pub fn prepare(parts: &Parts, search: &Search) -> Result<(Box<dyn Job>, Dataset)> {
    let dataset = parts.run.dataset(search)?;
    Ok((plan(parts, &dataset)?, dataset))
}
