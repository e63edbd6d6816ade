//! How relevance goes back through a node.

use crate::error::{Error, Result};
use crate::network::{Node, Operation};

/// One of three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// To each input in proportion to what it adds to the output.
    Proportional,
    /// To where the value came from.
    Moved,
    /// Unchanged.
    Through,
}

impl Rule {
    /// The rule of a node, or an error that names it.
    pub fn of(node: &Node) -> Result<Rule> {
        match &node.operation {
            Operation::Activation(_) => Ok(Rule::Through),
            Operation::Sum => Ok(Rule::Proportional),
            Operation::Concat => Ok(Rule::Moved),
            Operation::Layer(layer) => match layer.kind() {
                "dense" | "conv2d" | "conv-transpose2d" | "average-pool" | "global-average-pool" => {
                    Ok(Rule::Proportional)
                }
                "max-pool" | "flatten" | "reshape" => Ok(Rule::Moved),
                // Nothing is dropped outside of training.
                "dropout" => Ok(Rule::Through),
                kind => Err(Error::NoRelevance { layer: node.name.clone(), kind }),
            },
        }
    }
}
