//! The engine from the outside, in one program: every test of layers, gradients, networks and their files.

mod common;

mod cancellation;
mod custom_layer;
mod engine;
mod exact_sums;
mod frozen;
mod hooks;
mod input_gradients;
mod losses;
mod lstm;
mod model_file;
mod models;
mod padding;
mod per_example;
mod position;
mod properties;
mod pytorch;
mod relevance;
mod relevance_rules;
mod rounding;
mod scattering;
mod small_numbers;
mod views;
mod weights;
