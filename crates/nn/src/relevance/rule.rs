//! How relevance goes back through a node.

use crate::error::{Error, Result};
use crate::layer::RelevanceRule as Rule;
use crate::network::{Node, Operation};

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
