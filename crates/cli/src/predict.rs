//! `muffle predict`: what does a finished model say of each record?

use crate::CommandResult;
use crate::destination::Destination;
use crate::model_arguments::ModelArguments;
use crate::output;
use crate::train::{Outcome, cores};
use clap::{Args, ValueEnum};
use muffle::data::own::csv::Decimal;
use muffle::data::own::stream::{Options, Stream};
use muffle::data::own::{Origin, is_flat};
use muffle::data::written::{Format, Writer};
use muffle::data::{Dataset, Schema, Search, Source, Task};
use muffle::scoring::{Answers, Scored, score};
use muffle::train::Trained;
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Write what a finished model says of each record: a class with the probabilities of all, labels, or numbers.
///
/// The model knows how rows become its inputs. Give a table (.csv, .parquet, also .gz and .xz), arrays (.npz), a folder of images or
/// CSV on standard input (-): every row of it is answered, in order, with its id or its file name. Targets are not needed.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle predict runs/people-... --data new.csv --output scores.csv
  muffle predict model.safetensors --data new.parquet --id patient --output scores.parquet
  cat new.csv | muffle predict model.safetensors --data - --threshold 0.3 | head
  muffle predict model.safetensors --data photos/ --output scores.npz
  muffle predict runs/mnist-...                  the records that its run set aside")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// File to write: .csv, .parquet or .npz (default: CSV to standard output)
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kind of file, whatever its name
    #[arg(long, value_enum)]
    format: Option<FormatChoice>,
    /// The column that names a row (default: a column `id`, or the number of the row from 0)
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Probability from which on a record is of the second of two classes, or has a label
    #[arg(long, value_name = "PROBABILITY")]
    threshold: Option<f64>,
    /// Leave out rows that cannot be read, and say how many, in place of ending with an error
    #[arg(long)]
    skip_bad: bool,
    /// Numbers in CSV are written as 1,5
    #[arg(long)]
    decimal_comma: bool,
    /// Print a JSON object about what was done; the rows go to --output
    #[arg(long, requires = "output")]
    json: bool,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatChoice {
    /// Text, cells between commas.
    Csv,
    /// Columns.
    Parquet,
    /// Arrays of NumPy, one for each column.
    Npz,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let trained = arguments.model.trained()?;
    let search = Search::new(arguments.model.data_dir.as_deref());
    match arguments.rows(&trained, &search)? {
        Some((stream, schema)) => arguments.answer(&trained, stream, false, &schema.task),
        None => {
            let dataset: Dataset = trained.dataset(arguments.model.data.as_deref(), &search)?;
            let stream = Stream::of_view(arguments.model.view(&dataset));
            arguments.answer(&trained, stream, true, dataset.task())
        }
    }
}

impl Arguments {
    /// The rows that are to be read by what the model knows; `None` if a data set is asked for.
    fn rows<'a>(
        &self,
        trained: &'a Trained,
        search: &Search,
    ) -> Outcome<Option<(Stream<'static>, &'a Schema)>> {
        let word = self.model.data.as_deref();
        let path = match word {
            None => return Ok(None),
            Some("-") => None,
            Some(word) => match Source::resolve(word, search)? {
                Source::Own(path) if is_rows(&path)? => Some(path),
                _ => return Ok(None),
            },
        };
        let bundle = trained.bundle.as_ref().ok_or(
            "bare weights do not say how rows become inputs: describe the data in a .toml file, and give that by --data",
        )?;
        let decimal = if self.decimal_comma { Decimal::Comma } else { Decimal::Point };
        let options = Options { id: self.id.clone(), skip_bad: self.skip_bad, decimal };
        let stream = match path {
            Some(path) => Stream::open(&path, &bundle.schema, &options)?,
            None => Stream::standard_input(&bundle.schema, &options)?,
        };
        Ok(Some((stream, &bundle.schema)))
    }

    fn format(&self) -> Format {
        match self.format {
            Some(FormatChoice::Csv) => Format::Csv,
            Some(FormatChoice::Parquet) => Format::Parquet,
            Some(FormatChoice::Npz) => Format::Npz,
            None => self.output.as_deref().map_or(Format::Csv, Format::of),
        }
    }

    fn threads(&self) -> Outcome<usize> {
        match self.model.threads {
            Some(threads) if !(1..=cores()).contains(&threads) => {
                Err(format!("--threads {threads} is outside 1 to {}, the cores of this machine", cores())
                    .into())
            }
            threads => Ok(threads.unwrap_or_else(cores)),
        }
    }

    fn answer(&self, trained: &Trained, stream: Stream<'_>, prepared: bool, task: &Task) -> CommandResult {
        let threshold = self.threshold.or(trained.decision.threshold());
        let answers = Answers::new(task, &stream.id, stream.named, threshold, self.format())?;
        let path = self.output.as_deref();
        let shown = path.map_or("standard output".to_string(), |path| path.display().to_string());
        let about = |error: Box<dyn std::error::Error>| format!("{shown}: {error}");
        let destination = Destination::of(path).map_err(|error| about(error.into()))?;
        if self.json && destination == Destination::StandardOutput {
            return Err("--json: standard output has the rows; give them a file by --output".into());
        }
        let (clock, threads) = (Instant::now(), self.threads()?);
        let mut closed = false;
        let scored = destination.write(|out| {
            let mut note = |error: std::io::Error| {
                closed |= error.kind() == ErrorKind::BrokenPipe;
                muffle::Error::File { path: PathBuf::from(&shown), reason: error.to_string() }
            };
            let mut writer = Writer::new(out, &answers.layout).map_err(&mut note)?;
            let scored = score(trained, stream, prepared, &answers, threads, |part| {
                writer.write(part).map_err(&mut note)
            })?;
            writer.finish().map_err(&mut note)?;
            Ok(scored)
        });
        // Whoever closes a pipe has seen enough.
        let scored = match scored {
            Err(_) if closed => {
                output::give_up(ErrorKind::BrokenPipe.into());
                return Ok(());
            }
            scored => scored?,
        };
        self.report(trained, &scored, threshold, clock)
    }

    fn report(
        &self,
        trained: &Trained,
        scored: &Scored,
        threshold: Option<f64>,
        clock: Instant,
    ) -> CommandResult {
        if let Some(reason) = &scored.reason {
            eprintln!("{} rows were left out; the first: {reason}", scored.skipped);
        }
        if self.json {
            let object = json!({
                "model": trained.path, "records": scored.records, "skipped": scored.skipped, "threshold": threshold,
                "output": self.output, "seconds": clock.elapsed().as_secs_f64(),
            });
            writeln!(std::io::stdout(), "{object}")?;
        }
        Ok(())
    }
}

/// Whether a path leads to rows, not to a data set with splits and targets.
fn is_rows(path: &Path) -> Outcome<bool> {
    Ok(match Origin::of(path) {
        Origin::Described => false,
        Origin::Folder => is_flat(path)?,
        Origin::Text | Origin::Columns | Origin::Arrays => true,
    })
}
