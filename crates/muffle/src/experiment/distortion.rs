//! How far a perturbation has moved the weights of a network.

use muffle_nn::Network;

/// The mean over weight matrices of ‖W − W′‖ / ‖W‖ (Frobenius), `W` without and `W′` with perturbation. Matrices are tensors
/// of two or more dimensions; biases are left out. `None` if there is no matrix, or one without perturbation is zero.
///
/// A distortion, not a privacy metric: permuting the hidden units of a network, or training it from another seed without any
/// noise, gives a large value although nothing is protected; and a method that leaks a record outright can have any value.
///
/// # Source
/// Lin et al. 2020, "Differential privacy protection over deep learning: an investigation of its impacted factors", (16) to
/// (18), where it is called TPVD, total parameter value difference, and taken for a measure of privacy.
///
/// # Panics
/// If the parameters are not those of the network.
pub fn distortion(network: &Network, plain: &[f32], perturbed: &[f32]) -> Option<f64> {
    assert_eq!(plain.len(), network.parameter_len(), "parameters without perturbation");
    assert_eq!(perturbed.len(), network.parameter_len(), "parameters with perturbation");
    let matrices = network.parameters().iter().filter(|parameter| parameter.tensor.sizes.len() > 1);
    let relative = |(plain, perturbed): (&[f32], &[f32])| {
        let differences = plain.iter().zip(perturbed).map(|(one, other)| f64::from(*one) - f64::from(*other));
        let norm = norm(plain.iter().map(|value| f64::from(*value)));
        (norm > 0.0).then(|| self::norm(differences) / norm)
    };
    let values: Option<Vec<f64>> = matrices
        .map(|matrix| relative((&plain[matrix.range.clone()], &perturbed[matrix.range.clone()])))
        .collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::initialise::initial_parameters;
    use muffle_nn::{ModelDescription, models};

    fn network(layers: &str) -> Network {
        ModelDescription::from_toml(&format!("input = [2]\nlayers = [{layers}]")).unwrap().network().unwrap()
    }

    #[test]
    fn it_is_the_mean_over_matrices_by_hand() {
        let network = network(
            r#"{ type = "dense", features = 2 }, { type = "tanh" }, { type = "dense", features = 1 }"#,
        );
        // Matrices (3, 0; 4, 0) and (2, 0); biases (9, 9) and 9.
        let plain = [3.0, 0.0, 4.0, 0.0, 9.0, 9.0, 2.0, 0.0, 9.0];
        // Differences (0, 3; 4, 0), of norm 5 against 5, and (1, 0), of norm 1 against 2; biases do not count.
        let perturbed = [3.0, 3.0, 0.0, 0.0, 0.0, 70.0, 1.0, 0.0, -9.0];
        assert_eq!(distortion(&network, &plain, &perturbed), Some(0.75));
        assert_eq!(distortion(&network, &plain, &plain), Some(0.0));
        assert_eq!(distortion(&network, &[0.0; 9], &plain), None);
    }

    #[test]
    fn hidden_units_in_another_order_are_far_away_and_the_same_function() {
        let network = network(
            r#"{ type = "dense", features = 2 }, { type = "tanh" }, { type = "dense", features = 1 }"#,
        );
        let plain = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0];
        let permuted = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0];
        // Norms 2 against √2, and √8 against √2.
        let expected = 0.5 * (2.0_f64.sqrt() + 2.0);
        assert!((distortion(&network, &plain, &permuted).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn another_seed_without_noise_is_far_away() {
        for name in ["cnn-small", "lstm-rows"] {
            let network = models::model(name).unwrap().network().unwrap();
            let [one, other] = [1, 2].map(|seed| initial_parameters(&network, seed));
            // Independent tensors of one length are √2 of it apart.
            let distance = distortion(&network, &one, &other).unwrap();
            assert!((distance - 2.0_f64.sqrt()).abs() < 0.1, "{name}: {distance}");
        }
    }
}
