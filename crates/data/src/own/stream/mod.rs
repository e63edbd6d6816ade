//! Records without targets, chunk after chunk, however many there are.
//!
//! Whoever reads a file cuts it into jobs; each is decoded wherever there is a free thread. Nothing but the jobs under way lies in
//! memory, except for arrays, which are read as a whole.

mod array;
mod cut;
mod pictures;
mod table;
mod text;

use super::csv::Decimal;
use super::origin::Origin;
use super::{images, known};
use crate::dataset::View;
use crate::error::{DataError, Result};
use crate::open;
use crate::schema::Schema;
use muffle_nn::examples::{Examples, Target};
use std::path::Path;

/// What standard input is called in messages.
const STANDARD_INPUT: &str = "standard input";

/// Records of one job that come from memory.
const RECORDS: usize = 4096;

/// How records are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The column of a table that names each row; without it a column `id` that is no input, if there is one.
    pub id: Option<String>,
    /// Leaves out records that cannot be read, in place of an error.
    pub skip_bad: bool,
    /// How numbers of a text are written.
    pub decimal: Decimal,
}

/// Work that gives the next records, on any thread.
pub type Job<'a> = Box<dyn FnOnce() -> Result<Chunk> + Send + 'a>;

/// Records in their order, as jobs.
pub struct Stream<'a> {
    /// What names a record: `record` for its number from 0, `file`, or a column of a table.
    pub id: String,
    /// Whether it is a name, not a number.
    pub named: bool,
    /// The jobs.
    pub jobs: Box<dyn Iterator<Item = Result<Job<'a>>> + Send + 'a>,
}

/// What records are called.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// By their numbers.
    Numbers(Vec<u64>),
    /// By names.
    Texts(Texts),
}

impl Ids {
    /// Number of records.
    pub fn len(&self) -> usize {
        match self {
            Ids::Numbers(numbers) => numbers.len(),
            Ids::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Many short texts in one piece of memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    letters: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends one.
    pub fn push(&mut self, text: &str) {
        self.letters.push_str(text);
        self.ends.push(self.letters.len());
    }

    /// One of them.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.letters[start..self.ends[index]]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// Records of one job, as inputs.
#[derive(Debug)]
pub struct Chunk {
    /// What they are called.
    pub ids: Ids,
    /// Inputs of one record.
    pub width: usize,
    /// Inputs, record after record.
    pub inputs: Vec<f32>,
    /// Records that were left out.
    pub skipped: u64,
    /// What was wrong with the first of them.
    pub reason: Option<String>,
}

impl Chunk {
    fn new(ids: Ids, width: usize) -> Chunk {
        Chunk { ids, width, inputs: Vec::new(), skipped: 0, reason: None }
    }

    /// Leaves a record out, or refuses it.
    fn skip(&mut self, error: DataError, options: &Options) -> Result<()> {
        if !options.skip_bad {
            return Err(error);
        }
        self.skipped += 1;
        self.reason.get_or_insert_with(|| error.to_string());
        Ok(())
    }
}

impl Examples for Chunk {
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * self.width..][..self.width]);
    }

    fn target(&self, _: usize) -> Target<'_> {
        Target::None
    }
}

impl<'a> Stream<'a> {
    /// The records of a table, an archive of arrays or a flat folder of images, as a model with this schema reads them.
    pub fn open(path: &Path, schema: &Schema, options: &Options) -> Result<Stream<'static>> {
        let refuse = |reason: String| DataError::Description { file: path.display().to_string(), reason };
        if !path.exists() {
            return Err(refuse("no such file or folder".to_string()));
        }
        let origin = Origin::of(path);
        if options.id.is_some() && matches!(origin, Origin::Arrays | Origin::Folder) {
            return Err(refuse("an id column is one of a table, and this is none".to_string()));
        }
        match origin {
            Origin::Text => text::stream(&path.display().to_string(), open::stream(path)?, schema, options),
            Origin::Columns => table::columns(path, schema, options),
            Origin::Arrays => array::stream(path, schema),
            Origin::Folder => {
                let form = known::image(schema).map_err(refuse)?;
                Ok(pictures::stream(images::listing(path)?, form, schema, options))
            }
            Origin::Described => Err(refuse(
                "not a kind of file known here: give a table (.csv, .parquet), arrays (.npz) or a folder of images"
                    .to_string(),
            )),
        }
    }

    /// The rows of a table as text on standard input.
    pub fn standard_input(schema: &Schema, options: &Options) -> Result<Stream<'static>> {
        text::stream(STANDARD_INPUT, std::io::stdin(), schema, options)
    }

    /// The records of a view.
    pub fn of_view(view: View<'a>) -> Stream<'a> {
        let width = view.dataset().input().len();
        let jobs = (0..view.len()).step_by(RECORDS).map(move |first| {
            let view = view.clone();
            let records = first..(first + RECORDS).min(view.len());
            Ok(Box::new(move || {
                let mut inputs = vec![0.0; records.len() * width];
                for (index, input) in records.clone().zip(inputs.chunks_exact_mut(width)) {
                    view.read(index, input);
                }
                let ids = Ids::Numbers(records.map(|record| record as u64).collect());
                Ok(Chunk { inputs, ..Chunk::new(ids, width) })
            }) as Job<'a>)
        });
        Stream { id: "record".to_string(), named: false, jobs: Box::new(jobs) }
    }
}
