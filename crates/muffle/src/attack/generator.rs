//! Membership inference against a generator and its critic.

use super::membership::{FIGURE, Suspects};
use super::{Entry, Roc};
use crate::adversarial::nearest;
use crate::error::Result;
use crate::train::Evaluator;
use muffle_nn::{Examples, Network};
use std::sync::Arc;

/// What both attacks find out.
const QUESTION: &str = "whose records was a generator trained on?";

/// The row of [`by_critic`] in the table.
pub static CRITIC: Entry = Entry {
    name: "critic score",
    command: "generator",
    paper: "Hayes, Melis, Danezis, De Cristofaro, LOGAN: membership inference attacks against generative models, PoPETs; the attack \
            that GANobfuscator is measured by",
    year: 2019,
    question: QUESTION,
    needs: "the attacker holds the critic, which is published with the generator here",
    steps: "a record that the critic takes for a real one is suspicious. Records (--records) are drawn half from the training split, \
            half from the test split",
    figure: FIGURE,
};

/// The row of [`by_distance`] in the table.
pub static DISTANCE: Entry = Entry {
    name: "nearest generated",
    command: "generator",
    paper: "Chen, Yu, Zhang, Fritz, GAN-Leaks: a taxonomy of membership inference attacks against generative models, CCS; full \
            black box",
    year: 2020,
    question: QUESTION,
    needs: "the attacker draws records from the generator",
    steps: "a record that has a generated one (--generated) near it is suspicious, of the same records as by critic",
    figure: FIGURE,
};

/// A record is suspicious if the critic takes it for a real one of its class.
///
/// # Source
/// Hayes et al. 2019, section 4.1.
pub fn by_critic(
    critic: &Arc<Network>,
    parameters: &[f32],
    suspects: &Suspects,
    threads: Option<usize>,
) -> Result<Roc> {
    let outputs = critic.output().len();
    let mut evaluator = Evaluator::new(critic.clone(), threads)?;
    suspects.roc(|view| {
        let mut scores = Vec::with_capacity(view.len());
        evaluator.for_each(parameters, view, |index, said| {
            // A critic of one output was told no classes.
            let asked = if outputs > 1 { view.label(index) as usize } else { 0 };
            scores.push(f64::from(said[asked]));
        })?;
        Ok(scores)
    })
}

/// A record is suspicious if a generated one is near it.
///
/// # Source
/// Chen et al. 2020, section 5.1.
pub fn by_distance(generated: &[f32], suspects: &Suspects) -> Result<Roc> {
    suspects.roc(|view| {
        let width = view.dataset().input().len();
        let mut inputs = vec![0.0; view.len() * width];
        inputs.chunks_exact_mut(width).enumerate().for_each(|(record, input)| view.read(record, input));
        let distances = nearest(&inputs, generated, width);
        Ok(distances.into_iter().map(|distance| -f64::from(distance)).collect())
    })
}
