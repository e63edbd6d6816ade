//! Statistics that layers keep of the batches they have seen.

use crate::layer::{Role, Tensor};
use crate::network::Network;

/// Share of the newest batch in the running statistics, PyTorch's default.
const MOMENTUM: f32 = 0.1;

/// Moves running statistics towards those of the batch that `gradient` was computed from.
///
/// To be called once after each plain step with at least one example; networks without running statistics stay as they
/// are.
pub fn update_statistics(network: &Network, gradient: &[f32], parameters: &mut [f32]) {
    let statistic = |tensor: &Tensor| tensor.role == Role::Statistic;
    for parameter in network.parameters().iter().filter(|parameter| statistic(&parameter.tensor)) {
        let range = parameter.range.clone();
        for (running, batch) in parameters[range.clone()].iter_mut().zip(&gradient[range]) {
            *running = (1.0 - MOMENTUM) * *running + MOMENTUM * batch;
        }
    }
}
