//! Pairs of neighbouring data sets on which methods are known to break.

use super::planted::{Planted, Record};
use muffle_accounting::Adjacency;
use muffle_nn::Batch;

/// Far above any threshold.
const LARGE: f32 = 1e3;
/// Far below one, and far above one by the same factor.
const SMALL: f32 = 0.05;

/// The batches of consecutive steps in two worlds.
pub struct Neighbours {
    /// In words.
    pub name: &'static str,
    /// A batch with the record and one without it, step by step; the last is what the attacker looks at.
    pub steps: Vec<(Batch, Batch)>,
    /// Steps before these on records that are the same in both worlds, with noise that is the same in every play.
    pub history: u64,
    /// Whether the weights of the first layer are zero, so that no output depends on the inputs: gradients then show labels and what is
    /// added to inputs, and nothing else.
    pub blank: bool,
    /// Whether the attacker looks at the difference of the first two releases instead of the last one.
    pub difference: bool,
}

/// The pair to try on a [`Planted`] network with biases.
pub fn labels(planted: &Planted, adjacency: Adjacency) -> Neighbours {
    let quiet = Record::with_gradient(0.0);
    let name = "a label beside one other, at biases";
    Neighbours {
        name,
        steps: vec![pair(planted, adjacency, &[quiet], quiet)],
        history: 0,
        blank: false,
        difference: false,
    }
}

/// The batches with a record and without it, beside others.
fn pair(planted: &Planted, adjacency: Adjacency, others: &[Record], canary: Record) -> (Batch, Batch) {
    let with = [others, &[canary]].concat();
    let mut without = with.clone();
    match adjacency {
        Adjacency::AddRemove => drop(without.pop()),
        Adjacency::ZeroOut => without[others.len()].inputs[0] = f32::NAN,
        // The other class turns the gradient round.
        Adjacency::ReplaceOne => without[others.len()].class = 1,
    }
    (planted.batch(&with), planted.batch(&without))
}

/// The pairs to try on a [`Planted`] network with threshold one.
///
/// # Source
/// The attacks against each published form: a large record beside quiet ones (Ma et al. 2023, Lin et al. 2020, Li et al.
/// 2024), a record that orders relevance anew (Gong et al. 2020), a record that tips the median (Lin et al. 2020, Algorithm 2), an empty batch, labels beside noise on inputs (Phan et
/// al. 2017, Wang et al. 2023), two releases under one draw.
pub fn neighbours(planted: &Planted, adjacency: Adjacency) -> Vec<Neighbours> {
    let quiet = [Record::with_gradient(0.0); 7];
    let large = Record::with_gradient(LARGE);
    let relevant = Record { inputs: [0.0, LARGE], class: 0 };
    let pair = |others: &[Record], canary: Record| pair(planted, adjacency, others, canary);
    let same = || (planted.batch(&quiet), planted.batch(&quiet));
    let halves = [SMALL, 1.0 / SMALL].map(Record::with_gradient).repeat(4);
    let one = |name, steps| Neighbours { name, steps, history: 0, blank: false, difference: false };
    vec![
        one("a large record beside quiet ones", vec![pair(&quiet, large)]),
        Neighbours {
            history: 2,
            ..one("a large record beside quiet ones, after two steps", vec![pair(&quiet, large)])
        },
        one("a large record alone", vec![pair(&[], large)]),
        one("a record without a gradient that says which neurons matter", vec![pair(&quiet, relevant)]),
        one("a record that tips the median of the norms", vec![pair(&halves, Record::with_gradient(SMALL))]),
        Neighbours {
            blank: true,
            ..one("a label beside one other, at blank weights", vec![pair(&quiet[..1], quiet[0])])
        },
        Neighbours {
            difference: true,
            ..one(
                "a record in the first of two steps, whose releases are subtracted",
                vec![pair(&quiet, large), same()],
            )
        },
    ]
}
