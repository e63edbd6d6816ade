//! A recurrent network that draws cells, and learns from their rewards by policy gradients.

use super::genotype::{CHOICES, Cell, EDGES, ends};
use super::strategy::Guide;
use crate::error::Result;
use crate::noise::Uniform;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::initial_parameters;
use muffle_nn::{Batch, Engine, Loss, ModelDescription, Network, Options, Purpose, Shape};
use std::sync::Arc;

/// Size of the hidden state.
const HIDDEN: usize = 32;
/// Of the weights before the first reward: they are public, so any will do.
const SEED: u64 = 0;
/// How far weights move for a reward of one deviation.
const LEARNING_RATE: f64 = 1.0;
/// Rewards are compared with a moving average of this weight on the newest, and measured by their deviation from it.
const NEWEST: f64 = 0.2;
/// Deviations of a reward that count at most: one that lies far out is as likely noise.
const MOST: f64 = 2.0;
/// Features of a step in time: what was chosen, or which edge is asked for.
const FEATURES: usize = CHOICES + EDGES;

/// Chooses what lies on one edge after the other, each by what it chose before.
///
/// # Source
/// Cheng et al. 2022, whose controller is that of Pham et al. 2018, "Efficient neural architecture search via parameter sharing": an LSTM,
/// and REINFORCE (Williams 1992) with a moving average of rewards as baseline. Theirs has hidden states of 100 and Adam, and its candidates
/// share their weights; these are trained one by one.
pub(super) struct Controller {
    asking: Engine,
    learning: Engine,
    parameters: Vec<f32>,
    rewards: Option<Rewards>,
}

/// What rewards were like so far.
struct Rewards {
    average: f64,
    /// Mean square of what they were off it.
    square: f64,
}

impl Controller {
    /// Before the first reward, when all choices are about as likely.
    pub fn new() -> Result<Controller> {
        let description = ModelDescription {
            input: Shape::Sequence { steps: EDGES, features: FEATURES },
            layers: vec![
                LayerConfig::Lstm { features: HIDDEN, sequence: false }.into(),
                LayerConfig::Dense { features: CHOICES, bias: true }.into(),
            ],
        };
        let network: Arc<Network> = Arc::new(description.network()?);
        // So little work is done faster by one thread.
        let engine = |purpose| {
            let options = Options { threads: Some(1), ..Options::new(purpose) };
            Engine::new(network.clone(), options)
        };
        Ok(Controller {
            asking: engine(Purpose::Evaluate)?,
            learning: engine(Purpose::Plain)?,
            parameters: initial_parameters(&network, SEED),
            rewards: None,
        })
    }

    /// How likely each choice for the next edge is behind these.
    fn probabilities(&mut self, choices: &[u32]) -> Result<Vec<f64>> {
        let mut outputs = [0.0; CHOICES];
        let asked = Batch::new(question(choices, choices.len()), vec![0]);
        self.asking.outputs(&self.parameters, &asked, &mut outputs)?;
        let highest = outputs.iter().copied().fold(f32::MIN, f32::max);
        let powers = outputs.map(|output| f64::from(output - highest).exp());
        let sum: f64 = powers.iter().sum();
        Ok(powers.iter().map(|power| power / sum).collect())
    }
}

/// What the network reads when it is asked for an edge: the choices before it, the last of them next to the question.
fn question(choices: &[u32], edge: usize) -> Vec<f32> {
    let mut steps = vec![0.0; EDGES * FEATURES];
    let last = EDGES - 1;
    for (before, choice) in choices[..edge].iter().rev().enumerate() {
        steps[(last - 1 - before) * FEATURES + *choice as usize] = 1.0;
    }
    steps[last * FEATURES + CHOICES + edge] = 1.0;
    steps
}

impl Rewards {
    /// By how many deviations a reward is above the average, and what they are like with it.
    fn with(before: Option<Rewards>, reward: f64) -> (f64, Rewards) {
        let Some(Rewards { average, square }) = before else {
            return (0.0, Rewards { average: reward, square: 0.0 });
        };
        let off = reward - average;
        let square = if square > 0.0 { square + NEWEST * (off * off - square) } else { off * off };
        let advantage = if square > 0.0 { (off / square.sqrt()).clamp(-MOST, MOST) } else { 0.0 };
        (advantage, Rewards { average: average + NEWEST * off, square })
    }
}

impl Guide for Controller {
    /// The last edge into a node that nothing leads to yet gets an operation.
    fn propose(&mut self, uniform: &mut Uniform) -> Result<Cell> {
        let mut choices: Vec<u32> = Vec::new();
        let mut connected = false;
        for (from, to) in ends() {
            connected &= from > 0;
            let mut probabilities = self.probabilities(&choices)?;
            if from + 1 == to && !connected {
                probabilities[0] = 0.0;
            }
            let choice = draw(&probabilities, uniform);
            connected |= choice > 0;
            choices.push(choice);
        }
        Ok(Cell::of(&choices).expect("every node has a way in"))
    }

    /// One step along the gradient of how likely the cell was, times how much better it was than others.
    fn learn(&mut self, cell: &Cell, reward: f64) -> Result<()> {
        let (advantage, rewards) = Rewards::with(self.rewards.take(), reward);
        self.rewards = Some(rewards);
        let choices = cell.choices();
        let inputs = (0..EDGES).flat_map(|edge| question(&choices, edge)).collect();
        let asked = Batch::new(inputs, choices);
        self.learning.sum(&self.parameters, &asked, Loss::SoftmaxCrossEntropy, 0)?;
        let rate = (LEARNING_RATE * advantage / EDGES as f64) as f32;
        let gradient = self.learning.gradient();
        self.parameters.iter_mut().zip(gradient).for_each(|(value, gradient)| *value -= rate * gradient);
        Ok(())
    }
}

/// One of the choices, each as likely as its share.
fn draw(shares: &[f64], uniform: &mut Uniform) -> u32 {
    let mut left = uniform.unit() * shares.iter().sum::<f64>();
    let possible = || (0u32..).zip(shares).filter(|(_, share)| **share > 0.0);
    for (choice, share) in possible() {
        if left < *share {
            return choice;
        }
        left -= share;
    }
    // Rounding leaves a little behind the last.
    possible().last().map_or(0, |(choice, _)| choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose, Stream};

    fn uniform(number: u64) -> Uniform {
        Uniform::new(&Key::from_seed(3), Stream::new(Purpose::Data, number))
    }

    #[test]
    fn advantages_by_hand() {
        let (first, rewards) = Rewards::with(None, 0.5);
        let (second, rewards) = Rewards::with(Some(rewards), 0.6);
        // The average is 0.52 by now, the deviation 0.1: 0.02 of it, over √(0.8·0.01 + 0.2·0.0004).
        let (third, rewards) = Rewards::with(Some(rewards), 0.54);
        assert_eq!(first, 0.0);
        assert!((second - 1.0).abs() < 1e-9 && (third - 0.02 / 0.00808f64.sqrt()).abs() < 1e-9, "{third}");
        assert_eq!(Rewards::with(Some(rewards), 9.0).0, MOST);
    }

    #[test]
    fn a_question_holds_what_was_chosen_before() {
        let asked = question(&[4, 7, 9], 2);
        let places: Vec<usize> = (0..asked.len()).filter(|place| asked[*place] == 1.0).collect();
        assert_eq!(places, [12 * FEATURES + 4, 13 * FEATURES + 7, 14 * FEATURES + CHOICES + 2]);
    }

    /// Where cells are worth as much as they have tanh on their edges, the share of it grows from a tenth to most; a guide that is shown the
    /// same rewards goes on with the same bits.
    #[test]
    fn a_controller_learns_what_is_rewarded_and_can_be_shown_it_again() {
        let worth =
            |cell: &Cell| cell.choices().iter().filter(|choice| **choice == 6).count() as f64 / EDGES as f64;
        let (mut controller, mut again) = (Controller::new().unwrap(), Controller::new().unwrap());
        let mut seen = Vec::new();
        for number in 0..120 {
            let cell = controller.propose(&mut uniform(number)).unwrap();
            controller.learn(&cell, worth(&cell)).unwrap();
            seen.push(cell);
        }
        let mean = |cells: &[Cell]| cells.iter().map(worth).sum::<f64>() / cells.len() as f64;
        assert!(
            mean(&seen[..10]) < 0.3 && mean(&seen[100..]) > 0.7,
            "{} {}",
            mean(&seen[..10]),
            mean(&seen[100..])
        );
        seen.iter().for_each(|cell| again.learn(cell, worth(cell)).unwrap());
        assert_eq!(again.parameters, controller.parameters);
        assert_eq!(again.propose(&mut uniform(9)).unwrap(), controller.propose(&mut uniform(9)).unwrap());
    }

    /// A policy that would put nothing anywhere still makes cells.
    #[test]
    fn every_node_has_a_way_in() {
        let mut controller = Controller::new().unwrap();
        let bias = controller.parameters.len() - CHOICES;
        controller.parameters[bias] = 50.0;
        for number in 0..20 {
            let cell = controller.propose(&mut uniform(number)).unwrap();
            assert_eq!(cell.genotype().len(), 5, "one for each node");
        }
    }
}
