//! What lies on the edges of a cell, and how a search changes it.

use crate::noise::Uniform;
use muffle_nn::models::dpnas::{NODES, OPERATIONS, Operation};

/// Edges of a cell: every node behind the input can read from all below it.
pub(super) const EDGES: usize = NODES * (NODES + 1) / 2;

/// What can be on an edge: an operation, or nothing.
pub(super) const CHOICES: usize = OPERATIONS.len() + 1;

/// A cell: what lies on each edge from a lower to a higher node, if anything does.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    edges: Vec<Option<Operation>>,
}

/// The ends of all edges, in the order in which a cell stores them: those into a node stand together.
pub(super) fn ends() -> impl Iterator<Item = (usize, usize)> {
    (1..=NODES).flat_map(|to| (0..to).map(move |from| (from, to)))
}

impl Cell {
    /// Something on every edge or nothing, each as likely as any other choice.
    pub fn random(uniform: &mut Uniform) -> Cell {
        let mut cell = Cell { edges: ends().map(|_| choose(uniform)).collect() };
        // A node needs a way in.
        for node in 1..=NODES {
            if !cell.reaches(node) {
                let operation = OPERATIONS[uniform.below(OPERATIONS.len() as u64) as usize];
                let from = uniform.below(node as u64) as usize;
                let place = ends().position(|ends| ends == (from, node)).expect("an edge from below");
                cell.edges[place] = Some(operation);
            }
        }
        cell
    }

    /// The same with one edge changed.
    pub fn neighbour(&self, uniform: &mut Uniform) -> Cell {
        loop {
            let mut cell = self.clone();
            let place = uniform.below(cell.edges.len() as u64) as usize;
            cell.edges[place] = choose(uniform);
            if cell != *self && cell.is_connected() {
                return cell;
            }
        }
    }

    /// The cell of these choices, edge after edge: 0 for nothing, then [`OPERATIONS`] from 1 on, as the released code of Cheng et al.
    /// numbers them. `None` if they are no cell, or a node has no way in.
    pub fn of(choices: &[u32]) -> Option<Cell> {
        let operation = |choice: &u32| match choice.checked_sub(1) {
            Some(place) => OPERATIONS.get(place as usize).map(|operation| Some(*operation)),
            None => Some(None),
        };
        let edges: Vec<Option<Operation>> = choices.iter().map(operation).collect::<Option<_>>()?;
        Some(Cell { edges }).filter(|cell| cell.edges.len() == EDGES && cell.is_connected())
    }

    /// The choices that the cell is [`of`](Cell::of).
    pub fn choices(&self) -> Vec<u32> {
        let number = |operation: &Operation| OPERATIONS.iter().position(|known| known == operation);
        let choice =
            |edge: &Option<Operation>| edge.as_ref().and_then(number).map_or(0, |place| place as u32 + 1);
        self.edges.iter().map(choice).collect()
    }

    fn is_connected(&self) -> bool {
        (1..=NODES).all(|node| self.reaches(node))
    }

    fn reaches(&self, node: usize) -> bool {
        ends().zip(&self.edges).any(|((_, to), operation)| to == node && operation.is_some())
    }

    /// The edges with something on them: what, from, to.
    pub fn genotype(&self) -> Vec<(Operation, usize, usize)> {
        let edges = ends().zip(&self.edges);
        edges.filter_map(|((from, to), operation)| Some(((*operation)?, from, to))).collect()
    }
}

/// An operation, or nothing.
fn choose(uniform: &mut Uniform) -> Option<Operation> {
    OPERATIONS.get(uniform.below(CHOICES as u64) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose, Stream};
    use muffle_nn::Shape;
    use muffle_nn::layers::activation::Activation;
    use muffle_nn::models::dpnas::network;

    #[test]
    fn every_cell_makes_a_network_and_a_neighbour_differs_in_one_edge() {
        let mut uniform = Uniform::new(&Key::from_seed(1), Stream::new(Purpose::Data, 0));
        let mut seen = Vec::new();
        for _ in 0..40 {
            let cell = Cell::random(&mut uniform);
            let neighbour = cell.neighbour(&mut uniform);
            let differences = cell.edges.iter().zip(&neighbour.edges).filter(|(one, other)| one != other);
            assert_eq!(differences.count(), 1);
            for cell in [cell, neighbour] {
                let shape = Shape::image(1, 8, 8);
                network(shape, 3, &cell.genotype(), [8, 8, 8], Activation::Tanh).network().unwrap();
                seen.extend(cell.genotype().iter().map(|(operation, _, _)| *operation));
                assert_eq!(Cell::of(&cell.choices()), Some(cell));
            }
        }
        assert!(OPERATIONS.iter().all(|operation| seen.contains(operation)), "each comes up");
    }

    #[test]
    fn what_is_no_cell_is_none() {
        let mut choices = vec![3; EDGES];
        assert!(Cell::of(&choices).is_some());
        assert_eq!(Cell::of(&choices[1..]), None);
        choices[0] = 0;
        assert_eq!(Cell::of(&choices), None, "the first node has one way in");
        choices[0] = CHOICES as u32;
        assert_eq!(Cell::of(&choices), None);
    }
}
