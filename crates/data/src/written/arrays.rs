//! Tables as arrays of NumPy.
//!
//! # Source
//! NumPy documentation, `numpy.lib.format`, version 1.0.

use super::{Cells, Heading, Kind};
use crate::dataset::{Records, Split};
use crate::targets::Targets;
use muffle_nn::shape::Shape;
use std::io::{Error, Result, Write};
use zip::ZipWriter;
use zip::write::{SimpleFileOptions, StreamWriter};

/// A table under way: a header says how many rows there are, so all of them have to be there before it is written.
pub(super) struct Arrays<'w> {
    stream: &'w mut (dyn Write + Send),
    headings: Vec<Heading>,
    columns: Vec<Cells>,
}

impl<'w> Arrays<'w> {
    pub fn new(stream: &'w mut (dyn Write + Send), headings: &[Heading]) -> Arrays<'w> {
        let columns = headings.iter().map(|heading| Cells::none(&heading.kind)).collect();
        Arrays { stream, headings: headings.to_vec(), columns }
    }

    pub fn write(&mut self, columns: Vec<Cells>) {
        self.columns.iter_mut().zip(columns).for_each(|(cells, more)| cells.append(more));
    }

    /// Writes an array for each column; one of names holds their positions, and `NAME_names` the names.
    pub fn finish(self) -> Result<()> {
        let mut zip = ZipWriter::new_stream(self.stream);
        for (heading, cells) in self.headings.iter().zip(&self.columns) {
            member(&mut zip, &heading.name, cells)?;
            if let Kind::Names(names) = &heading.kind {
                let mut texts = crate::own::stream::Texts::default();
                names.iter().for_each(|name| texts.push(name));
                member(&mut zip, &format!("{}_names", heading.name), &Cells::Texts(texts))?;
            }
        }
        zip.finish().map_err(Error::from)?.flush()
    }
}

fn member(
    zip: &mut ZipWriter<StreamWriter<&mut (dyn Write + Send)>>,
    name: &str,
    cells: &Cells,
) -> Result<()> {
    let options =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options).map_err(Error::from)?;
    let width = match cells {
        Cells::Texts(texts) => texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1),
        _ => 0,
    };
    let kind = match cells {
        Cells::Numbers(_) => "<i8".to_string(),
        Cells::Texts(_) => format!("<U{width}"),
        Cells::Names(_) => "<u4".to_string(),
        Cells::Flags(_) => "|b1".to_string(),
        Cells::Shares(_) => "<f4".to_string(),
        Cells::Values(_) => "<f8".to_string(),
    };
    zip.write_all(&header(&kind, &[cells.len()]))?;
    let mut bytes = Vec::with_capacity(1 << 16);
    for row in 0..cells.len() {
        match cells {
            Cells::Numbers(cells) => bytes.extend((cells[row] as i64).to_le_bytes()),
            Cells::Texts(texts) => {
                let letters = texts.get(row).chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
                letters.for_each(|letter| bytes.extend(letter.to_le_bytes()));
            }
            Cells::Names(cells) => bytes.extend(cells[row].to_le_bytes()),
            Cells::Flags(cells) => bytes.push(u8::from(cells[row])),
            Cells::Shares(cells) => bytes.extend(cells[row].to_le_bytes()),
            Cells::Values(cells) => bytes.extend(cells[row].to_le_bytes()),
        }
        if bytes.len() >= 1 << 16 {
            zip.write_all(&bytes)?;
            bytes.clear();
        }
    }
    zip.write_all(&bytes)
}

/// The beginning of an array of this kind and these sizes, padded so that its values are aligned.
fn header(kind: &str, sizes: &[usize]) -> Vec<u8> {
    let sizes: String = sizes.iter().map(|size| format!("{size}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    [b"\x93NUMPY\x01\x00", &(length as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Writes records as an array `x`, images with their channels last, and their classes, if they have any, as an array `y`.
pub fn records(stream: &mut (dyn Write + Send), input: Shape, split: &Split) -> Result<()> {
    let sizes = match input {
        Shape::Image { height, width, channels: 1 } => vec![split.len(), height, width],
        Shape::Image { height, width, channels } => vec![split.len(), height, width, channels],
        other => [vec![split.len()], other.sizes()].concat(),
    };
    let (kind, bytes): (&str, Vec<u8>) = match &split.records {
        Records::Bytes(bytes) => ("|u1", bytes.clone()),
        Records::Floats(values) => ("<f4", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Records::Halves(values) => ("<f2", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    };
    let options =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let mut zip = ZipWriter::new_stream(stream);
    zip.start_file("x.npy", options).map_err(Error::from)?;
    zip.write_all(&header(kind, &sizes))?;
    zip.write_all(&bytes)?;
    if let Targets::Classes(classes) = &split.targets {
        let classes = classes.iter().map(|class| u64::from(*class)).collect();
        member(&mut zip, "y", &Cells::Numbers(classes))?;
    }
    zip.finish().map_err(Error::from)?.flush()
}
