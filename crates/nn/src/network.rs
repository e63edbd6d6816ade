//! A network: layers joined by edges, and the list of its tensors. It holds no weights.

use crate::config::{Entry, Graph, LayerConfig, Piece};
use crate::ends::Ends;
use crate::error::{Error, Result};
use crate::layer::{Layer, Role, Summation, Tensor};
use crate::layers::Context;
use crate::layers::activation::Activation;
use crate::layers::blank::Blank;
use crate::layers::written_out::WrittenOut;
use crate::limits;
use crate::rounding::{GROUP, SMALL_GROUP};
use crate::shape::Shape;
use std::collections::HashSet;
use std::ops::Range;

/// What happens at a node.
pub enum Operation {
    /// A layer.
    Layer(Box<dyn Layer>),
    /// A function of every value.
    Activation(Activation),
    /// The sum of several edges.
    Sum,
    /// Channels of several edges side by side.
    Concat,
}

/// One step of the computation.
pub struct Node {
    /// Full name, as in weight files.
    pub name: String,
    /// What happens.
    pub operation: Operation,
    /// Edges read.
    pub inputs: Vec<usize>,
    /// Edge written.
    pub output: usize,
    /// The node's part of the parameter vector.
    pub parameters: Range<usize>,
    /// The node's part of the list of tensors.
    pub tensors: Range<usize>,
}

impl Node {
    /// Kind, as written in model files.
    pub fn kind(&self) -> &'static str {
        match &self.operation {
            Operation::Layer(layer) => layer.kind(),
            Operation::Activation(activation) => activation.kind(),
            Operation::Sum => "sum",
            Operation::Concat => "concat",
        }
    }
}

/// A tensor and its place in the parameter vector.
pub struct Parameter {
    /// Full name, as in weight files.
    pub name: String,
    /// What it is.
    pub tensor: Tensor,
    /// Its place.
    pub range: Range<usize>,
}

/// A directed graph of layers with all shapes settled.
///
/// Parameters live outside, in one flat vector, so that noise, norms and optimizers are loops over a slice.
pub struct Network {
    nodes: Vec<Node>,
    edges: Vec<Shape>,
    /// Where short texts end in each.
    ends: Vec<Ends>,
    edges_len: usize,
    output: usize,
    parameters: Vec<Parameter>,
}

impl Network {
    /// Builds a network from its description.
    pub fn new(input: Shape, layers: &[Entry]) -> Result<Network> {
        if input.is_empty() {
            return Err(Error::Description(format!("the input shape {input} holds no values")));
        }
        if limits::product(&input.sizes(), limits::EDGE).is_none() {
            return Err(Error::Description(format!(
                "the input shape {input} holds more than {} values",
                limits::EDGE
            )));
        }
        let mut network = Network {
            nodes: Vec::new(),
            edges: vec![input],
            ends: vec![Ends::default()],
            edges_len: input.len(),
            output: 0,
            parameters: Vec::new(),
        };
        network.output = network.sequence(layers, "", 0)?;
        network.check_names()?;
        network.check_ends()?;
        Ok(network)
    }

    /// Weight files know tensors by their names alone.
    fn check_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        match self.parameters.iter().find(|parameter| !seen.insert(&parameter.name)) {
            None => Ok(()),
            Some(parameter) => Err(Error::Description(format!(
                "two tensors are called `{}`; give their layers different names",
                parameter.name
            ))),
        }
    }

    /// Texts are counted once, and what comes out must not be moved by what fills them up.
    fn check_ends(&self) -> Result<()> {
        let other = |ends: &&Ends| ends.are_known() && ends.padding() != self.padding();
        if self.ends.iter().any(|ends| other(&ends)) {
            return Err(Error::Description(
                "two embeddings differ in `padding`, the token that fills up short texts; give both the same"
                    .to_string(),
            ));
        }
        if self.ends[self.output].are_known() {
            return Err(Error::Description(format!(
                "the network gives a sequence {}, of which short texts leave steps unfilled; end with a pool over its steps, or \
                 leave out `padding` of the embedding",
                self.output()
            )));
        }
        Ok(())
    }

    /// The token that fills up short texts, if no layer is to look at it.
    pub fn padding(&self) -> Option<usize> {
        self.ends.iter().find_map(Ends::padding)
    }

    /// The nodes, each after those it reads from.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Shapes of the edges; edge 0 is the input.
    pub fn edges(&self) -> &[Shape] {
        &self.edges
    }

    /// Shape of an input example.
    pub fn input(&self) -> Shape {
        self.edges[0]
    }

    /// Shape of an output example.
    pub fn output(&self) -> Shape {
        self.edges[self.output]
    }

    /// The edge that holds the output.
    pub fn output_edge(&self) -> usize {
        self.output
    }

    /// All tensors, in the order of the parameter vector.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Length of the parameter vector.
    pub fn parameter_len(&self) -> usize {
        self.parameters.last().map_or(0, |parameter| parameter.range.end)
    }

    /// Number of values that training moves.
    pub fn trainable_len(&self) -> usize {
        let trainable = |parameter: &&Parameter| parameter.tensor.role == Role::Trainable;
        self.parameters.iter().filter(trainable).map(|parameter| parameter.range.len()).sum()
    }

    /// Where the values lie that training does not move and that nobody but a method sets.
    pub fn fixed(&self) -> impl Iterator<Item = Range<usize>> {
        let fixed = |parameter: &&Parameter| parameter.tensor.role == Role::Fixed;
        self.parameters.iter().filter(fixed).map(|parameter| parameter.range.clone())
    }

    /// Whether a node has tensors that gradients have to reach.
    pub(crate) fn learns(&self, node: &Node) -> bool {
        self.parameters[node.tensors.clone()].iter().any(|parameter| parameter.tensor.role != Role::Fixed)
    }

    /// How many tokens there are, if the inputs are numbers of tokens.
    pub fn tokens(&self) -> Option<usize> {
        let first = self.nodes.iter().filter(|node| node.inputs.contains(&0));
        let tokens = |node: &Node| match &node.operation {
            Operation::Layer(layer) => layer.tokens(),
            _ => None,
        };
        first.filter_map(tokens).min()
    }

    /// The first layer that looks at several examples at once.
    pub fn mixing_layer(&self) -> Option<&Node> {
        self.nodes
            .iter()
            .find(|node| matches!(&node.operation, Operation::Layer(layer) if layer.mixes_examples()))
    }

    /// Most records in a group whose weighted gradients are summed before they are rounded to a grid.
    pub fn group(&self) -> usize {
        let together = |node: &Node| matches!(&node.operation, Operation::Layer(layer) if layer.summation() == Summation::Terms);
        if self.nodes.iter().any(together) { SMALL_GROUP } else { GROUP }
    }

    /// Multiply-adds of one example in use.
    pub fn multiply_adds(&self) -> u64 {
        let count = |node: &Node| match &node.operation {
            Operation::Layer(layer) => layer.multiply_adds(),
            _ => 0,
        };
        self.nodes.iter().map(count).sum()
    }

    /// Multiply-adds of one example in training: forward, input gradients (not for the first layers) and weight
    /// gradients.
    pub fn training_multiply_adds(&self) -> u64 {
        let count = |node: &Node| match &node.operation {
            Operation::Layer(layer) => layer.multiply_adds() * if node.inputs[0] == 0 { 2 } else { 3 },
            _ => 0,
        };
        self.nodes.iter().map(count).sum()
    }

    fn sequence(&mut self, entries: &[Entry], prefix: &str, input: usize) -> Result<usize> {
        let mut edge = input;
        for (index, entry) in entries.iter().enumerate() {
            edge = self.piece(&entry.piece, &join(prefix, entry, index), edge)?;
        }
        Ok(edge)
    }

    fn piece(&mut self, piece: &Piece, name: &str, input: usize) -> Result<usize> {
        match piece {
            Piece::Layer(config) => {
                let context = self.context(config.kind(), name, input);
                let (number, most) = (config.largest_number(), limits::OPTION);
                if number > most {
                    return context.refuse(&format!(
                        "one of its options is {number}; the largest number allowed is {most}"
                    ));
                }
                let input = match Blank::before(&context) {
                    Some(blank) if matches!(config, LayerConfig::Conv1d { .. }) => {
                        let before = self.context("blank", &prefixed(name, "blank"), input);
                        self.layer(&before, Box::new(blank), input)?
                    }
                    _ => input,
                };
                self.layer(&context, config.build_in(&context)?, input)
            }
            Piece::Custom(layer) => {
                let context = self.context(layer.kind(), name, input);
                self.layer(&context, layer.build(&context)?, input)
            }
            Piece::Activation(activation) => {
                let context = self.context(activation.kind(), name, input);
                activation.check().or_else(|reason| context.refuse(&reason))?;
                let edge = self.push(name, Operation::Activation(*activation), vec![input], context.input)?;
                self.ends[edge] = context.ends;
                Ok(edge)
            }
            Piece::Sequential(entries) => self.sequence(entries, name, input),
            Piece::Sum(branches) => {
                let edges = self.branches(branches, name, input)?;
                self.sum(name, edges)
            }
            Piece::Concat(branches) => {
                let edges = self.branches(branches, name, input)?;
                self.concat(name, edges)
            }
            Piece::Graph(graph) => self.graph(graph, name, input),
        }
    }

    fn context(&self, kind: &'static str, name: &str, input: usize) -> Context {
        Context { name: name.to_string(), kind, input: self.edges[input], ends: self.ends[input].clone() }
    }

    fn layer(&mut self, context: &Context, layer: Box<dyn Layer>, input: usize) -> Result<usize> {
        for Tensor { name, sizes, .. } in layer.tensors() {
            if limits::product(&sizes, limits::PARAMETERS).is_none() {
                return context.refuse(&format!(
                    "its {name} of sizes {sizes:?} would be more than {} values",
                    limits::PARAMETERS
                ));
            }
        }
        let (output, ends) = (layer.output(), layer.ends(&context.ends));
        if ends.are_known() && !context.ends.are_known() && input != 0 {
            return context.refuse("with `padding` it has to be the first layer, where texts are counted");
        }
        let unknown = layer.summation() == Summation::Unknown && !layer.tensors().is_empty();
        // Where examples mix there are no gradients of single ones to write out.
        let layer = if unknown && !layer.mixes_examples() { Box::new(WrittenOut::new(layer)) } else { layer };
        let edge = self.push(&context.name, Operation::Layer(layer), vec![input], output)?;
        if let Shape::Sequence { .. } = output {
            self.ends[edge] = ends;
        }
        Ok(edge)
    }

    fn branches(&mut self, branches: &[Entry], prefix: &str, input: usize) -> Result<Vec<usize>> {
        if branches.is_empty() {
            return Err(Error::Description(format!("`{prefix}` has no branches")));
        }
        let name = |(index, entry): (usize, &Entry)| join(prefix, entry, index);
        let names: Vec<String> = branches.iter().enumerate().map(name).collect();
        branches.iter().zip(&names).map(|(entry, name)| self.piece(&entry.piece, name, input)).collect()
    }

    fn sum(&mut self, name: &str, edges: Vec<usize>) -> Result<usize> {
        let first = self.edges[edges[0]];
        if let Some(&other) = edges.iter().find(|&&edge| self.edges[edge] != first) {
            let (node, second) = (name.to_string(), self.edges[other]);
            return Err(Error::Join { node, first, second, reason: "a sum needs equal shapes" });
        }
        let ends = self.ends[edges[0]].clone();
        if edges.iter().any(|&edge| self.ends[edge] != ends) {
            let reason = "a sum needs short texts to end at the same steps";
            return Err(Error::Join { node: name.to_string(), first, second: first, reason });
        }
        if edges.len() == 1 {
            return Ok(edges[0]);
        }
        let edge = self.push(name, Operation::Sum, edges, first)?;
        self.ends[edge] = ends;
        Ok(edge)
    }

    fn concat(&mut self, name: &str, edges: Vec<usize>) -> Result<usize> {
        if edges.len() == 1 {
            return Ok(edges[0]);
        }
        let mut shape = self.edges[edges[0]];
        for &edge in &edges[1..] {
            shape = match (shape, self.edges[edge]) {
                (Shape::Vector(first), Shape::Vector(second)) => Shape::Vector(first + second),
                (
                    Shape::Image { height, width, channels },
                    Shape::Image { height: h, width: w, channels: c },
                ) if (height, width) == (h, w) => Shape::image(channels + c, height, width),
                (first, second) => {
                    let reason = "a concatenation needs images of one size, or vectors";
                    return Err(Error::Join { node: name.to_string(), first, second, reason });
                }
            };
        }
        self.push(name, Operation::Concat, edges, shape)
    }

    fn graph(&mut self, graph: &Graph, name: &str, input: usize) -> Result<usize> {
        let last = graph.edges.iter().map(|edge| edge.to).max().unwrap_or(0);
        let mut values = vec![input];
        for node in 1..=last {
            let mut incoming = Vec::new();
            for (index, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.to == node) {
                let from = *values.get(edge.from).ok_or_else(|| {
                    Error::Description(format!(
                        "`{name}`: edge {index} leads from node {} to node {node}; edges must lead to a higher number",
                        edge.from
                    ))
                })?;
                let prefix = prefixed(name, &format!("{}_{node}", edge.from));
                incoming.push(self.sequence(&edge.layers, &prefix, from)?);
            }
            if incoming.is_empty() {
                return Err(Error::Description(format!("`{name}`: no edge leads to node {node}")));
            }
            values.push(self.sum(&prefixed(name, &format!("node{node}")), incoming)?);
        }
        let outputs: Option<Vec<usize>> =
            graph.outputs.iter().map(|&output| values.get(output).copied()).collect();
        match outputs {
            Some(outputs) if !outputs.is_empty() => self.concat(name, outputs),
            _ => Err(Error::Description(format!("`{name}`: outputs must name nodes from 0 to {last}"))),
        }
    }

    fn push(&mut self, name: &str, operation: Operation, inputs: Vec<usize>, shape: Shape) -> Result<usize> {
        let length = limits::product(&shape.sizes(), limits::EDGE).unwrap_or(usize::MAX);
        self.edges_len = self.edges_len.saturating_add(length);
        if length > limits::EDGE || self.edges_len > limits::EDGES {
            let values = if length > limits::EDGE { limits::EDGE } else { limits::EDGES };
            return Err(Error::Description(format!(
                "the network is too large: at `{name}`, with output shape {shape}, one example takes more than \
                 {values} values"
            )));
        }
        if self.nodes.len() == limits::NODES {
            return Err(Error::Description(format!(
                "the network is too large: at `{name}` it has more than {} layers",
                limits::NODES
            )));
        }
        let output = self.edges.len();
        self.edges.push(shape);
        self.ends.push(Ends::default());
        let (parameters, tensors) = self.add_tensors(name, &operation)?;
        self.nodes.push(Node { name: name.to_string(), operation, inputs, output, parameters, tensors });
        Ok(output)
    }

    /// Puts the tensors of a node behind those there are, and returns where they lie in the parameter vector and in the list.
    fn add_tensors(&mut self, name: &str, operation: &Operation) -> Result<(Range<usize>, Range<usize>)> {
        let (begin, first) = (self.parameter_len(), self.parameters.len());
        if let Operation::Layer(layer) = operation {
            for tensor in layer.tensors() {
                let start = self.parameter_len();
                let range = start..start + tensor.len();
                if range.end > limits::PARAMETERS {
                    return Err(Error::Description(format!(
                        "the network is too large: at `{name}` its tensors hold more than {} values",
                        limits::PARAMETERS
                    )));
                }
                self.parameters.push(Parameter { name: prefixed(name, tensor.name), tensor, range });
            }
        }
        Ok((begin..self.parameter_len(), first..self.parameters.len()))
    }

    /// The same network with its layers exchanged for others of the same shapes and no larger tensors.
    pub(crate) fn with_layers(
        self,
        change: impl Fn(&str, Range<usize>, Box<dyn Layer>) -> Box<dyn Layer>,
    ) -> Network {
        let Network { nodes, edges, ends, edges_len, output, .. } = self;
        let mut network =
            Network { nodes: Vec::new(), edges, ends, edges_len, output, parameters: Vec::new() };
        for node in nodes {
            let operation = match node.operation {
                Operation::Layer(layer) => Operation::Layer(change(&node.name, node.parameters, layer)),
                other => other,
            };
            let (parameters, tensors) =
                network.add_tensors(&node.name, &operation).expect("no more tensors than before");
            network.nodes.push(Node { operation, parameters, tensors, ..node });
        }
        network
    }
}

/// The full name of an entry: its own, or its position, behind the name of what it is part of.
pub(crate) fn join(prefix: &str, entry: &Entry, index: usize) -> String {
    match &entry.name {
        Some(name) => prefixed(prefix, name),
        None => prefixed(prefix, &index.to_string()),
    }
}

/// An empty name leaves no trace, so that an arrangement PyTorch code writes as a formula stays out of the names.
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_string(),
        (prefix, "") => prefix.to_string(),
        (prefix, name) => format!("{prefix}.{name}"),
    }
}
