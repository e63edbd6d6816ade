//! What is written can be read.

use super::*;
use crate::format::npy::{self, Values};
use std::io::{Cursor, Read};

fn headings() -> Vec<Heading> {
    let names: Arc<[String]> = ["no", "yes, sir"].map(String::from).into();
    let heading = |name: &str, kind| Heading { name: name.to_string(), kind };
    vec![
        heading("id", Kind::Texts),
        heading("class", Kind::Names(names)),
        heading("probability_no", Kind::Shares),
        heading("ill", Kind::Flags),
        heading("price", Kind::Values),
        heading("record", Kind::Numbers),
    ]
}

fn cells(ids: &[&str], first: u64) -> Vec<Cells> {
    let mut texts = Texts::default();
    ids.iter().for_each(|id| texts.push(id));
    let rows = 0..ids.len();
    vec![
        Cells::Texts(texts),
        Cells::Names(rows.clone().map(|row| row as u32 % 2).collect()),
        Cells::Shares(rows.clone().map(|row| 0.25 * row as f32).collect()),
        Cells::Flags(rows.clone().map(|row| row == 0).collect()),
        Cells::Values(rows.clone().map(|row| 1.5 - 3.0 * row as f64).collect()),
        Cells::Numbers(rows.map(|row| first + row as u64).collect()),
    ]
}

fn written(format: Format) -> Vec<u8> {
    let (layout, mut bytes) = (Layout { format, headings: headings() }, Vec::new());
    let mut writer = Writer::new(&mut bytes, &layout).unwrap();
    for part in [cells(&["a", "b \"c\""], 0), cells(&["ü"], 2)] {
        writer.write(layout.part(part)).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

#[test]
fn text_has_a_line_for_each_row() {
    let text = String::from_utf8(written(Format::Csv)).unwrap();
    let expected = "id,class,probability_no,ill,price,record\n\
                    a,no,0.000000,1,1.500000,0\n\
                    \"b \"\"c\"\"\",\"yes, sir\",0.250000,0,-1.500000,1\n\
                    ü,no,0.000000,1,1.500000,2\n";
    assert_eq!(text, expected);
}

#[test]
fn shares_have_six_digits() {
    let heading = [Heading { name: "p".to_string(), kind: Kind::Shares }];
    let shares = [0.0, 1.0, 0.999_999_9, 0.5, 1e-7, 0.123_456_7, f32::NAN];
    let text = text::rows(&heading, &[Cells::Shares(shares.to_vec())]);
    let expected = "0.000000\n1.000000\n1.000000\n0.500000\n0.000000\n0.123457\nNaN\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn arrays_have_all_rows() {
    let mut archive = zip::ZipArchive::new(Cursor::new(written(Format::Npz))).unwrap();
    let mut member = |name: &str| {
        let mut bytes = Vec::new();
        archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let array = |bytes: Vec<u8>| npy::array("a.npy", &bytes).unwrap().values;
    assert_eq!(array(member("probability_no")), Values::Floats(vec![0.0, 0.25, 0.0]));
    assert_eq!(array(member("class")), Values::Integers(vec![0, 1, 0]));
    assert_eq!(array(member("record")), Values::Integers(vec![0, 1, 2]));
    assert_eq!(array(member("ill")), Values::Bytes(vec![1, 0, 1]));
    let names = member("class_names");
    let (start, letters) = (names.len() - 2 * 8 * 4, |text: &str| {
        text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>()
    });
    assert!(names[..start].ends_with(b"\n") && String::from_utf8_lossy(&names[..start]).contains("'<U8'"));
    assert_eq!(names[start + 32..], letters("yes, sir")[..]);
}

#[cfg(feature = "parquet")]
#[test]
fn columns_have_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    std::fs::write(&path, written(Format::Parquet)).unwrap();
    let wanted = ["id", "class", "probability_no", "ill", "price", "record"];
    let mut rows = Vec::new();
    let columns = wanted.map(|name| crate::own::row::Wanted { name, number: false });
    crate::own::parquet::rows(&path, &columns, |row| {
        rows.push((0..wanted.len()).map(|cell| row.cell(cell).to_string()).collect::<Vec<_>>().join("|"));
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, ["a|no|0|true|1.5|0", "b \"c\"|yes, sir|0.25|false|-1.5|1", "ü|no|0|true|1.5|2"]);
}
