//! How relevance goes back through a node.

use crate::error::{Error, Result};
use crate::network::{Node, Operation};

/// One of three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// To each input in proportion to what it adds to the output: for layers that are linear in their input but for a bias.
    Proportional,
    /// To where the value came from: for layers that choose or move values.
    Moved,
    /// Unchanged: for layers that map every value on its own.
    Through,
}

/// The rule of a node, or an error that names it.
pub(super) fn rule_of(node: &Node) -> Result<Rule> {
    match &node.operation {
        Operation::Activation(_) => Ok(Rule::Through),
        Operation::Sum => Ok(Rule::Proportional),
        Operation::Concat => Ok(Rule::Moved),
        Operation::Layer(layer) => layer
            .relevance()
            .ok_or_else(|| Error::NoRelevance { layer: node.name.clone(), kind: layer.kind() }),
    }
}
