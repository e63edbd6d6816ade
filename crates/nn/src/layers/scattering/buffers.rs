//! The memory of a pass, cut into planes.

use super::fourier::{Complex, Lane};

/// Values of a complex number and of a real one, of all planes that are transformed together.
const COMPLEX: usize = size_of::<Complex>() / size_of::<f32>();
const REAL: usize = size_of::<Lane>() / size_of::<f32>();

/// How large planes are.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub full: usize,
    pub half: usize,
    /// The longer side of a plane.
    pub side: usize,
}

impl Sizes {
    /// Values of all planes.
    pub fn len(self) -> usize {
        self.full * (5 * COMPLEX + REAL) + self.half * (COMPLEX + REAL) + self.side * (2 * COMPLEX + REAL)
    }
}

/// Planes of a pass.
pub(super) struct Buffers<'a> {
    /// Of the image.
    pub spectrum: &'a mut [Complex],
    /// The image under one fine wavelet.
    pub wave: &'a mut [Complex],
    /// The spectrum of its modulus.
    pub inner: &'a mut [Complex],
    /// What is carried back to that.
    pub inner_gradient: &'a mut [Complex],
    /// What is carried back to the spectrum of the image.
    pub gradient: &'a mut [Complex],
    /// Pixels, or moduli, or their gradients.
    pub reals: &'a mut [Lane],
    pub small: Small<'a>,
}

/// Planes of half the size, and rows.
pub(super) struct Small<'a> {
    pub half: &'a mut [Complex],
    pub reals: &'a mut [Lane],
    pub row: &'a mut [Lane],
    pub work: &'a mut [Complex],
}

impl<'a> Buffers<'a> {
    /// Cuts up memory of the [length](Sizes::len) that all planes need.
    pub fn new(sizes: Sizes, memory: &'a mut [f32]) -> Buffers<'a> {
        let mut rest = memory;
        let Sizes { full, half, side } = sizes;
        let [spectrum, wave, inner, inner_gradient, gradient] = [(); 5].map(|()| planes(&mut rest, full));
        let (half_plane, work) = (planes(&mut rest, half), planes(&mut rest, 2 * side));
        let [reals, half_reals, row] = [full, half, side].map(|len| {
            let (values, left) = std::mem::take(&mut rest).split_at_mut(len * REAL);
            rest = left;
            values.as_chunks_mut().0
        });
        let small = Small { half: half_plane, reals: half_reals, row, work };
        Buffers { spectrum, wave, inner, inner_gradient, gradient, reals, small }
    }
}

/// A plane of so many complex numbers off the memory.
fn planes<'a>(memory: &mut &'a mut [f32], len: usize) -> &'a mut [Complex] {
    let (values, left) = std::mem::take(memory).split_at_mut(len * COMPLEX);
    *memory = left;
    values.as_chunks_mut().0.as_chunks_mut().0
}
