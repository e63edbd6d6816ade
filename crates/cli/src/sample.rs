//! `muffle sample`: records that may be shared.

use crate::CommandResult;
use crate::destination::Destination;
use crate::train::Outcome;
use clap::Args;
use muffle::adversarial::{Generator, picture};
use muffle::data::Task;
use muffle::data::written::{Format, Layout, Writer, records};
use muffle::noise::{Key, Purpose, Stream, Uniform};
use muffle_nn::Shape;
use muffle_nn::initialise::SplitMix;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Draw records from a generator: a picture of images, arrays, or a table in the form of the one that was learned from.
///
/// What is drawn costs no privacy beside the run's own epsilon, however much of it there is.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle sample runs/dpgan-mnist-... --output digits.png
  muffle sample runs/dpgan-mnist-... --count 60000 --output digits.npz
  muffle sample runs/dpgan-mnist-... --count 1000 --class 3 --output threes.npz
  muffle sample runs/dpgan-adult-... --count 30000 --output people.csv")]
pub struct Arguments {
    /// The folder of a finished run, or its generator alone (.safetensors)
    run: PathBuf,
    /// Number of records
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    count: u64,
    /// One class, by its name or number (default: all, as frequent as they were found to be)
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// File to write: .png of images, .npz, and .csv or .parquet of tables (default: a table as CSV to standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The same records every time
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Threads (default: the machine's cores)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print a JSON object about what was done; the records go to --output
    #[arg(long, requires = "output")]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let mut generator = Generator::open(&arguments.run, arguments.threads)?;
    let class = arguments.class.as_deref().map(|word| class(&generator, word)).transpose()?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => Uniform::new(&Key::from_entropy()?, Stream::new(Purpose::Data, 0)).bits(),
    };
    let output = arguments.output.as_deref();
    let destination = Destination::of(output)?;
    let made = generator.records(arguments.count as usize, class, &mut SplitMix::new(seed))?;
    let (schema, is_table) = (&generator.schema, !generator.schema.columns.is_empty());
    let ending = output.and_then(Path::extension).and_then(|ending| ending.to_str());
    match (ending, schema.shape()) {
        (Some("png"), shape) => match picture(shape, &made.records) {
            Some(picture) => destination.write(|file| Ok(file.write_all(&picture)?))?,
            None => {
                return Err(format!("records of shape {shape} are no pictures; write .npz or .csv").into());
            }
        },
        (Some("npz"), shape) if !is_table => {
            destination.write(|file| Ok(records(file, shape, &made)?))?;
        }
        (_, shape) if !is_table => {
            let images = matches!(shape, Shape::Image { .. });
            let remedy = if images { "--output FILE.png or FILE.npz" } else { "--output FILE.npz" };
            return Err(
                format!("records of shape {shape} are no rows of a table; write them with {remedy}").into()
            );
        }
        _ => {
            let (headings, columns) = schema.table(&made);
            let layout = Layout { format: output.map_or(Format::Csv, Format::of), headings };
            destination.write(|file| -> Outcome<()> {
                let mut writer = Writer::new(file, &layout)?;
                writer.write(layout.part(columns))?;
                Ok(writer.finish()?)
            })?;
        }
    }
    if arguments.json {
        let class = class.map(|class| name(&generator, class));
        println!(
            "{}",
            json!({ "records": arguments.count, "class": class, "output": output, "generator": generator.path })
        );
    }
    Ok(())
}

fn name(generator: &Generator, class: u32) -> Option<&str> {
    generator.schema.task.classes().get(class as usize).map(String::as_str)
}

/// The class that a word names.
fn class(generator: &Generator, word: &str) -> Outcome<u32> {
    let Task::Classes(names) = &generator.schema.task else {
        return Err("--class: the generator knows of no classes; leave it out".into());
    };
    if generator.asked.classes == 0 {
        return Err("--class: the generator was told no classes; leave it out".into());
    }
    let number = || word.parse::<usize>().ok().filter(|number| *number < names.len());
    let found = names.iter().position(|name| name == word).or_else(number);
    let found = found.ok_or_else(|| format!("--class {word}: the classes are {}", names.join(", ")))?;
    if generator.asked.shares[found] <= 0.0 {
        return Err(format!("--class {word}: no records of this class were found to learn from").into());
    }
    Ok(found as u32)
}
