//! Tables, and the description of what is in them.

use super::arrays::{NPZ, npy};
use super::{said, seeds, text};
use crate::mutate::npz::{Member, archive};
use crate::mutate::{npz, parquet, text as text_mutation};
use crate::target::{INFLATED, Memory, Target};
use ::parquet::basic::{Compression, GzipLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use bytes::Bytes;
use muffle::data::column::Column;
use muffle::data::own::csv::{self, Decimal, Form};
use muffle::data::own::row::{Row, Wanted};
use muffle::data::own::rows::Rows;
use muffle::data::own::{Description, npz_table, parquet as columns};
use muffle::data::{DataError, Task};
use std::sync::{Arc, LazyLock};

pub static CSV: Target = Target {
    name: "csv",
    door: "csv::rows_of",
    seeds: || {
        let plain =
            "age,weight,day,job,note,kind\n7,0.5,2001-02-03,x,abcd,a\n-8,,2010-11-12T10:00:00Z,,\"e, f\",b\n";
        let commas = "kind;age;weight;day;job;note;x\r\na;1e3;NA;2010-11-12 10:00;\"\"\"y\"\"\";é;\r\n";
        let wide: Vec<u8> =
            "\u{feff}".chars().chain(plain.chars()).flat_map(|sign| (sign as u16).to_le_bytes()).collect();
        vec![plain.as_bytes().to_vec(), commas.as_bytes().to_vec(), wide]
    },
    mutate: text_mutation::mutate,
    parse: |input| {
        // How the table is written follows from its length, so that an input always means the same.
        let decimal = if input.len() % 2 == 0 { Decimal::Point } else { Decimal::Comma };
        let form = Form { decimal, ..Form::default() };
        table(&COLUMNS, |wanted, visit| csv::rows_of("file", input, form, wanted, visit))
    },
    memory: Memory { fixed: 1 << 16, each: 64 },
};

pub static NPZ_TABLE: Target = Target {
    name: "npz-table",
    door: "npz_table::rows_of",
    seeds: || vec![arrays(false), arrays(true)],
    mutate: npz::mutate,
    parse: |input| table(&COLUMNS, |wanted, visit| npz_table::rows_of("file", input, wanted, visit)),
    memory: NPZ.memory,
};

pub static PARQUET: Target = Target {
    name: "parquet",
    door: "parquet::rows_of",
    seeds: || {
        let gzip = Compression::GZIP(GzipLevel::default());
        [Compression::UNCOMPRESSED, Compression::SNAPPY, gzip].map(written).to_vec()
    },
    mutate: parquet::mutate,
    parse: |input| {
        let file = Bytes::copy_from_slice(input);
        table(&COLUMNS[..2], |wanted, visit| columns::rows_of("file", file, wanted, visit))
    },
    // A byte becomes a value of a dictionary, of 32 bytes.
    memory: Memory { fixed: 1 << 20, each: 48 * INFLATED },
};

pub static PARQUET_ZSTD: Target = Target {
    name: "parquet-zstd",
    seeds: || {
        vec![
            include_bytes!("../../../data/tests/fixtures/tables/zstd.parquet").to_vec(),
            include_bytes!("../../../data/tests/fixtures/tables/zstd-2.parquet").to_vec(),
        ]
    },
    // A byte may stand for 32,768, which are held in a window and as a page; and a window may have 8 MiB.
    memory: Memory { fixed: 32 << 20, each: 4 * 32_768 },
    ..PARQUET
};

pub static DESCRIPTION: Target = Target {
    name: "description",
    door: "Description::parse",
    seeds: || seeds(&DESCRIPTIONS),
    mutate: text_mutation::mutate,
    parse: |input| Description::parse(text(input)?).map(drop),
    // Classes by their number get names, up to the most that are allowed.
    memory: Memory { fixed: 4 << 20, each: 256 },
};

/// What the tables here hold, every kind of column once. A table in columns has the first two.
static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let text = r#"
        format = "csv"
        path = "t.csv"
        test_fraction = 0.5
        label = "kind"
        classes = ["a", "b"]
        missing_values = ["NA"]
        columns = [
            { name = "age", range = [0, 100] },
            { name = "weight", range = [0, 1], missing = 0.5 },
            { name = "day", dates = ["2000-01-01", "2020-12-31T06:30"] },
            { name = "job", hash = 4, indicator = true },
            { name = "note", tokens = { kind = "bytes", length = 3, keep = "end" } },
        ]
    "#;
    Description::parse(text).expect("a description").columns
});

/// Reads a table of some columns and a class as a data set of the user's own is read.
fn table(
    columns: &[Column],
    read: impl FnOnce(&[Wanted], &mut dyn FnMut(Row<'_>) -> Result<(), DataError>) -> Result<(), DataError>,
) -> Result<(), String> {
    let task = Task::Classes(vec!["a".to_string(), "b".to_string()]);
    let mut rows = Rows::new("file", columns, &task);
    let wanted = columns.iter().map(|column| Wanted { name: &column.name, number: column.is_number() });
    let wanted: Vec<Wanted> = wanted.chain([Wanted { name: "kind", number: false }]).collect();
    read(&wanted, &mut |row| rows.push(&row.position, |index| row.cell(index))).map_err(said)?;
    drop(rows.finish());
    Ok(())
}

/// A table of two rows as arrays.
fn arrays(deflated: bool) -> Vec<u8> {
    let member = |name: &str, content| Member { name: format!("{name}.npy").into_bytes(), content, deflated };
    archive(&[
        member("age", npy("<i2", "(2,)", &[7, 0, 0xff, 0xff])),
        member("weight", npy("<f4", "(2,)", &[0, 0, 0, 0x3f, 0, 0, 0x80, 0x3e])),
        member("day", npy("|S10", "(2,)", b"2001-02-032010-11-12")),
        member("job", npy("<U1", "(2,)", b"x\0\0\0y\0\0\0")),
        member("note", npy("|u1", "(2, 3)", &[1, 2, 3, 4, 5, 6])),
        member("kind", npy("|S1", "(2,)", b"ab")),
    ])
}

/// A table in columns.
fn written(compression: Compression) -> Vec<u8> {
    let schema = "message t { required int64 age; optional double weight; required binary kind (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(compression).set_created_by(String::new());
    let mut file = Vec::new();
    let write = |file: &mut Vec<u8>| {
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
        let mut group = writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            column.typed::<Int64Type>().write_batch(&[7, 8, 7], None, None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(&[0.5, 0.25], Some(&[1, 0, 1]), None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            let kinds = ["a", "b", "a"].map(ByteArray::from);
            column.typed::<ByteArrayType>().write_batch(&kinds, None, None)?;
            column.close()?;
        }
        group.close()?;
        writer.close()
    };
    write(&mut file).expect("memory takes everything");
    file
}

/// All keys.
const DESCRIPTIONS: [&str; 5] = [
    r#"format = "csv"
path = "t.csv"
label = "class"
classes = ["no", "yes"]
split = { column = "set", train = "a", test = "b" }
public = { path = "pool.csv", labelled = true }
columns = [{ name = "age", range = [0, 100], logarithmic = true, missing = 3 }, { name = "job", categories = ["x", "y"], other = true }]
"#,
    r#"format = "parquet"
path = "t.parquet"
test_path = "test.parquet"
values = [{ column = "price", range = [0, 200] }, { column = "age", range = [-1e3, 1.5] }]
[[columns]]
name = "weight"
standard = [70, 10.5]
"#,
    r#"format = "npz"
path = "a.npz"
classes = 10
range = [0, 1]
layout = "channels-first"
"#,
    r#"format = "images"
path = "folder"
size = [32, 32]
channels = 3
test_fraction = 0.2
"#,
    r#"format = "csv"
path = ["a.csv", "b.csv"]
delimiter = ";"
decimal = ","
encoding = "windows-1252"
missing_values = ["NA", "-"]
target = "none"
test_fraction = 0.5
[[columns]]
name = "day"
dates = ["2000-01-01", "2020-12-31T06:30:00+01:00"]
date_format = "%d.%m.%Y"
indicator = true
[[columns]]
name = "job"
hash = 64
[[columns]]
name = "note"
tokens = { kind = "ids", length = 9, vocabulary = 100, padding = 3, keep = "end" }
"#,
];
