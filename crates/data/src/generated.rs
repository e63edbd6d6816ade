//! Made-up inputs as records: the way back from what a network reads to what a file holds.

use crate::column::Column;
use crate::dataset::{Records, Split};
use crate::own::stream::Texts;
use crate::schema::{Schema, Stored};
use crate::targets::Targets;
use crate::written::{Cells, Heading, Kind};
use muffle_nn::initialise::SplitMix;
use muffle_nn::shape::Shape;

/// What a cell of a table says.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Missing,
    /// A number, in its own units; a date as days.
    Number(f64),
    /// One of the column's categories, by its place; behind the last is any other.
    Category(usize),
}

impl Schema {
    /// Records as they are stored, from inputs that a generator made: pixels are rounded, numbers are moved into their declared ranges,
    /// and of the categories of a cell one is drawn by their shares.
    pub fn stored(&self, inputs: &[f32], random: &mut SplitMix) -> Records {
        let channels = match self.shape() {
            Shape::Image { channels, .. } => channels,
            _ => self.shape().len(),
        };
        let value = |(place, input): (usize, &f32)| self.scaling.stored(place % channels, *input);
        match self.stored {
            Stored::Bytes => {
                let byte = |value: f32| value.round().clamp(0.0, 255.0) as u8;
                Records::Bytes(inputs.iter().enumerate().map(value).map(byte).collect())
            }
            Stored::Floats if self.columns.is_empty() => {
                Records::Floats(inputs.iter().enumerate().map(value).collect())
            }
            Stored::Floats => {
                let mut values = Vec::with_capacity(inputs.len());
                for record in inputs.chunks_exact(self.shape().len()) {
                    let mut rest = record;
                    for column in &self.columns {
                        let (own, behind) = rest.split_at(column.width());
                        column.settle(own, random, &mut values);
                        rest = behind;
                    }
                }
                Records::Floats(values)
            }
        }
    }

    /// What the cells of one stored record of a table say, column by column.
    pub fn cells(&self, record: &[f32]) -> Vec<Cell> {
        let mut rest = record;
        let cell = |column: &Column| {
            let (own, behind) = rest.split_at(column.width());
            rest = behind;
            column.cell(own)
        };
        self.columns.iter().map(cell).collect()
    }
}

impl Schema {
    /// Stored records of a table as a table to write: the columns of the description, and the class behind them where it is known.
    pub fn table(&self, split: &Split) -> (Vec<Heading>, Vec<Cells>) {
        let mut headings: Vec<Heading> = self.columns.iter().map(Column::heading).collect();
        let mut columns: Vec<Cells> = headings.iter().map(|heading| empty(&heading.kind)).collect();
        let values = split.records.clone().into_floats();
        for record in values.chunks_exact(self.shape().len()) {
            for (cells, cell) in columns.iter_mut().zip(self.cells(record)) {
                match (cells, cell) {
                    (Cells::Names(cells), Cell::Category(place)) => cells.push(place as u32),
                    (Cells::Values(cells), Cell::Number(number)) => cells.push(short(number)),
                    (Cells::Texts(cells), Cell::Category(place)) => cells.push(&place.to_string()),
                    (Cells::Texts(cells), Cell::Number(number)) => cells.push(&short(number).to_string()),
                    (Cells::Texts(cells), _) => cells.push(""),
                    (cells, cell) => unreachable!("{cell:?} among {cells:?}"),
                }
            }
        }
        if let (Targets::Classes(classes), names @ [_, ..]) = (&split.targets, self.task.classes()) {
            let name = self.label.clone().unwrap_or_else(|| "class".to_string());
            headings.push(Heading { name, kind: Kind::Names(names.into()) });
            columns.push(Cells::Names(classes.clone()));
        }
        (headings, columns)
    }
}

fn empty(kind: &Kind) -> Cells {
    match kind {
        Kind::Names(_) => Cells::Names(Vec::new()),
        Kind::Values => Cells::Values(Vec::new()),
        _ => Cells::Texts(Texts::default()),
    }
}

/// A number to five digits: more would be single precision, and nothing of the record.
fn short(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

impl Column {
    /// What it is in a table to write. A cell that may be empty is a text.
    fn heading(&self) -> Heading {
        let kind = match &self.categories {
            Some(known) if !self.indicator => {
                let other = self.other.then(|| "other".to_string());
                Kind::Names(known.iter().cloned().chain(other).collect())
            }
            _ if self.indicator || self.has_categories() => Kind::Texts,
            _ => Kind::Values,
        };
        Heading { name: self.name.clone(), kind }
    }

    /// Appends the inputs of a cell that the column could hold, by inputs that are near it.
    fn settle(&self, inputs: &[f32], random: &mut SplitMix, settled: &mut Vec<f32>) {
        let (own, indicator) = inputs.split_at(inputs.len() - usize::from(self.indicator));
        let missing = indicator.first().is_some_and(|value| f64::from(*value) > random.uniform());
        if missing {
            settled.extend(own.iter().map(|_| self.missing.map_or(0.0, |number| self.scaled(number))));
        } else if self.has_categories() {
            let chosen = draw(own, random);
            settled.extend((0..own.len()).map(|place| f32::from(u8::from(place == chosen))));
        } else {
            let bounded = self.standard.is_none();
            settled.extend(own.iter().map(|value| if bounded { value.clamp(-1.0, 1.0) } else { *value }));
        }
        settled.extend(indicator.iter().map(|_| f32::from(u8::from(missing))));
    }

    /// Whether each of its inputs stands for one value of the cell.
    pub fn has_categories(&self) -> bool {
        self.categories.is_some() || self.hash.is_some()
    }

    /// What a cell with these inputs says.
    fn cell(&self, inputs: &[f32]) -> Cell {
        let (own, indicator) = inputs.split_at(inputs.len() - usize::from(self.indicator));
        if indicator.first().is_some_and(|value| *value > 0.5) {
            return Cell::Missing;
        }
        match self.has_categories() {
            true => Cell::Category(own.iter().position(|value| *value > 0.5).unwrap_or(0)),
            false => Cell::Number(self.unscaled(own[0])),
        }
    }
}

/// A place by its share of what is positive; the first if nothing is.
fn draw(shares: &[f32], random: &mut SplitMix) -> usize {
    let whole: f64 = shares.iter().map(|share| f64::from(share.max(0.0))).sum();
    let mut rest = random.uniform() * whole;
    let place = shares.iter().position(|share| {
        rest -= f64::from(share.max(0.0));
        rest < 0.0
    });
    place.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::Scaling;
    use crate::task::Task;

    fn schema(columns: Vec<Column>, stored: Stored, input: Vec<usize>, scaling: Scaling) -> Schema {
        Schema { input, task: Task::None, label: None, columns, vocabulary: None, stored, scaling }
    }

    #[test]
    fn pixels_come_back_from_their_scaling() {
        let scaling = Scaling::standard(255.0, &[(0.1307, 0.3081)], "published");
        let schema = schema(Vec::new(), Stored::Bytes, vec![1, 2, 2], scaling.clone());
        let inputs: Vec<f32> = [0u8, 17, 255, 99].map(|byte| scaling.value(0, f32::from(byte))).to_vec();
        let far = [inputs.clone(), vec![-9.0, 9.0, 0.0, 0.0]].concat();
        let Records::Bytes(bytes) = schema.stored(&far, &mut SplitMix::new(1)) else { panic!("bytes") };
        assert_eq!(bytes[..6], [0, 17, 255, 99, 0, 255]);
    }

    /// Whatever is made becomes a row that the description would have let in.
    #[test]
    fn rows_of_tables_are_rows_that_could_be_read() {
        let columns = vec![
            Column::number("age", 0.0, 100.0),
            Column::categories("colour", &["red", "blue", "green"]),
            Column { indicator: true, ..Column::amount("gain", 0.0, 99.0) },
        ];
        let schema = schema(columns, Stored::Floats, vec![6], Scaling::identity("as is"));
        let made = [-0.5, 0.1, 0.7, 0.2, 0.0, 0.0].repeat(1000);
        let Records::Floats(values) = schema.stored(&made, &mut SplitMix::new(1)) else { panic!("floats") };
        let blue = values.chunks_exact(6).filter(|row| row[2] == 1.0).count();
        // Seven tenths of a thousand, within five deviations.
        assert!((628..772).contains(&blue), "{blue}");
        assert!(values.chunks_exact(6).all(|row| row[1..4].iter().sum::<f32>() == 1.0 && row[5] == 0.0));
        let cells = schema.cells(&[-0.5, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(cells[..2], [Cell::Number(25.0), Cell::Category(2)]);
        assert!(matches!(cells[2], Cell::Number(gain) if (gain - 9.0).abs() < 1e-9), "{cells:?}");
        let split = Split::classified(Records::Floats(vec![-0.5, 0.0, 0.0, 1.0, 0.0, 1.0]), vec![1]);
        let schema = Schema { task: Task::Classes(vec!["no".into(), "yes".into()]), ..schema };
        let (headings, columns) = schema.table(&split);
        let names: Vec<&str> = headings.iter().map(|heading| heading.name.as_str()).collect();
        assert_eq!(names, ["age", "colour", "gain", "class"]);
        assert_eq!(columns[..2], [Cells::Values(vec![25.0]), Cells::Names(vec![2])]);
        assert_eq!(columns[3], Cells::Names(vec![1]));
        assert_eq!(schema.cells(&[3.0, 1.0, 0.0, 0.0, 0.0, 1.0])[2], Cell::Missing);
    }
}
