//! Layers with a rule of relevance of their own, by hand.

use muffle_nn::relevance::{Propagation, Relevance};
use muffle_nn::{Batch, ModelDescription};
use std::sync::Arc;

/// The relevance of one example from class 0; the layers end in a dense layer without bias.
fn relevance(input: &str, layers: &str, parameters: &[f32], values: &[f32], beta: f32) -> Relevance {
    let text =
        format!("input = {input}\nlayers = [{layers}, {{ type = \"dense\", features = 1, bias = false }}]");
    let network = Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap());
    let propagation = Propagation::new(network, beta).unwrap();
    propagation.relevances(parameters, &Batch::new(values.to_vec(), vec![0]), 0..1).unwrap().remove(0)
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32]) {
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4);
    assert!(found.len() == expected.len() && near, "{found:?} in place of {expected:?}");
}

/// (1, 3) becomes (-1, 1), and the logit -2·1 + 5·1 = 3; ratios 2 and 5, their mean 3.5: 1·(2 - 3.5) and 3·(5 - 3.5). The
/// variance is one, but for the 10⁻⁵ that is added to it.
#[test]
fn a_normalisation_shares_out_what_its_inputs_are_beside_their_mean() {
    for layer in
        ["{ type = \"layer-norm\", affine = false }", "{ type = \"group-norm\", groups = 1, affine = false }"]
    {
        let found = relevance("[2]", layer, &[2.0, 5.0], &[1.0, 3.0], 0.0);
        assert_near(&found.inputs, &[-1.5, 4.5]);
        // With β = 1 both ratios are halved, after the logit's: 3/(3 + 1).
        let found = relevance("[2]", layer, &[2.0, 5.0], &[1.0, 3.0], 1.0);
        assert_near(&found.inputs, &[-1.5 * 0.375, 4.5 * 0.375]);
    }
    // Scales 1 and 2, shifts 0 and 1: the outputs are -1 and 3, the logit 13, the ratios 2 and 5 again, scaled 2 and 10.
    let affine = [1.0, 2.0, 0.0, 1.0, 2.0, 5.0];
    for layer in ["{ type = \"layer-norm\" }", "{ type = \"group-norm\", groups = 1 }"] {
        let found = relevance("[2]", layer, &affine, &[1.0, 3.0], 0.0);
        assert_near(&found.inputs, &[-4.0, 12.0]);
        assert_near(&found.neurons, &[-2.0, 15.0, 13.0]);
    }
}

/// Groups and steps keep to themselves: each pair is (1, 3) or (3, 1), that is (-1, 1) or (1, -1).
#[test]
fn groups_and_steps_are_normalised_by_themselves() {
    let (weights, input) = ([2.0, 5.0, 1.0, 1.0], [1.0, 3.0, 3.0, 1.0]);
    let groups =
        relevance("[4]", "{ type = \"group-norm\", groups = 2, affine = false }", &weights, &input, 0.0);
    assert_near(&groups.inputs, &[-1.5, 4.5, 0.0, 0.0]);
    let steps = "{ type = \"layer-norm\", affine = false }, { type = \"flatten\" }";
    assert_near(&relevance("[2, 2]", steps, &weights, &input, 0.0).inputs, &[-1.5, 4.5, 0.0, 0.0]);
}

/// Tokens 2, 0 and 2 with the rows (1, 2), (3, 4) and (5, 6).
#[test]
fn a_token_has_the_relevance_of_its_features() {
    let table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let behind = [1.0, 0.0, 0.0, 1.0, 2.0, 0.0];
    let layers = "{ type = \"embedding\", tokens = 3, features = 2 }, { type = \"flatten\" }";
    let found = relevance("[3]", layers, &[&table[..], &behind].concat(), &[2.0, 0.0, 2.0], 0.0);
    assert_near(&found.inputs, &[5.0, 2.0, 10.0]);
    assert_near(&found.neurons, &[15.0, 2.0, 17.0]);
    // The mean of both but for the padding 1: (3, 4), times (3, 1): of the logit 13, token 2 has 5/2·3 + 6/2.
    let layer = "{ type = \"embedding-bag\", tokens = 3, features = 2, padding = 1 }";
    let found = relevance("[3]", layer, &[&table[..], &[3.0, 1.0]].concat(), &[2.0, 1.0, 0.0], 0.0);
    assert_near(&found.inputs, &[10.5, 0.0, 2.5]);
}

/// One unit whose gates are a half: of what the cell holds, half of it and half of the candidate go on.
#[test]
fn a_memory_shares_out_between_what_it_kept_and_what_came_in() {
    let [first, second] = [0.8f32, -0.3];
    let cell_1 = 0.5 * first.tanh();
    let hidden_1 = 0.5 * cell_1.tanh();
    let candidate = second + hidden_1;
    let cell_2 = 0.5 * cell_1 + 0.5 * candidate.tanh();
    let logit = 2.0 * 0.5 * cell_2.tanh();
    let (kept, came) = (logit * 0.5 * cell_1 / cell_2, logit * 0.5 * candidate.tanh() / cell_2);
    let expected = [kept + came * hidden_1 / candidate, came * second / candidate];
    // Only the third gate, the candidate, has weights.
    let gates = [0.0, 0.0, 1.0, 0.0];
    let parameters = [&gates[..], &gates, &[0.0; 8], &[2.0]].concat();
    let found = relevance("[2, 1]", "{ type = \"lstm\", features = 1 }", &parameters, &[first, second], 0.0);
    assert_near(&found.inputs, &expected);
    assert_near(&found.neurons, &[logit, logit]);
}

#[test]
fn a_gated_unit_shares_out_between_what_it_kept_and_what_came_in() {
    let [first, second] = [0.8f32, -0.3];
    let hidden_1 = 0.5 * first.tanh();
    let candidate = second + 0.5 * hidden_1;
    let hidden_2 = 0.5 * hidden_1 + 0.5 * candidate.tanh();
    let logit = 2.0 * hidden_2;
    let (kept, came) = (logit * 0.5 * hidden_1 / hidden_2, logit * 0.5 * candidate.tanh() / hidden_2);
    let expected = [kept + came * 0.5 * hidden_1 / candidate, came * second / candidate];
    let gates = [0.0, 0.0, 1.0];
    let parameters = [&gates[..], &[0.0; 3], &gates, &[0.0; 3], &[2.0]].concat();
    let found = relevance("[2, 1]", "{ type = \"gru\", features = 1 }", &parameters, &[first, second], 0.0);
    assert_near(&found.inputs, &expected);
}

/// Without queries all steps look at all alike. Values are 3x, outputs 2·3·(1 + 4)/2 = 15 at both steps, the logit 15·(1 + 2).
#[test]
fn attention_shares_out_what_is_seen() {
    let parameters = [0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0, 2.0];
    let attention = |causal: bool| {
        format!(
            "{{ type = \"multi-head-attention\", heads = 1, causal = {causal} }}, {{ type = \"flatten\" }}"
        )
    };
    let found = relevance("[2, 1]", &attention(false), &parameters, &[1.0, 4.0], 0.0);
    assert_near(&found.inputs, &[9.0, 36.0]);
    // If no step sees a later one, the first has 6 for itself, and a fifth of the second's 30.
    let found = relevance("[2, 1]", &attention(true), &parameters, &[1.0, 4.0], 0.0);
    assert_near(&found.inputs, &[6.0 + 6.0, 24.0]);
    // A bias of 1 on the values: seen are 3·2.5 + 1 = 8.5, of which 1/17·3 and 1/17·12 go down and 2/17 are lost.
    let biased = [0.0, 1.0, 3.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
    let found = relevance("[2, 1]", &attention(false), &biased, &[1.0, 4.0], 0.0);
    assert_near(&found.inputs, &[51.0 * 3.0 / 17.0, 51.0 * 12.0 / 17.0]);
}

/// A frozen layer carries with its own numbers, and one whose gradients are written out as it does otherwise.
#[test]
fn a_frozen_layer_carries_with_its_own_numbers() {
    let text =
        "input = [2]\nlayers = [{ type = \"layer-norm\" }, { type = \"dense\", features = 1, bias = false }]";
    let network = || ModelDescription::from_toml(text).unwrap().network().unwrap();
    let parameters = [1.0, 2.0, 0.0, 1.0, 2.0, 5.0];
    let frozen = network().freeze(&["0".to_string()], &parameters);
    let batch = Batch::new(vec![1.0, 3.0], vec![0]);
    let of = |network, parameters: &[f32]| {
        let propagation = Propagation::new(Arc::new(network), 0.1).unwrap();
        propagation.relevances(parameters, &batch, 0..1).unwrap().remove(0).inputs
    };
    assert_eq!(of(frozen, &parameters[4..]), of(network(), &parameters));
}

/// What fills up short texts has no relevance, and a text has the same whether it is filled up or not.
#[test]
fn what_fills_up_a_text_has_no_relevance() {
    let table = [0.0, 0.0, 0.3, 0.4, -0.5, 0.6];
    for (kind, gates) in [("lstm", 4), ("gru", 3)] {
        let layers = |fill: &str| {
            format!(
                "{{ type = \"embedding\", tokens = 3, features = 2{fill} }}, {{ type = \"{kind}\", features = 1 }}"
            )
        };
        let own: Vec<f32> = (0..gates * 5).map(|place| 0.1 + 0.05 * place as f32).collect();
        let parameters = [&table[..], &own, &[2.0]].concat();
        let short = relevance("[2]", &layers(""), &parameters, &[1.0, 2.0], 0.0).inputs;
        let filled =
            relevance("[4]", &layers(", padding = 0"), &parameters, &[1.0, 2.0, 0.0, 0.0], 0.0).inputs;
        assert_near(&filled, &[short[0], short[1], 0.0, 0.0]);
        assert!(short.iter().all(|value| value.abs() > 1e-3), "{short:?}");
    }
}
