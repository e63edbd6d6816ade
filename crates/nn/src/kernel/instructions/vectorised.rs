//! Plain loops, left to the compiler.

/// Compiles functions with and without AVX2 and FMA, and runs those that suit this [machine](super::Machine).
///
/// Not with AVX-512: sums over a vector, which must be taken in a fixed order, are slower there.
macro_rules! vectorised {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $output:ty)? $body:block
    )*) => {$(
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) $(-> $output)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) $(-> $output)? $body

            // Not inlined: the choice then needs no stack, which shows in short loops.
            #[inline(never)]
            fn portable($($argument: $type),*) $(-> $output)? $body

            use $crate::kernel::instructions::{Machine, machine};
            match machine() {
                Machine::Portable => portable($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: either machine has AVX2 and FMA.
                Machine::Avx2 | Machine::Avx512 => unsafe { avx2($($argument),*) },
            }
        }
    )*};
}
pub(crate) use vectorised;
