//! A generator as `evaluate` takes it: with its recipe, and with real records beside it.

use crate::model_arguments::ModelArguments;
use crate::train::Outcome;
use muffle::adversarial::{AdversarialRecipe, GENERATOR_FILE, Generator};
use muffle::bundle::Bundle;
use muffle::data::{Dataset, Search};
use muffle::run::Parts;

/// A generator, what its recipe says, and the records of its run or other data of the same form.
pub struct OpenedGenerator {
    pub generator: Generator,
    pub recipe: AdversarialRecipe,
    pub dataset: Dataset,
}

impl OpenedGenerator {
    /// Whether there is one to open: in the folder of a run, or as its file.
    pub fn is_in(arguments: &ModelArguments) -> bool {
        let run = &arguments.run;
        run.join(GENERATOR_FILE).is_file() || run.file_name().is_some_and(|name| name == GENERATOR_FILE)
    }

    /// Opens it, its recipe changed by settings.
    pub fn open(arguments: &ModelArguments, settings: &[String]) -> Outcome<OpenedGenerator> {
        let generator = Generator::open(&arguments.run, arguments.threads)?;
        let bundle = Bundle::read(&generator.path)?.ok_or("the file does not say how it was made")?;
        let parts = Parts::parse(&generator.path.display().to_string(), &bundle.recipe, settings)?;
        let recipe = AdversarialRecipe::of(&parts)?;
        let search = Search::new(arguments.data_dir.as_deref()).near(&generator.path);
        let mut described = parts.run.clone();
        described.data = arguments.data.clone().unwrap_or(described.data);
        let dataset = recipe.divided(&described.dataset(&search)?)?;
        Ok(OpenedGenerator { generator, recipe, dataset })
    }
}
