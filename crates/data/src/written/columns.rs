//! Tables in columns.

use super::{Cells, Heading, Kind};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{Error, Result, Write};
use std::sync::Arc;

/// Rows of a group, which lie in memory until it is full.
const GROUP: usize = 1 << 17;

/// A table under way.
pub(super) struct Columns<'w> {
    writer: SerializedFileWriter<&'w mut (dyn Write + Send)>,
    headings: Vec<Heading>,
    /// Rows of the next group.
    rows: Vec<Cells>,
}

impl<'w> Columns<'w> {
    pub fn new(stream: &'w mut (dyn Write + Send), headings: &[Heading]) -> Result<Columns<'w>> {
        let fields = headings.iter().map(|heading| field(heading).map(Arc::new));
        let fields = fields.collect::<std::result::Result<Vec<_>, ParquetError>>().map_err(Error::other)?;
        let schema = Type::group_type_builder("rows").with_fields(fields).build().map_err(Error::other)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(stream, Arc::new(schema), Arc::new(properties));
        let rows = none(headings);
        Ok(Columns { writer: writer.map_err(from_parquet)?, headings: headings.to_vec(), rows })
    }

    pub fn write(&mut self, columns: Vec<Cells>) -> Result<()> {
        self.rows.iter_mut().zip(columns).for_each(|(cells, more)| cells.append(more));
        if self.rows.first().map_or(0, Cells::len) >= GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes the rows so far as a group.
    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::replace(&mut self.rows, none(&self.headings));
        if rows.first().map_or(0, Cells::len) == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(from_parquet)?;
        for (cells, heading) in rows.into_iter().zip(&self.headings) {
            let mut column =
                group.next_column().map_err(from_parquet)?.ok_or_else(|| Error::other("no column"))?;
            fill(column.untyped(), cells, heading).map_err(from_parquet)?;
            column.close().map_err(from_parquet)?;
        }
        group.close().map_err(from_parquet)?;
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close().map_err(from_parquet)?;
        Ok(())
    }
}

fn none(headings: &[Heading]) -> Vec<Cells> {
    headings.iter().map(|heading| Cells::none(&heading.kind)).collect()
}

/// An error of the system comes back as what it was.
fn from_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(system) => *system,
            Err(other) => Error::other(other),
        },
        other => Error::other(other),
    }
}

fn field(heading: &Heading) -> std::result::Result<Type, ParquetError> {
    let (physical, logical) = match heading.kind {
        Kind::Numbers => (Physical::INT64, None),
        Kind::Texts | Kind::Names(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flags => (Physical::BOOLEAN, None),
        Kind::Shares => (Physical::FLOAT, None),
        Kind::Values => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(&heading.name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()
}

fn fill(
    writer: &mut ColumnWriter<'_>,
    cells: Cells,
    heading: &Heading,
) -> std::result::Result<usize, ParquetError> {
    match (writer, cells) {
        (ColumnWriter::Int64ColumnWriter(writer), Cells::Numbers(numbers)) => {
            let numbers: Vec<i64> = numbers.into_iter().map(|number| number as i64).collect();
            writer.write_batch(&numbers, None, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Texts(texts)) => {
            let texts: Vec<ByteArray> = texts.iter().map(ByteArray::from).collect();
            writer.write_batch(&texts, None, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Names(places)) => {
            let Kind::Names(names) = &heading.kind else {
                return Err(ParquetError::General("a column without names".to_string()));
            };
            let names: Vec<ByteArray> = names.iter().map(|name| ByteArray::from(name.as_str())).collect();
            let cells: Vec<ByteArray> = places.iter().map(|place| names[*place as usize].clone()).collect();
            writer.write_batch(&cells, None, None)
        }
        (ColumnWriter::BoolColumnWriter(writer), Cells::Flags(flags)) => {
            writer.write_batch(&flags, None, None)
        }
        (ColumnWriter::FloatColumnWriter(writer), Cells::Shares(shares)) => {
            writer.write_batch(&shares, None, None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Cells::Values(values)) => {
            writer.write_batch(&values, None, None)
        }
        _ => Err(ParquetError::General("cells of another kind than their column".to_string())),
    }
}
