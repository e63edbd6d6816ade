//! Arrays as NumPy saves them: `x_train`, `y_train`, `x_test`, `y_test` in one `.npz`.

use crate::dataset::{Records, Split};
use crate::error::{DataError, Result};
use crate::format::npy::{self, Array, Values};
use crate::limits;
use crate::open;
use crate::targets::{Table, Targets};
use crate::task::Task;
use muffle_nn::shape::Shape;
use serde::{Deserialize, Serialize};
use std::io::{Cursor, Read, Seek};
use std::path::Path;
use zip::ZipArchive;

/// The order of the sizes of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Rows, columns, channels; or rows, columns.
    #[default]
    ChannelsLast,
    /// Channels, rows, columns.
    ChannelsFirst,
}

/// What arrays of records mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// The order of the sizes of images.
    pub layout: Layout,
    /// If records are sequences of token numbers: how many different ones there are.
    pub vocabulary: Option<u32>,
}

/// Both splits of a file, and the shape of a record.
#[derive(Debug)]
pub struct Arrays {
    /// Shape of one record.
    pub input: Shape,
    /// Training records.
    pub train: Split,
    /// Test records.
    pub test: Split,
}

/// Reads a file. Without a task, or with one of classes, targets are class numbers.
pub fn read(path: &Path, form: Form, task: Option<&Task>) -> Result<Arrays> {
    let bytes = open::read(path, limits::MAXIMUM_BYTES)?;
    arrays(&path.display().to_string(), &bytes, form, task)
}

/// Reads the arrays of both splits.
pub fn arrays(file: &str, bytes: &[u8], form: Form, task: Option<&Task>) -> Result<Arrays> {
    let mut archive = archive(file, bytes)?;
    let mut budget = limits::MAXIMUM_BYTES;
    let mut next = |name: &str| member(file, &mut archive, name, &mut budget);
    let mut pair = |values: &str, targets: &str| {
        let values = next(values)?;
        let targets = if task == Some(&Task::None) { None } else { Some(next(targets)?) };
        Ok::<_, DataError>((values, targets))
    };
    let (train, test) = (pair("x_train", "y_train")?, pair("x_test", "y_test")?);
    if train.0.sizes.get(1..) != test.0.sizes.get(1..) {
        let reason = format!("x_train has sizes {:?}, x_test {:?}", train.0.sizes, test.0.sizes);
        return Err(DataError::malformed(file, "x_test", reason).remedy("records must have one shape"));
    }
    let input = shape(file, &train.0.sizes, form.layout)?;
    let split = |[x, y]: [&str; 2], (values, known): (Array, Option<Array>)| {
        let count = values.sizes[0];
        let targets = match known {
            Some(known) => targets(file, y, known, count, task)?,
            None => Targets::None(count),
        };
        Ok::<_, DataError>(Split { records: records(file, x, values, input, form)?, targets })
    };
    Ok(Arrays {
        input,
        train: split(["x_train", "y_train"], train)?,
        test: split(["x_test", "y_test"], test)?,
    })
}

/// The archive that a file is.
pub(super) fn archive<'b>(file: &str, bytes: &'b [u8]) -> Result<ZipArchive<Cursor<&'b [u8]>>> {
    ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| DataError::malformed(file, "end of the file", format!("no zip archive: {error}")))
}

/// One array of the archive, its promised size checked before it is inflated.
pub(super) fn member<R: Read + Seek>(
    file: &str,
    archive: &mut ZipArchive<R>,
    name: &str,
    budget: &mut u64,
) -> Result<Array> {
    let known: Vec<String> = archive.file_names().take(20).flatten().map(String::from).collect();
    let wrong = |reason: String| DataError::malformed(file, format!("array `{name}`"), reason);
    let member = archive.by_name(&format!("{name}.npy")).map_err(|error| {
        wrong(format!("{error} (the archive holds {})", known.join(", ")))
            .remedy("save with numpy.savez(file, x_train=..., y_train=..., x_test=..., y_test=...)")
    })?;
    let size = member.size();
    if size > *budget || size > member.compressed_size().saturating_mul(limits::DEFLATE_RATIO) + 64 {
        return Err(wrong(format!("{} compressed bytes that promise {size}", member.compressed_size())));
    }
    *budget -= size;
    let place = format!("{file}/{name}.npy");
    npy::array(&place, &open::contents(&place, member, size)?)
}

/// The shape of one record, from the sizes of all.
fn shape(file: &str, sizes: &[usize], layout: Layout) -> Result<Shape> {
    record_shape(sizes, layout).ok_or_else(|| {
        let reason = format!("sizes {sizes:?}; records, then features, or rows, columns and channels");
        DataError::malformed(file, "array `x_train`", reason).remedy("reshape the array")
    })
}

/// The shape of one record, if these are the sizes of many. They were multiplied without overflow when the array was read.
pub(super) fn record_shape(sizes: &[usize], layout: Layout) -> Option<Shape> {
    match (sizes, layout) {
        (&[_, features], _) => Some(Shape::Vector(features)),
        (&[_, height, width], _) => Some(Shape::Image { height, width, channels: 1 }),
        (&[_, height, width, channels], Layout::ChannelsLast) => {
            Some(Shape::Image { height, width, channels })
        }
        (&[_, channels, height, width], Layout::ChannelsFirst) => {
            Some(Shape::Image { height, width, channels })
        }
        _ => None,
    }
}

/// The targets of `count` records, as the task wants them.
pub(super) fn targets(
    file: &str,
    name: &str,
    array: Array,
    count: usize,
    task: Option<&Task>,
) -> Result<Targets> {
    let wrong = |reason: String| DataError::malformed(file, format!("array `{name}`"), reason);
    let width = task.map_or(1, Task::cells);
    if array.sizes != [count, width] && !(width == 1 && array.sizes == [count]) {
        let reason = format!("sizes {:?} for {count} records", array.sizes);
        return Err(wrong(reason).remedy(match width {
            1 => "give one class number (or value) for each record".to_string(),
            _ => format!("give a row of {width} for each record, as many as are declared"),
        }));
    }
    match task {
        Some(Task::Labels(_)) => Ok(Targets::Labels(Table::new(width, numbers(array.values, wrong)?))),
        Some(Task::Values(quantities)) => {
            let numbers = numbers(array.values, wrong)?;
            if let Some(place) = numbers.iter().position(|number| !number.is_finite()) {
                return Err(
                    wrong(format!("value {place} is {}", numbers[place])).remedy("leave the record out")
                );
            }
            let scale = |(place, number): (usize, &f32)| quantities[place % width].scaled(f64::from(*number));
            Ok(Targets::Values(Table::new(width, numbers.iter().enumerate().map(scale).collect())))
        }
        _ => class_numbers(array.values, wrong).map(Targets::Classes),
    }
}

fn class_numbers(values: Values, wrong: impl Fn(String) -> DataError) -> Result<Vec<u32>> {
    let label = |(index, value): (usize, i64)| {
        u32::try_from(value).map_err(|_| wrong(format!("value {index} is {value}, not a class number")))
    };
    match values {
        Values::Bytes(values) => Ok(values.into_iter().map(u32::from).collect()),
        Values::Integers(values) => values.into_iter().enumerate().map(label).collect(),
        Values::Texts(_) => Err(wrong("texts where class numbers are wanted".to_string())
            .remedy("save the place of each among `classes`, as in numpy.searchsorted(classes, y)")),
        Values::Floats(_) => Err(wrong("floats where class numbers are wanted".to_string())
            .remedy("convert with y.astype('uint8') or 'int64', or declare `values` with their ranges")),
    }
}

fn numbers(values: Values, wrong: impl Fn(String) -> DataError) -> Result<Vec<f32>> {
    match values {
        Values::Bytes(values) => Ok(values.into_iter().map(f32::from).collect()),
        Values::Integers(values) => Ok(values.into_iter().map(|value| value as f32).collect()),
        Values::Floats(values) => Ok(values),
        Values::Texts(_) => Err(wrong("texts where numbers are wanted".to_string())),
    }
}

/// The values of all records, channels side by side.
pub(super) fn records(file: &str, name: &str, array: Array, input: Shape, form: Form) -> Result<Records> {
    let wrong = |reason: &str| DataError::malformed(file, format!("array `{name}`"), reason);
    if let Some(vocabulary) = form.vocabulary {
        let tokens = numbers(array.values, |reason| wrong(&reason))?;
        let known = |token: &f32| token.fract() == 0.0 && (0.0..vocabulary as f32).contains(token);
        return match tokens.iter().position(|token| !known(token)) {
            Some(place) => Err(wrong(&format!("value {place} is {}", tokens[place]))
                .remedy(format!("token numbers go from 0 to {}, as `vocabulary` says", vocabulary - 1))),
            None => Ok(Records::Floats(tokens)),
        };
    }
    match array.values {
        Values::Bytes(values) => Ok(Records::Bytes(arrange(values, input, form.layout))),
        Values::Floats(values) => Ok(Records::Floats(arrange(values, input, form.layout))),
        Values::Integers(_) => Err(wrong("integers wider than a byte").remedy(
            "convert with x.astype('uint8') or 'float32', or declare `vocabulary` if they are token numbers",
        )),
        Values::Texts(_) => Err(wrong("texts where numbers are wanted")
            .remedy("declare [[columns]] for arrays that are columns of a table")),
    }
}

/// Channels side by side.
fn arrange<T: Copy>(values: Vec<T>, input: Shape, layout: Layout) -> Vec<T> {
    let Shape::Image { height, width, channels } = input else { return values };
    if layout == Layout::ChannelsLast || channels <= 1 || input.is_empty() {
        return values;
    }
    let pixels = height * width;
    let records = values.chunks_exact(pixels * channels);
    records
        .flat_map(|record| {
            (0..pixels * channels).map(|place| record[place % channels * pixels + place / channels])
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::npy::tests::file as npy;
    use crate::mutation::survives;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    /// An archive as NumPy writes it.
    pub(crate) fn archive(compressed: bool, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let method =
            if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method);
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in members {
            writer.start_file(format!("{name}.npy"), options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    const LAST: Form = Form { layout: Layout::ChannelsLast, vocabulary: None };
    const FIRST: Form = Form { layout: Layout::ChannelsFirst, vocabulary: None };

    fn sample() -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("x_train", npy("|u1", "(2, 2, 1, 2)", &[1, 2, 3, 4, 5, 6, 7, 8])),
            ("y_train", npy("<i8", "(2,)", &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            ("x_test", npy("|u1", "(1, 2, 1, 2)", &[9, 10, 11, 12])),
            ("y_test", npy("|u1", "(1,)", &[1])),
        ]
    }

    #[test]
    fn stored_and_deflated_archives_are_read() {
        for compressed in [false, true] {
            let bytes = archive(compressed, &sample());
            let last = arrays("a.npz", &bytes, LAST, None).unwrap();
            assert_eq!(last.input, Shape::Image { height: 2, width: 1, channels: 2 });
            assert_eq!(last.train.labels(), [1, 0]);
            assert_eq!(last.test.records, Records::Bytes(vec![9, 10, 11, 12]));
            let first = arrays("a.npz", &bytes, FIRST, None).unwrap();
            assert_eq!(first.input, Shape::Image { height: 1, width: 2, channels: 2 });
            assert_eq!(first.test.records, Records::Bytes(vec![9, 11, 10, 12]));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |place: usize, replacement: (&'static str, Vec<u8>), parts: &[&str]| {
            let mut members = sample();
            members[place] = replacement;
            let message = arrays("a.npz", &archive(false, &members), LAST, None).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        refused(0, ("x", vec![]), &["array `x_train`", "numpy.savez", "y_train.npy"]);
        refused(1, ("y_train", npy("|u1", "(3,)", &[0; 3])), &["array `y_train`", "for 2 records"]);
        refused(1, ("y_train", npy("|i1", "(2,)", &[0xff; 2])), &["value 0 is -1"]);
        refused(1, ("y_train", npy("<f4", "(2,)", &[0; 8])), &["astype"]);
        refused(0, ("x_train", npy("<i4", "(2, 1)", &[0; 8])), &["one shape"]);
        refused(0, ("x_train", npy("|u1", "(8,)", &[0; 8])), &["one shape"]);
        assert!(arrays("a.npz", b"not a zip", LAST, None).is_err());
    }

    #[test]
    fn integers_may_be_token_numbers() {
        let mut members = sample();
        members[0].1 = npy("<i4", "(2, 2)", &[7, 0, 0, 0, 0, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        members[2].1 = npy("|u1", "(1, 2)", &[3, 4]);
        let read = |vocabulary| {
            let form = Form { vocabulary: Some(vocabulary), ..LAST };
            arrays("a.npz", &archive(false, &members), form, None)
        };
        let found = read(257).unwrap();
        assert_eq!(found.input, Shape::Vector(2));
        assert_eq!(found.train.records, Records::Floats(vec![7.0, 256.0, 9.0, 0.0]));
        assert_eq!(found.test.records, Records::Floats(vec![3.0, 4.0]));
        let message = read(256).unwrap_err().to_string();
        assert!(message.contains("value 1 is 256"), "{message}");
        assert!(message.contains("0 to 255"), "{message}");
        let message = arrays("a.npz", &archive(false, &members), LAST, None).unwrap_err().to_string();
        assert!(message.contains("`vocabulary`"), "{message}");
    }

    #[test]
    fn mutated_files_never_panic() {
        for compressed in [false, true] {
            let good = archive(compressed, &sample());
            survives(&good, |bytes| drop(arrays("a.npz", bytes, FIRST, None)));
        }
    }

    #[test]
    fn targets_are_those_of_the_task() {
        use crate::task::Quantity;
        let read = |y: Vec<u8>, task: &Task| {
            let mut members = sample();
            members[1].1 = y.clone();
            members[3].1 = npy("<f4", "(1, 2)", &[0; 8]);
            arrays("a.npz", &archive(false, &members), LAST, Some(task))
        };
        let floats = |values: [f32; 4]| {
            npy("<f4", "(2, 2)", &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
        };
        let quantity = |name: &str| Quantity { name: name.into(), range: [0.0, 10.0] };
        let values = Task::Values(vec![quantity("a"), quantity("b")]);
        let split = read(floats([5.0, -1.0, 10.0, 20.0]), &values).unwrap().train;
        assert_eq!(split.targets, Targets::Values(Table::new(2, vec![0.5, 0.0, 1.0, 1.0])));
        let message = read(floats([5.0, f32::NAN, 0.0, 0.0]), &values).unwrap_err().to_string();
        assert!(message.contains("array `y_train`") && message.contains("value 1 is NaN"), "{message}");
        let labels = Task::Labels(vec!["a".into(), "b".into()]);
        let split = read(npy("|b1", "(2, 2)", &[1, 0, 0, 1]), &labels).unwrap().train;
        assert_eq!(split.targets, Targets::Labels(Table::new(2, vec![1.0, 0.0, 0.0, 1.0])));
        let message = read(npy("|b1", "(2,)", &[1, 0]), &labels).unwrap_err().to_string();
        assert!(message.contains("a row of 2"), "{message}");
        assert_eq!(read(vec![], &Task::None).unwrap().test.targets, Targets::None(1));
    }
}
