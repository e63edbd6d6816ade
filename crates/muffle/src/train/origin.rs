//! What a model starts from, and which of its layers training moves.

use super::init::Init;
use super::initialisation::Initialisation;
use super::recipe::GradientRecipe;
use crate::error::{Error, Result};
use muffle_nn::adapters::Adapted;
use muffle_nn::pattern::matches;
use muffle_nn::{ModelDescription, Network};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// Public weights that a network starts from, and the layers that stay so.
#[derive(Clone)]
pub struct Origin {
    init: Init,
    /// Layers that stay as they start.
    frozen: Vec<String>,
    adapted: Option<Adapted>,
    /// The network with all its tensors, as it is published. What is trained has those that move.
    whole: Arc<Network>,
    /// Its parameters; those that start at random are not used.
    public: Arc<Vec<f32>>,
}

/// A network as a recipe wants it trained.
pub(super) struct Started {
    /// The network as it is published.
    pub description: ModelDescription,
    /// The network as it is trained.
    pub network: Network,
    /// Where it comes from; `None` if all of it starts at random.
    pub origin: Option<Origin>,
}

impl Started {
    /// What a recipe makes of a network. The digest of public weights is filled in.
    pub fn new(training: &mut GradientRecipe, description: ModelDescription) -> Result<Started> {
        let GradientRecipe { init, freeze, adapters, .. } = training;
        let Some(init) = init else {
            if !freeze.is_empty() || adapters.is_some() {
                return Err(Error::Plan(
                    "freeze and adapters keep layers as they start, so there must be something to start from: set init"
                        .to_string(),
                ));
            }
            let network = description.network()?;
            return Ok(Started { description, network, origin: None });
        };
        init.sha256 = Some(init.digest()?);
        let adapted = adapters.as_ref().map(|adapters| adapters.attach(&description)).transpose()?;
        let description = adapted.as_ref().map_or(description, |adapted| adapted.description.clone());
        let origin = Origin::new(init.clone(), freeze, adapted, &description)?;
        let network = description.network()?.freeze(&origin.frozen, &origin.public);
        match network.trainable_len() {
            0 => Err(Error::Plan(
                "freeze: every layer is frozen, so that nothing is left to train".to_string(),
            )),
            _ => Ok(Started { description, network, origin: Some(origin) }),
        }
    }
}

impl Origin {
    fn new(
        init: Init,
        freeze: &[String],
        adapted: Option<Adapted>,
        description: &ModelDescription,
    ) -> Result<Origin> {
        let whole = description.network()?;
        let is_adapter = |name: &str| adapted.as_ref().is_some_and(|adapted| adapted.is_adapter(name));
        let tensors = || whole.parameters().iter().map(|tensor| tensor.name.clone());
        let fresh: Vec<String> = tensors().filter(|name| is_adapter(name)).collect();
        let mut public = vec![0.0; whole.parameter_len()];
        init.load(&whole, &fresh, &mut public)?;
        let mut frozen = adapted.as_ref().map_or(Vec::new(), |adapted| adapted.layers.clone());
        frozen.extend(whole.layers_named(freeze)?.into_iter().filter(|name| !is_adapter(name)));
        let origin = Origin { init, frozen, adapted, whole: Arc::new(whole), public: Arc::new(public) };
        origin.refuse_random()?;
        Ok(origin)
    }

    /// Refuses to freeze what starts at random: it would be lost with the key of the run.
    fn refuse_random(&self) -> Result<()> {
        let frozen = self.whole.nodes().iter().filter(|node| self.frozen.contains(&node.name));
        let mut tensors = frozen.flat_map(|node| &self.whole.parameters()[node.tensors.clone()]);
        match tensors.find(|tensor| self.starts_at_random(&tensor.name)) {
            Some(tensor) => Err(Error::Plan(format!(
                "tensor `{}` is to start at random (init.fresh) and to stay so (freeze): take it out of one of them",
                tensor.name
            ))),
            None => Ok(()),
        }
    }

    fn starts_at_random(&self, tensor: &str) -> bool {
        self.adapted.as_ref().is_some_and(|adapted| adapted.is_adapter(tensor))
            || self.init.fresh.iter().any(|pattern| matches(pattern, tensor))
    }

    /// The parameters that training moves, before the first step.
    pub(super) fn initial(
        &self,
        trained: &Network,
        initialisation: Initialisation,
        seed: u64,
    ) -> Result<Vec<f32>> {
        let mut values = initialisation.parameters(&self.whole, seed);
        for tensor in self.whole.parameters().iter().filter(|tensor| !self.starts_at_random(&tensor.name)) {
            values[tensor.range.clone()].copy_from_slice(&self.public[tensor.range.clone()]);
        }
        if let Some(adapted) = &self.adapted {
            adapted.silence(&mut values)?;
        }
        let mut moved = vec![0.0; trained.parameter_len()];
        for (place, own) in self.places(trained) {
            moved[own].copy_from_slice(&values[place]);
        }
        Ok(moved)
    }

    /// The network that is published, with all its parameters. Whatever starts at random is among those that were trained.
    pub(super) fn published(&self, trained: &Network, moved: &[f32]) -> (Arc<Network>, Vec<f32>) {
        let mut values = self.public.to_vec();
        for (place, own) in self.places(trained) {
            values[place].copy_from_slice(&moved[own]);
        }
        (self.whole.clone(), values)
    }

    /// For every tensor that is trained its place in the whole network, and among those that are trained.
    fn places<'a>(&'a self, trained: &'a Network) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 'a {
        let mut all = self.whole.parameters().iter();
        trained.parameters().iter().map(move |tensor| {
            let own =
                all.find(|other| other.name == tensor.name).expect("what is trained is part of the whole");
            (own.range.clone(), tensor.range.clone())
        })
    }

    /// What the certificate says of it.
    pub(super) fn certified(&self) -> Value {
        json!({
            "weights": self.init.weights,
            "sha256": self.init.sha256,
            "fresh": self.init.fresh,
            "frozen": self.frozen,
            "adapters": self.adapted.as_ref().map_or(&[][..], |adapted| &adapted.layers),
        })
    }

    /// What no figure of the run is about, in words.
    pub(super) fn not_covered(&self) -> String {
        format!(
            "the weights that training started from ({}) are taken as public: records that they were trained on are not protected",
            self.init.weights
        )
    }
}
