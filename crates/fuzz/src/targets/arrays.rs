//! Arrays of numbers: NumPy, idx, CIFAR, MATLAB.

use super::said;
use crate::mutate::deflate::squeezed;
use crate::mutate::mat::{COMPRESSED, HEADER, element};
use crate::mutate::npz::{Member, archive};
use crate::mutate::{bytes, mat, npz};
use crate::target::{INFLATED, Memory, Target};
use muffle::data::format::{cifar, idx, mat as matlab};
use muffle::data::own::npz::{Form, Layout, arrays};
use muffle::data::{Quantity, Task};

pub static NPZ: Target = Target {
    name: "npz",
    door: "npz::arrays",
    seeds: || {
        vec![
            arrays_of(false, "|u1", 2, &[1, 2, 3, 4]),
            arrays_of(true, "<f4", 2, &[0x3f; 16]),
            arrays_of(true, "|u1", 500, &[0; 1000]),
        ]
    },
    mutate: npz::mutate,
    parse: |input| {
        let quantities = vec![Quantity { name: "price".to_string(), range: [0.0, 10.0] }];
        // What is read beside the archive follows from its length, so that an input always means the same.
        let images = |layout| Form { layout, vocabulary: None };
        let (form, task) = match input.len() % 4 {
            0 => (images(Layout::ChannelsLast), None),
            1 => (images(Layout::ChannelsFirst), Some(Task::Values(quantities))),
            2 => (Form { vocabulary: Some(90), ..Form::default() }, None),
            _ => (images(Layout::ChannelsFirst), Some(Task::None)),
        };
        arrays("file", input, form, task.as_ref()).map(drop).map_err(said)
    },
    // Bytes become whole numbers of eight bytes each.
    memory: Memory { fixed: 1 << 20, each: 16 * INFLATED },
};

pub static IDX: Target = Target {
    name: "idx",
    door: "idx::images, labels",
    seeds: || {
        let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3][..], &[7; 18]].concat();
        vec![images, vec![0, 0, 8, 1, 0, 0, 0, 5, 1, 2, 3, 4, 9]]
    },
    mutate: bytes::mutate,
    parse: |input| match input.get(3) {
        Some(1) => idx::labels("file", input.to_vec(), 10).map(drop).map_err(said),
        _ => idx::images("file", input.to_vec()).map(drop).map_err(said),
    },
    memory: Memory { fixed: 1 << 12, each: 16 },
};

pub static CIFAR: Target = Target {
    name: "cifar",
    door: "cifar::records",
    seeds: || vec![vec![3; 1 + 3072], vec![7; 2 + 3072]],
    mutate: bytes::mutate,
    parse: |input| {
        let labels = match input.len() % 3073 {
            0 => cifar::Labels { bytes: 1, classes: 10 },
            _ => cifar::Labels { bytes: 2, classes: 100 },
        };
        cifar::records("file", input, labels, &mut Vec::new(), &mut Vec::new()).map_err(said)
    },
    memory: IDX.memory,
};

pub static MAT: Target = Target {
    name: "mat",
    door: "mat::arrays",
    seeds: || vec![matlab_file(false, 2), matlab_file(true, 2), matlab_file(true, 50_000)],
    mutate: mat::mutate,
    parse: |input| matlab::arrays("file", input).map(drop).map_err(said),
    // Bytes become whole numbers of eight bytes each.
    memory: Memory { fixed: 1 << 20, each: 16 * INFLATED },
};

/// Two records of a column of pixels with targets, and one to test on.
fn arrays_of(deflated: bool, kind: &str, pixels: usize, values: &[u8]) -> Vec<u8> {
    let member = |name: &str, content: Vec<u8>| Member { name: name.as_bytes().to_vec(), content, deflated };
    archive(&[
        member("x_train.npy", npy(kind, &format!("(2, {pixels}, 1)"), values)),
        member("y_train.npy", npy("|u1", "(2,)", &[1, 0])),
        member("x_test.npy", npy(kind, &format!("(1, {pixels}, 1)"), &values[..values.len() / 2])),
        member("y_test.npy", npy("|u1", "(1,)", &[1])),
    ])
}

pub fn npy(kind: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

/// An array of so many bytes and one of doubles.
fn matlab_file(compressed: bool, count: u32) -> Vec<u8> {
    let mut file = b"MATLAB 5.0 MAT-file".to_vec();
    file.resize(HEADER - 4, b' ');
    file.extend(b"\x00\x01IM");
    let doubles: Vec<u8> = [10.0f64, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    for (name, class, kind, values) in [("X", 9, 2, &vec![1; count as usize]), ("y", 6, 9, &doubles)] {
        let mut inside = Vec::new();
        element(&mut inside, 6, &[class, 0, 0, 0, 0, 0, 0, 0]);
        let rows = (if name == "X" { count } else { 2 }).to_le_bytes();
        element(&mut inside, 5, &[&rows[..], &[1, 0, 0, 0]].concat());
        element(&mut inside, 1, name.as_bytes());
        element(&mut inside, kind, values);
        let mut array = Vec::new();
        element(&mut array, 14, &inside);
        match compressed {
            true => element(&mut file, COMPRESSED, &squeezed(&array)),
            false => file.extend(array),
        }
    }
    file
}
