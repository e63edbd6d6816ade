//! Run-time choice of the vector instructions.
//!
//! What the processor has is found once, by [`machine`], so that an ordinary release build is fast everywhere. Loops are
//! written once and compiled several times: plain ones, which the compiler puts into vectors by itself, stand in
//! [`vectorised`]; a loop nest that must know how many registers there are, and how wide, is a [`Task`] for [`dispatch`].

#[cfg(test)]
pub(crate) mod forced;
mod machine;
mod pair;
mod portable;
mod vectorised;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use self::machine::{Machine, machine};
use self::pair::Pair;
pub(crate) use self::vectorised::vectorised;
use super::line::LANES;

/// What a loop nest must know of the machine.
pub(crate) trait InstructionSet {
    /// One register.
    type Vector: Vector;
    /// As many of them as make up a line.
    type Wide: Vector;
    /// Rows of the block of sums that a product keeps in registers.
    const ROWS: usize;
    /// Lines in each of those rows.
    const COLUMNS: usize;
}

/// Arithmetic on a few lanes at once.
pub(crate) trait Vector: Copy {
    /// Divides [`LANES`].
    const WIDTH: usize;
    fn splat(value: f32) -> Self;
    /// # Safety
    /// `WIDTH` numbers can be read at `source`.
    unsafe fn load(source: *const f32) -> Self;
    /// # Safety
    /// `WIDTH` numbers can be written at `target`.
    unsafe fn store(self, target: *mut f32);
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// The smaller of two finite or infinite numbers.
    fn minimum(self, other: Self) -> Self;
    /// The larger of two finite or infinite numbers.
    fn maximum(self, other: Self) -> Self;
    /// `self + left * right`
    fn accumulate(self, left: Self, right: Self) -> Self;

    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }
}

/// One loop nest. `run`, and whatever it calls, must be `#[inline(always)]`: only then is it compiled anew inside each
/// of the wrappers of [`dispatch`], with their instructions.
pub(crate) trait Task {
    fn run<I: InstructionSet>(self);
}

/// Runs `task` with the best instructions of this processor.
pub(crate) fn dispatch<T: Task>(task: T) {
    #[cfg(test)]
    let task = match forced::dispatch(task) {
        Some(task) => task,
        None => return,
    };
    #[cfg(target_arch = "x86_64")]
    let task = match x86::dispatch(task) {
        Some(task) => task,
        None => return,
    };
    task.run::<portable::Portable>();
}
