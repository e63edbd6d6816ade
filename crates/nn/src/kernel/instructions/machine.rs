//! What this machine can do.

use std::sync::OnceLock;

/// Machines that loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// x86-64 with AVX-512 F, beside all of [`Machine::Avx2`].
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// x86-64 with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Any other.
    Portable,
}

/// The best description of this machine, found once.
#[inline(always)]
pub(crate) fn machine() -> Machine {
    static FOUND: OnceLock<Machine> = OnceLock::new();
    *FOUND.get_or_init(find)
}

#[cold]
fn find() -> Machine {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return if is_x86_feature_detected!("avx512f") { Machine::Avx512 } else { Machine::Avx2 };
    }
    Machine::Portable
}
