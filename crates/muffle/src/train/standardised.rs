//! Filters without a mean and of one length.

use muffle_nn::Network;

/// Gives every filter of every convolution that is trained a mean of zero and a length of one. Between two steps this is
/// post-processing of released weights, and free (R9).
///
/// # Source
/// Qiao et al. 2019, "Micro-batch training with batch-channel normalization and weight standardization", equation 7, as a projection
/// behind every step (Huang et al. 2017, "Projection based weight normalization") in place of a change of variables, so that gradients are those
/// of an ordinary convolution. De et al. 2022 train privately with it and group normalisation.
pub(super) fn standardise(network: &Network, parameters: &mut [f32]) {
    let filters = network.parameters().iter().filter(|tensor| tensor.tensor.sizes.len() == 4);
    for tensor in filters {
        let values = &mut parameters[tensor.range.clone()];
        // The outputs of an input lie side by side.
        let outputs = tensor.tensor.sizes[0];
        let fan_in = (values.len() / outputs) as f64;
        for filter in 0..outputs {
            let own = || values[filter..].iter().step_by(outputs).map(|value| f64::from(*value));
            let mean = own().sum::<f64>() / fan_in;
            let length = own().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 {
                let filter = values[filter..].iter_mut().step_by(outputs);
                filter.for_each(|value| *value = ((f64::from(*value) - mean) / length) as f32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::ModelDescription;
    use muffle_nn::initialise::initial_parameters;

    #[test]
    fn filters_have_no_mean_and_one_length_and_the_rest_stays() {
        let model = "input = [2, 5, 5]\nlayers = [{ type = \"conv2d\", channels = 3, kernel = 3 }, { type = \"flatten\" }, { \
                     type = \"dense\", features = 2 }]";
        let network = ModelDescription::from_toml(model).unwrap().network().unwrap();
        let before = initial_parameters(&network, 1);
        let mut after = before.clone();
        standardise(&network, &mut after);
        let weights = 2 * 9 * 3;
        for filter in 0..3 {
            let own = || after[filter..weights].iter().step_by(3).map(|value| f64::from(*value));
            assert!(own().sum::<f64>().abs() < 1e-5);
            assert!((own().map(|value| value * value).sum::<f64>() - 1.0).abs() < 1e-5);
        }
        assert_eq!(after[weights..], before[weights..]);
        let once = after.clone();
        standardise(&network, &mut after);
        assert!(after.iter().zip(&once).all(|(twice, once)| (twice - once).abs() < 1e-6));
    }
}
