//! Tables as Parquet, read record by record.

use super::parquet_footer;
use super::parquet_pages::{Page, pages};
use super::parquet_zstd::{self, Group};
use super::row::{Position, Row, Wanted, places};
use crate::column::Day;
use crate::error::{DataError, Result};
use crate::limits;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::record::{Field, Row as Record};
use ::parquet::schema::types::Type;
use muffle_nn::regular_file;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Calls `visit` with each row of a file.
pub fn rows(path: &Path, wanted: &[Wanted], visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
    let opened = regular_file::open(path).map_err(|error| DataError::system(path, error))?;
    rows_of(&path.display().to_string(), opened, wanted, visit)
}

/// Calls `visit` with each row of a file that is open, or in memory.
///
/// The decoder is a large one written by others: should it panic on a damaged file, that too is an error here.
pub fn rows_of(
    file: &str,
    source: impl ChunkReader + 'static,
    wanted: &[Wanted],
    visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let result = catch_unwind(AssertUnwindSafe(|| read(file, source, wanted, visit)));
    result.unwrap_or_else(|_| Err(DataError::malformed(file, "whole file", "the decoder gave up on it")))
}

fn read(
    file: &str,
    source: impl ChunkReader + 'static,
    wanted: &[Wanted],
    mut visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let wrong = |error: ParquetError| {
        DataError::malformed(file, "whole file", error)
            .remedy("write it again, compressed with zstd, snappy, gzip or not at all")
    };
    parquet_footer::check(&source)
        .map_err(|error| DataError::malformed(file, "whole file", format!("its footer: {error}")))?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&source).map_err(wrong)?;
    plausible(file, &metadata, source.len())?;
    plausible_pages(file, &metadata, &source)?;
    let schema = metadata.file_metadata().schema();
    let header = names(schema);
    let places = places(file, &header, wanted)?;
    let projection = projection(schema, &places).map_err(wrong)?;
    let source = Arc::new(source);
    let mut index = 0;
    for metadata in metadata.row_groups() {
        let group = Group { source: source.clone(), metadata };
        for row in group.get_row_iter(Some(projection.clone())).map_err(wrong)? {
            index += 1;
            let position = Position::Row(index);
            let cells = cells(&row.map_err(wrong)?, wanted).map_err(|reason| {
                DataError::malformed(file, position, reason).remedy("leave the column out or convert it")
            })?;
            visit(Row::new(position, cells.iter().map(|cell| cell.trim()).collect()))?;
        }
    }
    Ok(())
}

/// The wanted cells of a row, as texts.
fn cells(row: &Record, wanted: &[Wanted]) -> std::result::Result<Vec<String>, String> {
    let mut cells = vec![String::new(); wanted.len()];
    for (name, field) in row.get_column_iter() {
        for place in (0..wanted.len()).filter(|place| wanted[*place].name == name) {
            cells[place] = text(field).ok_or_else(|| {
                format!("column `{name}` holds {field}, neither a number, a date nor a text")
            })?;
        }
    }
    Ok(cells)
}

/// Most bytes that a byte of a column can stand for.
fn ratio(column: &ColumnChunkMetaData) -> u64 {
    match column.compression() {
        Compression::ZSTD(_) => parquet_zstd::RATIO,
        _ => limits::DEFLATE_RATIO,
    }
}

/// The names of all columns, and nothing else of the file.
pub fn header(path: &Path) -> Result<Vec<String>> {
    let file = path.display().to_string();
    let wrong = |reason: String| DataError::malformed(&file, "whole file", reason);
    let opened = regular_file::open(path).map_err(|error| DataError::system(path, error))?;
    parquet_footer::check(&opened).map_err(|error| wrong(format!("its footer: {error}")))?;
    let read = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(opened)));
    let reader = read.map_err(|_| wrong("the decoder gave up on it".to_string()))?;
    let reader = reader.map_err(|error| wrong(error.to_string()))?;
    Ok(names(reader.metadata().file_metadata().schema()))
}

fn names(schema: &Type) -> Vec<String> {
    schema.get_fields().iter().map(|field| field.name().to_string()).collect()
}

/// Sizes in the footer against the file and the caps, before a page is read.
fn plausible(file: &str, metadata: &ParquetMetaData, length: u64) -> Result<()> {
    let wrong = |position: String, reason: String| Err(DataError::malformed(file, position, reason));
    for (group, part) in metadata.row_groups().iter().enumerate() {
        for column in part.columns() {
            let position = format!("row group {group}, column `{}`", column.column_path());
            let (compressed, whole) = (column.compressed_size(), column.uncompressed_size());
            let in_file = u64::try_from(compressed).is_ok_and(|size| size <= length);
            let in_memory = u64::try_from(whole).is_ok_and(|size| size <= limits::MAXIMUM_BYTES);
            // Some column needs a bit for each row, and compression goes only so far.
            let most = limits::MAXIMUM_VALUES.min(length.saturating_mul(8 * ratio(column)));
            let values = u64::try_from(column.num_values()).is_ok_and(|count| count <= most);
            if !in_file || !in_memory || !values {
                return wrong(
                    position,
                    format!(
                        "{} values in {compressed} bytes ({whole} uncompressed) of a file of {length}",
                        column.num_values()
                    ),
                );
            }
        }
    }
    Ok(())
}

/// Sizes in the headers of pages against the bytes they have, before the decoder takes memory for them.
fn plausible_pages(file: &str, metadata: &ParquetMetaData, source: &impl ChunkReader) -> Result<()> {
    for (group, part) in metadata.row_groups().iter().enumerate() {
        for column in part.columns() {
            let position = || format!("row group {group}, column `{}`", column.column_path());
            let (start, length) = column.byte_range();
            let stream = source
                .get_read(start)
                .map_err(|error| DataError::malformed(file, format!("byte {start}"), error))?;
            let all = pages(stream.take(length)).map_err(|error| {
                DataError::malformed(file, position(), format!("the header of a page: {error}"))
            })?;
            let ratio = ratio(column);
            let within = |page: &Page| {
                // Values of a dictionary differ, so that it does not compress as far as zstd can go; each takes a byte at least.
                let ratio = if page.dictionary > 0 { ratio.min(limits::DEFLATE_RATIO) } else { ratio };
                let most = page.compressed.saturating_mul(ratio as i64).saturating_add(64);
                page.uncompressed <= most && page.dictionary <= page.uncompressed
            };
            if let Some(page) = all.iter().find(|page| !within(page)) {
                let Page { uncompressed, compressed, dictionary } = page;
                let reason = format!(
                    "a page of {compressed} bytes that promises {uncompressed} uncompressed ones, and {dictionary} values of a \
                     dictionary"
                );
                return Err(DataError::malformed(file, position(), reason));
            }
        }
    }
    Ok(())
}

/// A schema of the wanted columns alone, in the order of the file.
fn projection(schema: &Type, places: &[usize]) -> std::result::Result<Type, ParquetError> {
    let fields = schema.get_fields().iter().enumerate();
    let fields = fields.filter(|(index, _)| places.contains(index)).map(|(_, field)| field.clone()).collect();
    Type::group_type_builder(schema.name()).with_fields(fields).build()
}

/// A cell as CSV would write it.
fn text(field: &Field) -> Option<String> {
    Some(match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => value.clone(),
        Field::Date(days) => String::from(Day(f64::from(*days))),
        Field::TimestampMillis(moment) => String::from(Day(*moment as f64 / 86_400e3)),
        Field::TimestampMicros(moment) => String::from(Day(*moment as f64 / 86_400e6)),
        Field::Decimal(_) => field.to_string(),
        Field::ListInternal(list) => {
            list.elements().iter().map(text).collect::<Option<Vec<String>>>()?.join(" ")
        }
        Field::Bytes(value) => value.as_utf8().ok()?.to_string(),
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mutation::survives_cases;
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    /// A table of three columns: `age`, an optional `weight`, and `kind`.
    pub(crate) fn file(
        compression: Compression,
        ages: &[i64],
        weights: &[Option<f64>],
        kinds: &[&str],
    ) -> Vec<u8> {
        let schema = "message t { required int64 age; optional double weight; required binary kind (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(ages, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let present: Vec<f64> = weights.iter().copied().flatten().collect();
        let levels: Vec<i16> = weights.iter().map(|weight| i16::from(weight.is_some())).collect();
        column.typed::<DoubleType>().write_batch(&present, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let kinds: Vec<ByteArray> = kinds.iter().map(|kind| ByteArray::from(*kind)).collect();
        column.typed::<ByteArrayType>().write_batch(&kinds, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    fn cells(bytes: &[u8], wanted: &[&str]) -> Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, bytes).unwrap();
        let mut read = Vec::new();
        let wanted: Vec<Wanted> = wanted.iter().map(|name| Wanted { name, number: false }).collect();
        rows(&path, &wanted, |row| {
            read.push((0..wanted.len()).map(|index| row.cell(index).to_string()).collect());
            Ok(())
        })?;
        Ok(read)
    }

    #[test]
    fn wanted_columns_come_in_the_wanted_order() {
        for compression in
            [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(Default::default())]
        {
            let bytes = file(compression, &[7, -8], &[Some(0.5), None], &["a", "b"]);
            assert_eq!(cells(&bytes, &["kind", "age"]).unwrap(), [["a", "7"], ["b", "-8"]]);
            assert_eq!(cells(&bytes, &["weight"]).unwrap(), [["0.5"], [""]]);
        }
    }

    /// Files that pyarrow wrote: 40 rows, every seventh without a weight; with dictionaries, and in two groups of pages of the second
    /// version without.
    const PACKED: [&[u8]; 2] = [
        include_bytes!("../../tests/fixtures/tables/zstd.parquet"),
        include_bytes!("../../tests/fixtures/tables/zstd-2.parquet"),
    ];

    #[test]
    fn zstd_is_unpacked() {
        for file in PACKED {
            let read = cells(file, &["age", "weight", "kind"]).unwrap();
            assert_eq!(read.len(), 40);
            for (index, row) in read.iter().enumerate() {
                let weight = if index % 7 == 0 { String::new() } else { (index as f64 / 4.0).to_string() };
                assert_eq!(row, &[index.to_string(), weight, ["a", "b"][index % 2].to_string()]);
            }
        }
    }

    #[test]
    fn a_missing_column_and_a_damaged_file_are_refused() {
        let bytes = file(Compression::SNAPPY, &[7], &[None], &["a"]);
        let message = cells(&bytes, &["height"]).unwrap_err().to_string();
        assert!(message.contains("no column `height`") && message.contains("age, weight, kind"), "{message}");
        let message = cells(&bytes[..bytes.len() - 1], &["age"]).unwrap_err().to_string();
        assert!(message.contains("t.parquet, whole file"), "{message}");
    }

    #[test]
    fn mutated_files_never_escape_as_a_panic() {
        // The decoder's own panics are caught; their messages would only hide the report of a failure.
        let good = file(Compression::SNAPPY, &[7, 8, 9], &[Some(1.0), None, Some(2.0)], &["a", "b", "a"]);
        survives_cases(&good, 600, |bytes| drop(cells(bytes, &["age", "weight", "kind"])));
        survives_cases(PACKED[1], 600, |bytes| drop(cells(bytes, &["age", "weight", "kind"])));
    }
}
