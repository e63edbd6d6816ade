//! Scenes of leaves that the program draws itself: records of nobody, on which a network can learn to see without any data.
//!
//! A class is a scene, its records are what a camera sees of it from elsewhere, turned, nearer or brighter.
//!
//! # Source
//! Dosovitskiy et al. 2014, "Discriminative unsupervised feature learning with exemplar convolutional neural networks": views of one
//! image as a class; Baradad et al. 2021, "Learning to see by looking at noise": images of random processes.

use super::finish;
use crate::dataset::{Dataset, Records, Split};
use crate::entry::{Content, Entry};
use crate::error::Result;
use crate::leaves::views;
use crate::scaling::Scaling;
use muffle_nn::shape::Shape;
use rayon::prelude::*;

/// Scenes.
const SCENES: usize = 500;
/// Training and test records of each.
const VIEWS: [usize; 2] = [80, 4];

/// The registry's line of coloured scenes.
pub static COLOUR: Entry = Entry {
    name: "leaves",
    title: "views of scenes that the program draws, colour",
    input: &[3, 32, 32],
    records: (SCENES * VIEWS[0], SCENES * VIEWS[1]),
    classes: SCENES,
    licence: "made by the program: nobody's records",
    citation: "Baradad et al. 2021, Learning to see by looking at noise",
    folders: &[],
    system: &[],
    files: &[],
    archive: None,
    downloads: &[],
    package: None,
    built_in: Some(&[]),
    load,
};

/// The registry's line of grey scenes.
pub static GREY: Entry = Entry {
    name: "leaves-grey",
    title: "views of scenes that the program draws, grey",
    input: &[1, 28, 28],
    ..COLOUR
};

fn load(entry: &Entry, _: Vec<Content>) -> Result<Dataset> {
    let shape = Shape::from_sizes(entry.input).unwrap_or(Shape::Vector(0));
    let split = |first: usize, count: usize| {
        let each = |scene: usize| views(shape, scene as u64, first as u64..(first + count) as u64);
        let pixels = (0..SCENES).into_par_iter().flat_map_iter(each).collect();
        let scenes = (0..SCENES * count).map(|place| (place / count) as u32).collect();
        Split::classified(Records::Bytes(pixels), scenes)
    };
    let (train, test) = (split(0, VIEWS[0]), split(VIEWS[0], VIEWS[1]));
    let classes = (0..SCENES).map(|scene| scene.to_string()).collect();
    finish(entry, classes, Scaling::range(0.0, 255.0), train, test)
}
