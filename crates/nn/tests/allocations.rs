//! Steps do not allocate more as time goes on, and never example by example.

#[path = "networks/common/mod.rs"]
mod common;

use common::{LOSS, Setting};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Purpose, Shape};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steps_allocate_the_same_at_all_times() {
    let conv = |channels: usize, groups: usize| -> Entry {
        LayerConfig::Conv2d {
            channels,
            kernel: Extent::Square(3),
            stride: Extent::Square(1),
            padding: Extent::Square(1),
            groups,
            bias: true,
        }
        .into()
    };
    let norm = LayerConfig::GroupNorm { groups: 2, affine: true };
    let branches =
        vec![Piece::Sequential(vec![conv(8, 8), norm.into()]).into(), Piece::Sequential(vec![]).into()];
    let layers = vec![
        conv(8, 1),
        Activation::Relu.into(),
        Piece::Sum(branches).into(),
        LayerConfig::MaxPool { kernel: Extent::Square(2), stride: None, padding: Extent::Square(0) }.into(),
        LayerConfig::Dropout { rate: 0.2 }.into(),
        LayerConfig::Flatten.into(),
        LayerConfig::LayerNorm { affine: true }.into(),
        LayerConfig::Dense { features: 4, bias: true }.into(),
    ];
    let setting = Setting::layers(Shape::image(2, 8, 8), layers, 64);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut engine = setting.engine(Purpose::PerExample, cores.min(2), 4);
    let (small, large) = (setting.batch(0..8), setting.batch(0..64));
    let weigh = |_: &[f64], factors: &mut [f32]| factors.fill(1.0);
    const STEPS: usize = 50;
    let mut steps = |batch| {
        let (calls, live) = (CALLS.load(Ordering::Relaxed), LIVE.load(Ordering::Relaxed));
        for seed in 0..STEPS as u64 {
            engine.weighted_sum(&setting.parameters, batch, LOSS, seed, &weigh).unwrap();
        }
        (CALLS.load(Ordering::Relaxed) - calls, LIVE.load(Ordering::Relaxed) - live)
    };
    steps(&large);
    let (first, _) = steps(&large);
    let (second, grown) = steps(&large);
    let (other, _) = steps(&small);
    println!(
        "{first}, {second} and, in small batches, {other} allocations in {STEPS} steps; {grown} bytes more"
    );
    // The thread pool takes a block for its queue now and then: less than one in a step.
    assert!(second.abs_diff(first) <= STEPS, "{second} allocations, {first} before");
    assert!(grown.unsigned_abs() < 16 << 10, "{grown} bytes more");
    // 14 micro-batches more, each with one dense layer: three matrix products, each with a buffer of its own, and those of few
    // values with a copy of their rows.
    assert!(
        first - other <= 5 * 14 * STEPS + STEPS,
        "{first} allocations in large batches, {other} in small ones"
    );
    assert!(other < 20 * STEPS, "{other} allocations in {STEPS} steps of small batches");
}
