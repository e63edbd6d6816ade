//! Loops over parameters, gradient and memory, on all threads.

use crate::chunk::CHUNK;
use crate::mechanism::Released;
use rayon::prelude::*;

/// Calls `update(parameter, gradient)` for every parameter.
pub(crate) fn for_each(parameters: &mut [f32], released: &Released, update: impl Fn(&mut f32, f32) + Sync) {
    let gradient = check(parameters, released);
    released.pool().install(|| {
        parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK)).for_each(
            |(parameters, gradient)| {
                for (parameter, gradient) in parameters.iter_mut().zip(gradient) {
                    update(parameter, *gradient);
                }
            },
        );
    });
}

/// Calls `update(parameter, gradient, memory)` for every parameter.
pub(crate) fn for_each_with(
    parameters: &mut [f32],
    released: &Released,
    memory: &mut [f32],
    update: impl Fn(&mut f32, f32, &mut f32) + Sync,
) {
    let gradient = check(parameters, released);
    assert_eq!(memory.len(), parameters.len(), "the optimizer was made for these parameters");
    released.pool().install(|| {
        let chunks = parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK));
        chunks.zip(memory.par_chunks_mut(CHUNK)).for_each(|((parameters, gradient), memory)| {
            for ((parameter, gradient), memory) in parameters.iter_mut().zip(gradient).zip(memory) {
                update(parameter, *gradient, memory);
            }
        });
    });
}

/// Calls `update(parameter, gradient, first, second)` for every parameter.
pub(super) fn for_each_with_two(
    parameters: &mut [f32],
    released: &Released,
    (first, second): (&mut [f32], &mut [f32]),
    update: impl Fn(&mut f32, f32, &mut f32, &mut f32) + Sync,
) {
    let gradient = check(parameters, released);
    assert_eq!(first.len(), parameters.len(), "the optimizer was made for these parameters");
    assert_eq!(second.len(), parameters.len(), "the optimizer was made for these parameters");
    released.pool().install(|| {
        let chunks = parameters.par_chunks_mut(CHUNK).zip(gradient.par_chunks(CHUNK));
        let chunks = chunks.zip(first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK)));
        chunks.for_each(|((parameters, gradient), (first, second))| {
            let memory = first.iter_mut().zip(second);
            for ((parameter, gradient), (first, second)) in parameters.iter_mut().zip(gradient).zip(memory) {
                update(parameter, *gradient, first, second);
            }
        });
    });
}

fn check<'a>(parameters: &[f32], released: &'a Released) -> &'a [f32] {
    let gradient = released.gradient();
    assert_eq!(gradient.len(), parameters.len(), "one gradient value for each parameter");
    gradient
}
