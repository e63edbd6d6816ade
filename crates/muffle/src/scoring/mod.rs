//! What a finished model says of records, however many there are.
//!
//! One thread reads, all cores decode and run the network, one thread writes; rows come out in the order in which they went in,
//! and nothing but the rows under way lies in memory.

mod answers;
mod in_order;

pub use answers::Answers;

use crate::data::own::stream::{Chunk, Job, Stream};
use crate::data::written::Part;
use crate::error::Result;
use crate::train::{Evaluator, Trained};

/// What came of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scored {
    /// Records that were answered.
    pub records: u64,
    /// Records that could not be read and were left out.
    pub skipped: u64,
    /// What was wrong with the first of those.
    pub reason: Option<String>,
}

/// Answers every record of a stream and hands the answers to `write`, in order.
///
/// `prepared` says that the records are already what the network takes, as those of a [data set](Trained::dataset) are that was
/// opened for it; others are projected on the model's principal components first, if it has any.
pub fn score(
    trained: &Trained,
    stream: Stream<'_>,
    prepared: bool,
    answers: &Answers,
    threads: usize,
    mut write: impl FnMut(Part) -> Result<()>,
) -> Result<Scored> {
    let components = trained.components.as_ref().filter(|_| !prepared);
    let begin = || Evaluator::new(trained.network.clone(), Some(1));
    let work = |evaluator: &mut Evaluator, job: Job<'_>| {
        let mut chunk: Chunk = job()?;
        if let Some(components) = components {
            chunk.inputs = components.inputs_of(&mut chunk.inputs);
            chunk.width = components.dimensions();
        }
        let outputs = evaluator.outputs(&trained.parameters, &chunk)?;
        let Chunk { ids, skipped, reason, .. } = chunk;
        let scored = Scored { records: ids.len() as u64, skipped, reason };
        Ok((scored, answers.part(ids, &outputs)))
    };
    let mut total = Scored::default();
    in_order::run(stream.jobs, threads, begin, work, |(scored, part)| {
        total.records += scored.records;
        total.skipped += scored.skipped;
        total.reason = total.reason.take().or(scored.reason);
        write(part)
    })?;
    Ok(total)
}
