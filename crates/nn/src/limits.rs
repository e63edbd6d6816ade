//! How large a network may be: beyond these sizes a description is a slip of the pen, and saying so beats running out
//! of memory or counting past the end of an integer.

/// Most values of one example on one edge of a network (256 MiB).
pub const EDGE: usize = 1 << 26;

/// Most values of one example on all edges of a network (1 GiB).
pub const EDGES: usize = 1 << 28;

/// Most values in all tensors of a network (1 GiB); training holds several times that.
pub const PARAMETERS: usize = 1 << 28;

/// Most layers, activations and joints of a network.
pub const NODES: usize = 10_000;

/// Largest number in the options of a layer: products of two are still safe to compute.
pub const OPTION: usize = 1 << 31;

/// Product of sizes, if it is at most `most`.
pub fn product(sizes: &[usize], most: usize) -> Option<usize> {
    let product = sizes.iter().try_fold(1, |product: usize, &size| product.checked_mul(size))?;
    (product <= most).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_stop_at_the_limit_and_never_wrap() {
        assert_eq!(product(&[1 << 13, 1 << 13], EDGE), Some(EDGE));
        assert_eq!(product(&[1 << 13, 1 << 13, 2], EDGE), None);
        assert_eq!(product(&[usize::MAX, 2], EDGE), None);
        assert_eq!(product(&[], EDGE), Some(1));
    }
}
