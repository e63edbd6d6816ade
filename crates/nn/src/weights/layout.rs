//! From muffle's order of a tensor's values to PyTorch's, and back.

use crate::layer::Tensor;

/// For every value in PyTorch's order, its place in muffle's.
pub fn places(tensor: &Tensor) -> impl Iterator<Item = usize> + '_ {
    let identity: Vec<usize> = (0..tensor.sizes.len()).collect();
    let axes: &[usize] = tensor.stored_axes.unwrap_or(&identity);
    // How far apart neighbours along each of PyTorch's axes are stored.
    let mut strides = vec![0; tensor.sizes.len()];
    let mut stride = 1;
    for &axis in axes.iter().rev() {
        strides[axis] = stride;
        stride *= tensor.sizes[axis];
    }
    (0..tensor.len()).map(move |mut index| {
        let mut place = 0;
        for (size, stride) in tensor.sizes.iter().zip(&strides).rev() {
            place += index % size * stride;
            index /= size;
        }
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Initial;

    #[test]
    fn places_follow_the_stored_axes() {
        let mut tensor = Tensor::new("weight", vec![2, 3, 1, 2], Initial::Normal);
        assert!(places(&tensor).eq(0..12));
        tensor.stored_axes = Some(&[2, 3, 1, 0]);
        // PyTorch's (output, input, row, column) is stored at ((row · 2 + column) · 3 + input) · 2 + output.
        let expected =
            (0..2).flat_map(|o| (0..3).flat_map(move |i| (0..2).map(move |c| (c * 3 + i) * 2 + o)));
        assert!(places(&tensor).eq(expected));
    }
}
