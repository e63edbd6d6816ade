//! Networks of which some layers stay as they are.
//!
//! A frozen layer brings its numbers along and has no tensors: nobody takes its gradient, clips it, adds noise to it or moves it,
//! and nothing is carried back to where no tensor is left.

use crate::error::{Error, Result};
use crate::layer::{Backward, Carry, Forward, Layer, Pass, Purpose, RelevanceRule, Weights};
use crate::model_file::nearest::nearest;
use crate::network::{Network, Node};
use crate::pattern::matches;
use crate::shape::Shape;

/// A layer with numbers of its own. One that looks at the whole batch in training behaves as in use, so that it no longer does.
struct Frozen {
    layer: Box<dyn Layer>,
    parameters: Vec<f32>,
}

impl Frozen {
    fn weights<'a>(&'a self, weights: Weights<'a>) -> Weights<'a> {
        Weights { parameters: &self.parameters, ..weights }
    }

    fn pass<'a>(&self, pass: &Pass<'a>) -> Pass<'a> {
        let purpose = if self.layer.mixes_examples() { Purpose::Evaluate } else { pass.purpose };
        Pass { purpose, ..*pass }
    }
}

impl Layer for Frozen {
    fn kind(&self) -> &'static str {
        self.layer.kind()
    }

    fn output(&self) -> Shape {
        self.layer.output()
    }

    fn multiply_adds(&self) -> u64 {
        self.layer.multiply_adds()
    }

    fn reads_output(&self) -> bool {
        self.layer.reads_output()
    }

    fn prepared_len(&self) -> usize {
        self.layer.prepared_len()
    }

    fn prepare(&self, _parameters: &[f32], prepared: &mut [f32]) {
        self.layer.prepare(&self.parameters, prepared);
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        self.layer.tape_len(&self.pass(pass))
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        self.layer.scratch_len(&self.pass(pass))
    }

    fn forward(&self, call: Forward) {
        let pass = self.pass(call.pass);
        self.layer.forward(Forward { weights: self.weights(call.weights), pass: &pass, ..call });
    }

    fn backward(&self, call: Backward) {
        let pass = self.pass(call.pass);
        self.layer.backward(Backward { weights: self.weights(call.weights), pass: &pass, ..call });
    }

    fn tokens(&self) -> Option<usize> {
        self.layer.tokens()
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        self.layer.relevance()
    }

    fn carry_relevance(&self, call: Carry) {
        self.layer.carry_relevance(Carry { weights: self.weights(call.weights), ..call });
    }
}

impl Network {
    /// The same network with the layers of these names fixed at their part of `parameters`, which are those of this network.
    ///
    /// # Panics
    /// If the parameters are not as many as the network has.
    pub fn freeze(self, layers: &[String], parameters: &[f32]) -> Network {
        assert_eq!(parameters.len(), self.parameter_len(), "parameters of this network");
        self.with_layers(|name, range, layer| match layers.iter().any(|frozen| frozen == name) {
            true => Box::new(Frozen { layer, parameters: parameters[range].to_vec() }),
            false => layer,
        })
    }

    /// The layers that patterns describe, by their own names or by those of all their tensors.
    pub fn layers_named(&self, patterns: &[String]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for pattern in patterns {
            let named = self.nodes().iter().filter(|node| !node.tensors.is_empty());
            let mut named = named.filter_map(|node| self.names(pattern, node).transpose()).peekable();
            if named.peek().is_none() {
                return Err(self.unknown(pattern));
            }
            for name in named {
                found.push(name?.to_string());
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The name of a layer, if a pattern describes it.
    fn names<'a>(&self, pattern: &str, node: &'a Node) -> Result<Option<&'a str>> {
        let tensors = &self.parameters()[node.tensors.clone()];
        let named = tensors.iter().filter(|tensor| matches(pattern, &tensor.name)).count();
        if matches(pattern, &node.name) || named == tensors.len() {
            return Ok(Some(&node.name));
        }
        match named {
            0 => Ok(None),
            _ => Err(Error::Options(format!(
                "`{pattern}` names some tensors of layer `{}` and leaves out others; name the layer as a whole",
                node.name
            ))),
        }
    }

    fn unknown(&self, pattern: &str) -> Error {
        let names: Vec<&str> =
            self.nodes().iter().filter(|node| !node.tensors.is_empty()).map(|node| &*node.name).collect();
        let meant = nearest(pattern.trim_end_matches(".*"), names.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`"));
        Error::Options(format!(
            "`{pattern}` names no layer with tensors{meant}; there are {}",
            names.join(", ")
        ))
    }
}
