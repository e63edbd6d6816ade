//! The published methods.

mod class_weights;
#[path = "../common/mod.rs"]
mod common;
mod every_form;
mod noisy_inputs;
mod recipes;
mod releases;
mod relevance_noise;
mod relevant_inputs;
mod trial;
