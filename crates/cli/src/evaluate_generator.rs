//! `muffle evaluate` of a generator.

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use muffle::adversarial::{AdversarialRecipe, GENERATOR_FILE, Generator, Quality, Question};
use muffle::bundle::Bundle;
use muffle::data::Search;
use muffle::run::Parts;
use muffle::train::evaluation::NOT_COVERED;
use serde_json::json;

/// Whether this is the folder of a generator, or its file.
pub fn is_generator(arguments: &ModelArguments) -> bool {
    let run = &arguments.run;
    run.join(GENERATOR_FILE).is_file() || run.file_name().is_some_and(|name| name == GENERATOR_FILE)
}

/// Measures it on the records of its run, or of other data of the same form.
pub fn run(arguments: &ModelArguments, json: bool) -> CommandResult {
    let mut generator = Generator::open(&arguments.run, arguments.threads)?;
    let bundle = Bundle::read(&generator.path)?.ok_or("the file does not say how it was made")?;
    let parts = Parts::parse(&generator.path.display().to_string(), &bundle.recipe, &[])?;
    let recipe = AdversarialRecipe::of(&parts)?;
    let search = Search::new(arguments.data_dir.as_deref()).near(&generator.path);
    let mut described = parts.run.clone();
    described.data = arguments.data.clone().unwrap_or(described.data);
    let dataset = recipe.divided(&described.dataset(&search)?)?;
    let question = Question {
        dataset: &dataset,
        classifier: recipe.classifier.as_ref(),
        count: recipe.generator.measured.unwrap_or(dataset.train().split().len()),
        threads: arguments.threads,
        seed: 1,
    };
    let quality = generator.quality(&question)?;
    if json {
        let mut object = json!(quality);
        (object["model"], object["data"]) = (json!(generator.path), json!(dataset.name()));
        object["not_covered"] = json!(NOT_COVERED);
        println!("{object}");
    } else {
        print(&quality);
    }
    Ok(())
}

fn print(quality: &Quality) {
    println!("generated records        {}", quality.records);
    let share = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            println!("{name:<24} {:.2} %", 100.0 * value);
        }
    };
    share("learned from generated", quality.synthetic_accuracy);
    share("learned from real", quality.real_accuracy);
    share("real, on generated", quality.accuracy_on_synthetic);
    println!(
        "Fréchet distance         {:.3}, of real training records {:.3}",
        quality.frechet_distance, quality.frechet_distance_of_real
    );
    println!("in the features          {}", quality.features);
    println!(
        "coverage                 {:.3}, of real training records {:.3}",
        quality.coverage, quality.coverage_of_real
    );
    println!("nearest training / test  {:.3}", quality.nearest_training_over_test);
    if let Some(diversity) = quality.diversity {
        println!("diversity                {diversity:.3}");
    }
    for (column, difference) in &quality.marginals {
        println!("shares of {column:<15} differ by {difference:.3}");
    }
    if let Some(difference) = quality.correlations {
        println!("correlations             differ by {difference:.3} in the mean");
    }
}
