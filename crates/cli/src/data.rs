//! `muffle data`: which data sets there are, what they hold, whether they are whole, and how to get them.

mod describe;
mod ranges;

use crate::CommandResult;
use clap::{Args, Subcommand, ValueEnum};
use muffle::data::entry::Entry;
use muffle::data::fetch::fetch;
use muffle::data::made_up::{MadeUp, Order};
use muffle::data::registry::{ENTRIES, entry};
use muffle::data::{Dataset, Quantity, Search, Source, Split, Task, View, Visibility};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// List, describe, check and download data sets.
///
/// A data set is one of the published names, or a path of your own: a TOML description of a table (CSV, Parquet or arrays), an
/// .npz archive, or a folder of images with one folder for each class. Published sets are searched in --data-dir, in
/// MUFFLE_DATA, and in ~/.local/share/muffle.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle data list
  muffle data info mnist
  muffle data describe people.csv --label income --number age,savings --category job --output people.toml
  muffle data ranges people.csv --description people.toml --epsilon 0.1
  muffle data check people.toml
  muffle data fetch cifar10 --data-dir ~/data")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Folder to search first, and to download into (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The published data sets: records, shape, classes, licence, where found or how to get
    List,
    /// What one data set holds, and by which public constants its values are scaled
    Info {
        /// A published name or a path
        data: String,
        /// Show counts by class of your own records too: they are statistics of private data
        #[arg(long)]
        reveal: bool,
    },
    /// Read everything: checksums of a published set, structure of any
    Check {
        /// A published name or a path
        data: String,
    },
    /// Write made-up records to try things on: a table of patients, a folder of scans, or short notes
    Example {
        /// What they are
        kind: Kind,
        /// The file to write, or the folder for scans
        #[arg(long, value_name = "PATH")]
        output: PathBuf,
        /// How many
        #[arg(long, default_value_t = 10_000)]
        records: usize,
        /// Another seed gives other records of the same kind
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Leave the answers out: new records, to be scored
        #[arg(long)]
        unlabelled: bool,
    },
    Describe(describe::Arguments),
    Ranges(ranges::Arguments),
    /// Download the official files of a published set and compare them with the published checksums
    Fetch {
        /// A published name
        name: String,
        /// Another server that has the same files as URL/NAME/FILE
        #[arg(long, value_name = "URL", env = "MUFFLE_MIRROR")]
        mirror: Option<String>,
    },
}

/// Kinds of made-up records.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A hospital's table with all that makes tables difficult, as CSV
    Patients,
    /// Small grey images of two kinds, as PNG
    Scans,
    /// Short texts of two classes, as CSV
    Notes,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    if let Some(folder) = arguments.data_dir.as_deref().filter(|folder| folder.is_file()) {
        return Err(format!("--data-dir {} is a file, not a folder", folder.display()).into());
    }
    let search = Search::new(arguments.data_dir.as_deref());
    let (object, text) = match &arguments.command {
        Command::List => list(&search),
        Command::Info { data, reveal } => info(data, &search, *reveal)?,
        Command::Check { data } => check(data, &search)?,
        Command::Example { kind, output, records, seed, unlabelled } => {
            let kind = match kind {
                Kind::Patients => MadeUp::Patients,
                Kind::Scans => MadeUp::Scans,
                Kind::Notes => MadeUp::Notes,
            };
            Order { kind, records: *records, seed: *seed, labelled: !unlabelled }.write(output)?;
            let text = format!("{}: {records} made-up records", output.display());
            (json!({ "output": output, "records": records }), text)
        }
        Command::Describe(arguments) => describe::run(arguments)?,
        Command::Ranges(arguments) => ranges::run(arguments)?,
        Command::Fetch { name, mirror } => {
            let chatty = !arguments.json;
            fetched(name, &search, mirror.as_deref(), chatty)?
        }
    };
    println!("{}", if arguments.json { object.to_string() } else { text });
    Ok(())
}

fn list(search: &Search) -> (Value, String) {
    let mut objects = Vec::new();
    let mut text = format!(
        "{:<14} {:>15}  {:<12} {:>7}  {:<42} {}\n",
        "name", "train + test", "shape", "classes", "licence", "where, or how to get it"
    );
    for &entry in &ENTRIES {
        let place = search.find(entry).ok().map(|found| found.place());
        let get = entry.how_to_get();
        let records = format!("{} + {}", entry.records.0, entry.records.1);
        text += &format!(
            "{:<14} {records:>15}  {:<12} {:>7}  {:<42} {}\n",
            entry.name,
            format!("{:?}", entry.input),
            entry.classes,
            entry.licence,
            place.as_ref().unwrap_or(&get)
        );
        let mut object = about(entry);
        object["found"] = json!(place);
        object["how_to_get"] = json!(get);
        objects.push(object);
    }
    text += "Your own: a .toml description of a table, an .npz archive, a folder of images (see `muffle data --help`).";
    (Value::Array(objects), text)
}

/// What the registry says of a set.
fn about(entry: &Entry) -> Value {
    json!({
        "name": entry.name, "title": entry.title, "train": entry.records.0, "test": entry.records.1,
        "shape": entry.input, "classes": entry.classes, "licence": entry.licence, "citation": entry.citation,
    })
}

const NOT_COUNTED: &str = "not shown: counts of private records are statistics; --reveal shows them to you";

type Report = Result<(Value, String), Box<dyn std::error::Error>>;

fn info(data: &str, search: &Search, reveal: bool) -> Report {
    let source = Source::resolve(data, search)?;
    let dataset = source.load()?;
    let counted = reveal || dataset.visibility() == Visibility::Public;
    let mut object = summary(&dataset);
    object["classes"] = json!(dataset.classes());
    object["scaling"] = json!(dataset.scaling().about());
    object["visibility"] = json!(dataset.visibility());
    let mut text = lines(&dataset);
    if let Source::Named(found) = &source {
        for (key, value) in [("licence", found.entry.licence), ("citation", found.entry.citation)] {
            object[key] = json!(value);
            text += &format!("{:<11} {value}\n", key);
        }
        object["found"] = json!(found.place());
        text += &format!("{:<11} {}\n", "found", found.place());
    }
    text += &format!("{:<11} {}\n", "scaling", dataset.scaling().about());
    text += "            (constants that are public or declared; none is computed from the records)\n";
    let targets = match dataset.task() {
        Task::Classes(_) => return Ok(with_classes(&dataset, counted, object, text)),
        Task::Labels(names) => names.join(", "),
        Task::Values(quantities) => {
            let shown = |quantity: &Quantity| {
                format!(
                    "{} from {} to {}, scaled to 0 to 1",
                    quantity.name, quantity.range[0], quantity.range[1]
                )
            };
            quantities.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
        Task::None => "none".to_string(),
    };
    object["targets"] = json!(targets);
    text += &format!("{:<11} {targets}", "targets");
    Ok((object, text))
}

/// Adds the classes, and their counts if they may be shown.
fn with_classes(dataset: &Dataset, counted: bool, mut object: Value, mut text: String) -> (Value, String) {
    let counts = |view: View<'_>| Split::class_counts(view.split(), dataset.classes().len());
    let (train, test) = (counts(dataset.train()), counts(dataset.test()));
    object["class_counts"] = if counted { json!({ "train": train, "test": test }) } else { Value::Null };
    text += &format!("{:<11} ", "classes");
    if counted {
        let rows = dataset.classes().iter().zip(train.iter().zip(&test));
        let rows = rows.map(|(class, (train, test))| format!("\n  {class:<20} {train:>8} + {test}"));
        text += &format!("train + test{}", rows.collect::<String>());
    } else {
        text += &format!("{}\ncounts      {NOT_COUNTED}", dataset.classes().join(", "));
    }
    (object, text)
}

fn summary(dataset: &Dataset) -> Value {
    json!({
        "name": dataset.name(), "shape": dataset.input().sizes(),
        "train": dataset.train().split().len(), "test": dataset.test().split().len(),
    })
}

fn lines(dataset: &Dataset) -> String {
    format!(
        "{:<11} {}\n{:<11} {} training, {} test\n{:<11} {}{}\n",
        "name",
        dataset.name(),
        "records",
        dataset.train().split().len(),
        dataset.test().split().len(),
        "shape",
        dataset.input(),
        if dataset.input().sizes().len() == 3 { " (channels, rows, columns)" } else { "" }
    )
}

fn check(data: &str, search: &Search) -> Report {
    let start = Instant::now();
    let source = Source::resolve(data, search)?;
    let mut files = Vec::new();
    let dataset = match &source {
        Source::Named(found) => {
            let contents = found.contents()?;
            for (content, official) in contents.iter().zip(found.entry.files) {
                let verified = official.md5.is_some() || found.is_archive();
                files.push((content.file.clone(), content.bytes.len(), verified));
            }
            (found.entry.load)(found.entry, contents)?
        }
        Source::Own(_) => source.load()?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut object = summary(&dataset);
    let mut text = String::new();
    for (file, bytes, verified) in &files {
        let state =
            if *verified { "checksum as published" } else { "no checksum published, structure checked" };
        text += &format!("{file}: {bytes} bytes, {state}\n");
    }
    object["files"] = files
        .iter()
        .map(|(file, bytes, verified)| json!({ "file": file, "bytes": bytes, "checksum_verified": verified }))
        .collect();
    object["ok"] = json!(true);
    object["seconds"] = json!(seconds);
    text += &lines(&dataset);
    text += &format!("ok          read and checked in {seconds:.2} s");
    Ok((object, text))
}

fn fetched(name: &str, search: &Search, mirror: Option<&str>, chatty: bool) -> Report {
    let entry = entry(name)?;
    let files = fetch(entry, search, mirror, |url| {
        if chatty {
            eprintln!("fetching {url}");
        }
    })?;
    let mut text = String::new();
    for file in &files {
        let state = if file.already { "was there already" } else { "fetched, checksum as published" };
        text += &format!("{}: {state}\n", file.path.display());
    }
    text += &match files.is_empty() {
        true => format!("{name} is built in: nothing to fetch"),
        false => format!("licence: {}\ncite: {}", entry.licence, entry.citation),
    };
    let files: Vec<Value> =
        files.iter().map(|file| json!({ "path": file.path, "already": file.already })).collect();
    Ok((json!({ "name": name, "files": files, "licence": entry.licence }), text))
}
