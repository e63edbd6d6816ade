//! Rows of a table becoming inputs, whatever the format.

use super::{Chunk, Ids, Job, Options, RECORDS, Stream, Texts};
use crate::column::{Column, width};
use crate::error::{DataError, Result};
use crate::own::csv::{Decimal, with_point};
use crate::own::row::{Position, Row, Wanted};
use crate::own::{known, parquet};
use crate::schema::Schema;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Messages of rows that cannot be read end with this.
const REMEDY: &str = "correct the row, or leave out such rows with --skip-bad";

/// What is read of the rows of a table.
pub(super) struct Table {
    pub file: String,
    columns: Vec<Column>,
    /// The column that names a row.
    id: Option<String>,
    pub options: Options,
}

impl Table {
    /// Of a table with these columns.
    pub fn new(file: &str, header: &[String], schema: &Schema, options: &Options) -> Result<Table> {
        let columns = schema.columns.clone();
        let wanted = |name: &String| {
            name.eq_ignore_ascii_case("id") && columns.iter().all(|column| column.name != *name)
        };
        let id = options.id.clone().or_else(|| header.iter().find(|name| wanted(name)).cloned());
        known::wanted(schema).map_err(|reason| DataError::Description { file: file.to_string(), reason })?;
        Ok(Table { file: file.to_string(), columns, id, options: options.clone() })
    }

    /// Its rows.
    pub fn stream(
        &self,
        jobs: impl Iterator<Item = Result<Job<'static>>> + Send + 'static,
    ) -> Stream<'static> {
        let id = self.id.clone().unwrap_or_else(|| "record".to_string());
        Stream { id, named: self.id.is_some(), jobs: Box::new(jobs) }
    }

    /// Names of the columns to read: those of the inputs, then that of the name.
    pub fn wanted(&self) -> Vec<Wanted<'_>> {
        let inputs =
            self.columns.iter().map(|column| Wanted { name: &column.name, number: column.is_number() });
        inputs.chain(self.id.as_deref().map(|name| Wanted { name, number: false })).collect()
    }

    /// No rows yet.
    pub fn chunk(&self) -> Chunk {
        let ids = match self.id {
            Some(_) => Ids::Texts(Texts::default()),
            None => Ids::Numbers(Vec::new()),
        };
        Chunk::new(ids, width(&self.columns))
    }

    /// Appends one row, by its cells in the order of the wanted columns.
    pub fn push<'c>(
        &self,
        chunk: &mut Chunk,
        record: u64,
        position: &dyn Display,
        cell: impl Fn(usize) -> &'c str,
    ) -> Result<()> {
        let (before, mut point) = (chunk.inputs.len(), String::new());
        for (index, column) in self.columns.iter().enumerate() {
            let cell = cell(index).trim();
            let encoded = match self.options.decimal == Decimal::Comma && column.is_number() {
                true => with_point(cell, &mut point).and_then(|()| column.encode(&point, &mut chunk.inputs)),
                false => column.encode(cell, &mut chunk.inputs),
            };
            if let Err(reason) = encoded {
                chunk.inputs.truncate(before);
                let position = format!("{position}, column `{}`", column.name);
                return self.skip(chunk, &position, reason);
            }
        }
        match &mut chunk.ids {
            Ids::Numbers(numbers) => numbers.push(record),
            Ids::Texts(texts) => texts.push(cell(self.columns.len()).trim()),
        }
        Ok(())
    }

    /// Leaves a row out, or refuses it.
    pub fn skip(&self, chunk: &mut Chunk, position: &dyn Display, reason: String) -> Result<()> {
        chunk.skip(DataError::malformed(&self.file, position, reason).remedy(REMEDY), &self.options)
    }
}

/// The rows of a table in columns.
pub(super) fn columns(path: &Path, schema: &Schema, options: &Options) -> Result<Stream<'static>> {
    // Numbers in columns are numbers, however a text would write them.
    let options = Options { decimal: Decimal::Point, ..options.clone() };
    let table = Table::new(&path.display().to_string(), &parquet::header(path)?, schema, &options)?;
    let (table, path) = (Arc::new(table), path.to_path_buf());
    // The decoder calls for each row: a thread of its own turns that into a sequence.
    let (sender, receiver) = sync_channel(1);
    let stream = table.stream(receiver.into_iter());
    std::thread::spawn(move || send_rows(&path, &table, &sender));
    Ok(stream)
}

/// Cells of some rows, in the order of the wanted columns, and the number of the first.
struct Rows {
    first: u64,
    positions: Vec<Position>,
    cells: Texts,
}

fn send_rows(path: &Path, table: &Arc<Table>, sender: &SyncSender<Result<Job<'static>>>) {
    let wanted = table.wanted();
    let none = |first| Rows { first, positions: Vec::new(), cells: Texts::default() };
    let mut rows = none(0);
    let read = parquet::rows(path, &wanted, |row: Row<'_>| {
        (0..wanted.len()).for_each(|index| rows.cells.push(row.cell(index)));
        rows.positions.push(row.position);
        if rows.positions.len() == RECORDS {
            let next = none(rows.first + RECORDS as u64);
            let full = std::mem::replace(&mut rows, next);
            // Nobody listens any more: the reading ends here, and the message reaches nobody.
            let gone = |_| DataError::malformed(&table.file, "end of the reading", "stopped");
            sender.send(Ok(job(table, full))).map_err(gone)?;
        }
        Ok(())
    });
    drop(match read {
        Ok(()) => sender.send(Ok(job(table, rows))),
        Err(error) => sender.send(Err(error)),
    });
}

fn job(table: &Arc<Table>, rows: Rows) -> Job<'static> {
    let table = table.clone();
    Box::new(move || {
        let (mut chunk, width) = (table.chunk(), table.wanted().len());
        for (row, position) in rows.positions.iter().enumerate() {
            let cell = |index| rows.cells.get(row * width + index);
            table.push(&mut chunk, rows.first + row as u64, position, cell)?;
        }
        Ok(chunk)
    })
}
