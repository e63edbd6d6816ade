//! The recipes that come with the program.

use crate::error::{Error, Result};
use crate::run::Parts;
use muffle_nn::model_file::nearest::nearest;
use std::path::Path;

/// A recipe that comes with the program.
pub struct BuiltIn {
    /// How to ask for it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// All of them; the first is what `muffle train` runs by itself.
        pub const RECIPES: &[BuiltIn] = &[
            $(BuiltIn { name: $name, text: include_str!(concat!("../../../recipes/", $name, ".toml")) },)*
        ];
    };
}

built_in!(
    "mnist",
    "tempered-mnist",
    "tempered-fashion-mnist",
    "tempered-cifar10",
    "tempered-cifar10-epsilon-3",
    "scattering-mnist",
    "scattering-mnist-views",
    "scattering-mnist-convolution",
    "scattering-fashion-mnist",
    "scattering-fashion-mnist-convolution",
    "scattering-cifar10",
    "scattering-cifar10-linear",
    "leaves-prior",
    "pca-mnist-epsilon-0.5",
    "pca-mnist-epsilon-2",
    "pca-mnist-epsilon-8",
    "adult-logistic",
    "adult-mlp",
    "pate-mnist",
    "pate-fashion-mnist",
    "pate-cifar10",
    "pate-adult",
    "functional-adult",
    "functional-mnist",
    "functional-scattering-mnist",
    "functional-scattering-fashion-mnist",
    "functional-scattering-cifar10",
    "dpa-mnist",
    "dpgan-mnist",
    "dpgan-mnist-steps",
    "dpgan-fashion-mnist",
    "dpgan-adult",
    "pcdbn-mnist",
    "local-mnist",
    "resnet18-cifar10",
    "ma-2023-table-1",
    "ma-2023-table-2",
    "ma-2023-table-3",
    "relevance-mnist-epsilon-2",
    "relevance-cifar10-epsilon-2",
    "wang-2023-table-3",
    "wang-2023-table-3-afrrs",
    "wang-2023-table-4",
    "wang-2023-table-4-backprop-clip",
    "wang-2023-table-4-afrrs",
    "shen-2021-table-2-time",
    "shen-2021-table-2-step",
    "shen-2021-table-2-exponential",
    "shen-2021-table-2-polynomial",
    "shen-2021-table-2-validation",
    "shen-2021-table-2-cifar10-dp-sgd",
    "shen-2021-table-2-cifar10-exponential",
    "shen-2021-table-2-cifar10-validation",
    "shen-2021-table-2-adlm",
    "shen-2021-table-2-cifar10-adlm",
    "shen-2021-table-3",
    "shen-2021-figure-1-dpah",
    "shen-2021-figure-2-pcdbn",
    "shen-2021-figure-4-dpgan",
    "shen-2021-figure-6-ganobfuscator",
    "li-2024-table-2-mnist",
    "li-2024-table-2-fashion-mnist",
    "li-2024-table-2-cifar10",
    "li-2024-table-2-cifar100",
    "li-2024-table-2-svhn",
    "li-2024-table-3-vgg19",
    "li-2024-table-3-googlenet",
    "li-2024-table-3-simpledla",
    "lin-2020-table-3",
    "lin-2020-table-4",
    "lin-2020-table-5",
);

/// The key of `key=value`.
pub fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// A recipe by its name, by the path of a file or of the folder of a run, changed by settings.
pub fn find(word: &str, settings: &[String]) -> Result<Parts> {
    if let Some(recipe) = RECIPES.iter().find(|recipe| recipe.name == word) {
        return Parts::parse(&format!("recipe `{word}`"), recipe.text, settings);
    }
    let path = Path::new(word);
    if path.exists() || word.ends_with(".toml") {
        return Parts::read(path, settings);
    }
    let meant = nearest(word, RECIPES.iter().map(|recipe| recipe.name));
    let meant = meant.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let reason = format!(
        "there is no such recipe{meant}; `muffle recipes` lists them, or give a .toml file, the folder of a run or its model"
    );
    Err(Error::Recipe { origin: word.to_string(), reason })
}
