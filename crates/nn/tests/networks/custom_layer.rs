//! A layer that the crate does not know works like one of its own.

use crate::common::{LOSS, Setting, check};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layer::{Backward, Factors, Forward, Gradients, Initial, Layer, Pass, Tensor};
use muffle_nn::layers::activation::Activation;
use muffle_nn::relevance::Propagation;
use muffle_nn::{CustomLayer, Engine, ModelDescription, Network, Options, Purpose, Shape};

/// `y = w x²` with one weight for each feature; the squares lie on the tape, so that it is in use too.
struct Parabola {
    features: usize,
}

impl Layer for Parabola {
    fn kind(&self) -> &'static str {
        "parabola"
    }

    fn output(&self) -> Shape {
        Shape::Vector(self.features)
    }

    fn tensors(&self) -> Vec<Tensor> {
        vec![Tensor::new("weight", vec![self.features], Initial::Uniform(1.0))]
    }

    fn tape_len(&self, pass: &Pass) -> usize {
        pass.batch * self.features
    }

    fn forward(&self, Forward { weights, input, output, memory, .. }: Forward) {
        for (index, (output, input)) in output.iter_mut().zip(input).enumerate() {
            memory.tape[index] = input * input;
            *output = weights.parameters[index % self.features] * memory.tape[index];
        }
    }

    fn backward(&self, Backward { weights, values, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        for (index, downstream) in downstream.iter_mut().enumerate() {
            let slope = 2.0 * weights.parameters[index % self.features] * values.input[index];
            *downstream = slope * upstream[index];
        }
    }

    fn squared_norms(&self, Gradients { upstream, memory, .. }: Gradients, norms: &mut [f64]) {
        let squares = memory.tape.chunks_exact(self.features);
        for (norm, (square, upstream)) in norms.iter_mut().zip(squares.zip(upstream.chunks(self.features))) {
            let products = square.iter().zip(upstream).map(|(square, upstream)| square * upstream);
            *norm = products.map(|product| f64::from(product).powi(2)).sum();
        }
    }

    fn accumulate(&self, call: Gradients, factors: Factors, gradient: &mut [f32]) {
        for example in factors.examples() {
            for (feature, sum) in gradient.iter_mut().enumerate() {
                let index = example * self.features + feature;
                *sum += factors.at(0, example) * call.memory.tape[index] * call.upstream[index];
            }
        }
    }
}

fn parabola() -> CustomLayer {
    CustomLayer::new("parabola", |context| match context.input {
        Shape::Vector(features) => Ok(Box::new(Parabola { features })),
        _ => context.refuse("it takes a vector"),
    })
}

fn layers() -> Vec<Entry> {
    vec![
        LayerConfig::Dense { features: 6, bias: true }.into(),
        Activation::Tanh.into(),
        Entry::named("own", parabola()),
        LayerConfig::Dense { features: 3, bias: true }.into(),
    ]
}

#[test]
fn its_gradients_are_those_of_single_examples() {
    let setting = Setting::layers(Shape::Vector(5), layers(), 7);
    assert_eq!(setting.network.parameters()[2].name, "own.weight");
    check(&setting);
    // As the first layer, too.
    check(&Setting::layers(Shape::Vector(3), vec![parabola().into()], 7));
}

/// The reference of the test above comes from the layer itself; this one does not.
#[test]
fn its_gradient_agrees_with_finite_differences() {
    let setting = Setting::layers(Shape::Vector(5), layers(), 7);
    let batch = setting.batch(0..7);
    let mut engine = setting.engine(Purpose::Plain, 1, 4);
    engine.sum(&setting.parameters, &batch, LOSS, 0).unwrap();
    let found = engine.gradient().to_vec();
    for place in setting.network.parameters()[2].range.clone() {
        let mut loss = |by: f32| {
            let mut moved = setting.parameters.clone();
            moved[place] += by;
            engine.sum(&moved, &batch, LOSS, 0).unwrap().loss
        };
        let expected = (loss(0.01) - loss(-0.01)) / 0.02;
        assert!((f64::from(found[place]) - expected).abs() < 1e-3, "{} for {expected}", found[place]);
    }
}

#[test]
fn what_it_refuses_and_what_it_lacks_is_reported() {
    let refused = Network::new(Shape::image(1, 2, 2), &[parabola().into()]).err().unwrap().to_string();
    assert!(refused.contains("parabola") && refused.contains("it takes a vector"), "{refused}");
    // It says nothing of its relevance.
    let network = std::sync::Arc::new(Network::new(Shape::Vector(5), &layers()).unwrap());
    let refused = Propagation::new(network, 0.0).err().unwrap().to_string();
    assert!(refused.contains("own") && refused.contains("parabola"), "{refused}");
}

#[test]
fn a_description_may_hold_it() {
    let description = ModelDescription { input: Shape::Vector(5), layers: layers() };
    assert_eq!(description, description.clone());
    assert_ne!(Entry::from(parabola()), Entry::from(parabola()));
    let network = std::sync::Arc::new(description.network().unwrap());
    assert!(Engine::new(network, Options::new(Purpose::PerExample)).is_ok());
    let text = description.to_toml();
    assert!(text.contains("type = \"parabola\""), "{text}");
    let refused = ModelDescription::from_toml(&text).unwrap_err().to_string();
    assert!(refused.contains("parabola"), "{refused}");
}

/// A layer that tells norms of zero, and would have everything let through.
#[test]
fn nobody_relies_on_the_norms_it_tells() {
    struct Liar(Parabola);
    impl Layer for Liar {
        fn kind(&self) -> &'static str {
            "liar"
        }
        fn output(&self) -> Shape {
            self.0.output()
        }
        fn tensors(&self) -> Vec<Tensor> {
            self.0.tensors()
        }
        fn tape_len(&self, pass: &Pass) -> usize {
            self.0.tape_len(pass)
        }
        fn forward(&self, call: Forward) {
            self.0.forward(call);
        }
        fn backward(&self, call: Backward) {
            self.0.backward(call);
        }
        fn squared_norms(&self, _: Gradients, norms: &mut [f64]) {
            norms.fill(0.0);
        }
        fn accumulate(&self, call: Gradients, factors: Factors, gradient: &mut [f32]) {
            self.0.accumulate(call, factors, gradient);
        }
    }
    let liar = CustomLayer::new("liar", |_| Ok(Box::new(Liar(Parabola { features: 6 }))));
    let mut layers = layers();
    layers[2] = liar.into();
    check(&Setting::layers(Shape::Vector(5), layers, 7));
}
