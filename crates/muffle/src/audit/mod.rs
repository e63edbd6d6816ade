//! Privacy that is measured: attacks on releases and models, with lower bounds on epsilon and their confidence.

pub mod bounds;
