//! Records without a description, read by what a model knows of them.

use super::origin::Origin;
use super::row::{Row, Wanted};
use super::rows::Rows;
use super::{arrays, csv, images, parquet};
use crate::column::Column;
use crate::dataset::{Dataset, Split, Visibility};
use crate::error::{DataError, Result};
use crate::schema::Schema;
use crate::task::Task;
use muffle_nn::shape::Shape;
use std::path::Path;

/// Loads a table, an archive of arrays or a folder of images with their targets. All records are in both splits, unless the
/// archive or the folder itself has two.
pub fn load_for(path: &Path, schema: &Schema) -> Result<Dataset> {
    let refuse = |reason: String| DataError::Description { file: path.display().to_string(), reason };
    let (train, test) = match Origin::of(path) {
        Origin::Described => return Err(refuse("a description says by itself what it means".to_string())),
        Origin::Text | Origin::Columns => both(table(path, schema)?),
        Origin::Arrays => arrays::read_with_targets(path, schema)?,
        Origin::Folder => {
            let (size, channels) = image(schema).map_err(refuse)?;
            images::read_known(path, schema.task.classes(), size, channels)?
        }
    };
    let name = path.display().to_string();
    let (task, scaling) = (schema.task.clone(), schema.scaling.clone());
    let dataset = Dataset::with_task(&name, schema.shape(), task, scaling, Visibility::Private, train, test)?;
    let dataset =
        if schema.columns.is_empty() { dataset } else { dataset.with_columns(schema.columns.clone()) };
    Ok(dataset.with_label(schema.label.clone()).with_vocabulary(schema.vocabulary))
}

fn both(split: Split) -> (Split, Split) {
    (split.clone(), split)
}

fn table(path: &Path, schema: &Schema) -> Result<Split> {
    let file = path.display().to_string();
    let refuse = |reason: &str| DataError::Description { file: file.clone(), reason: reason.to_string() };
    let mut wanted = self::wanted(schema).map_err(|reason| refuse(&reason))?;
    let targets = schema.target_columns().ok_or_else(|| {
        refuse("the model does not say which column holds the class: give a description of the table (.toml)")
    })?;
    let number = matches!(schema.task, Task::Values(_));
    wanted.extend(targets.into_iter().map(|name| Wanted { name, number }));
    let mut rows = Rows::new(&file, &schema.columns, &schema.task);
    let visit = |row: Row<'_>| rows.push(&row.position, |index| row.cell(index));
    match Origin::of(path) {
        Origin::Columns => parquet::rows(path, &wanted, visit)?,
        _ => csv::rows(path, csv::Form::default(), &wanted, visit)?,
    }
    Ok(rows.finish())
}

/// The columns that a model reads from a table.
pub(super) fn wanted(schema: &Schema) -> std::result::Result<Vec<Wanted<'_>>, String> {
    fn wanted(column: &Column) -> Wanted<'_> {
        Wanted { name: &column.name, number: column.is_number() }
    }
    match schema.columns.is_empty() {
        false => Ok(schema.columns.iter().map(wanted).collect()),
        true => Err(format!(
            "the model reads records of sizes {:?} and knows no columns of a table: give arrays (.npz) or images",
            schema.input
        )),
    }
}

/// Height and width, and the number of channels, of the images that a model reads.
pub(super) fn image(schema: &Schema) -> std::result::Result<([usize; 2], usize), String> {
    match schema.shape() {
        Shape::Image { height, width, channels: channels @ (1 | 3) } => Ok(([height, width], channels)),
        shape => {
            Err(format!("the model reads records of shape {shape}, which images of a folder do not have"))
        }
    }
}
