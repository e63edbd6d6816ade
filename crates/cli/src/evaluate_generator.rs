//! `muffle evaluate` of a generator.

use crate::CommandResult;
use crate::evaluate_curve::CurveArguments;
use crate::model_arguments::ModelArguments;
use crate::opened_generator::OpenedGenerator;
use clap::Args;
use muffle::adversarial::{Quality, Question};
use muffle::train::evaluation::NOT_COVERED;
use serde_json::json;

/// What is asked of generators alone.
#[derive(Args)]
pub struct GeneratorArguments {
    /// For a generator: change how its classifier learns, as in classifier.steps=500
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    curve: CurveArguments,
}

impl GeneratorArguments {
    /// Refuses to take a model for a generator.
    pub fn refuse_for(&self, model: &ModelArguments) -> CommandResult {
        let option = match (self.curve.is_asked_for(), self.settings.is_empty()) {
            (true, _) => "--counts",
            (false, false) => "--set",
            (false, true) => return Ok(()),
        };
        let run = model.run.display();
        Err(format!(
            "{option}: there is no generator in {run}; give the folder of a finished run of kind \"adversarial\", or leave {option} out"
        )
        .into())
    }

    /// Refuses changes of anything but the classifier.
    fn check(&self) -> CommandResult {
        let about_classifier = |setting: &String| {
            let key = setting.split('=').next().unwrap_or_default().trim();
            key == "classifier" || key.starts_with("classifier.")
        };
        match self.settings.iter().find(|setting| !about_classifier(setting)) {
            Some(setting) => Err(format!(
                "--set {setting}: the generator is finished, and only its classifier can be changed, as in classifier.steps=500"
            )
            .into()),
            None => Ok(()),
        }
    }
}

/// Measures it on real records.
pub fn run(model: &ModelArguments, arguments: &GeneratorArguments, json: bool) -> CommandResult {
    arguments.check()?;
    let opened = OpenedGenerator::open(model, &arguments.settings)?;
    if arguments.curve.is_asked_for() {
        return arguments.curve.run(model, opened, json);
    }
    let OpenedGenerator { mut generator, recipe, dataset } = opened;
    let question = Question {
        dataset: &dataset,
        classifier: recipe.classifier.as_ref(),
        count: recipe.generator.measured.unwrap_or(dataset.train().split().len()),
        threads: model.threads,
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
