//! Arrays, cut into jobs.

use super::{Chunk, Ids, Job, RECORDS, Stream};
use crate::dataset::Records;
use crate::error::{DataError, Result};
use crate::own::arrays;
use crate::schema::Schema;
use std::path::Path;
use std::sync::Arc;

/// The records of an archive.
pub(super) fn stream(path: &Path, schema: &Schema) -> Result<Stream<'static>> {
    let split = Arc::new(arrays::read(path, schema)?);
    if let Records::Floats(values) = &split.records
        && let Some(place) = values.iter().position(|value| !value.is_finite())
    {
        let position = format!("record {}", place / schema.shape().len().max(1));
        return Err(DataError::malformed(
            &path.display().to_string(),
            position,
            format!("a value is {}", values[place]),
        )
        .remedy("leave the record out, or put a number there"));
    }
    let (width, scaling) = (schema.shape().len(), Arc::new(schema.scaling.clone()));
    let jobs = (0..split.len()).step_by(RECORDS).map(move |first| {
        let (split, scaling) = (split.clone(), scaling.clone());
        Ok(Box::new(move || {
            let last = (first + RECORDS).min(split.len());
            let mut inputs = vec![0.0; (last - first) * width];
            let range = first * width..last * width;
            for (place, input) in range.step_by(width).zip(inputs.chunks_exact_mut(width)) {
                match &split.records {
                    Records::Bytes(values) => scaling.apply(&values[place..place + width], input),
                    Records::Floats(values) => scaling.apply(&values[place..place + width], input),
                    Records::Halves(_) => unreachable!("arrays are bytes or floats"),
                }
            }
            let ids = Ids::Numbers((first as u64..last as u64).collect());
            Ok(Chunk { inputs, ..Chunk::new(ids, width) })
        }) as Job<'static>)
    });
    Ok(Stream { id: "record".to_string(), named: false, jobs: Box::new(jobs) })
}
