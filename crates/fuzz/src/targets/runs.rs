//! The files of a run: recipe, ledger, checkpoint, bundle of a model, certificate.

use super::events::flattened;
use super::{path, said, seeds, text};
use crate::mutate::tensors;
use crate::mutate::{ledger, text as text_mutation};
use crate::target::{Memory, Target};
use muffle::State;
use muffle::bundle::Bundle;
use muffle::data::column::Column;
use muffle::data::schema::{Schema, Stored};
use muffle::data::{Scaling, Task};
use muffle::ledger::{Head, Ledger};
use muffle::recipes::RECIPES;
use muffle::run::Certificate;
use muffle::run::checkpoint::{self, Checkpoint};
use muffle::train::Recipe;

pub static RECIPE: Target = Target {
    name: "recipe",
    door: "Recipe::parse",
    seeds: recipes,
    mutate: text_mutation::mutate,
    parse: |input| {
        let recipe = Recipe::parse("file", text(input)?, &[]).map_err(said)?;
        Recipe::parse("again", &recipe.to_toml(), &[]).map(drop).map_err(said)
    },
    // A key of two bytes may be a table of its own, which is read, written and read again.
    memory: Memory { fixed: 1 << 16, each: 1 << 10 },
};

pub static LEDGER: Target = Target {
    name: "ledger",
    door: "Ledger::parse",
    seeds: || seeds(&[&ledger::chained(LINES)]),
    mutate: ledger::mutate,
    parse: |input| {
        let ledger = Ledger::parse(path(), text(input)?, ledger::ORIGIN).map_err(said)?;
        ledger.check_contains(&ledger.head())?;
        flattened(&ledger.total())
    },
    memory: Memory { fixed: 1 << 16, each: 256 },
};

pub static CHECKPOINT: Target = Target {
    name: "checkpoint",
    door: "checkpoint::parse",
    seeds: || vec![saved()],
    mutate: tensors::mutate,
    parse: |input| checkpoint::parse(path(), input, "remove it").map(drop).map_err(said),
    memory: Memory { fixed: 1 << 16, each: 64 },
};

pub static BUNDLE: Target = Target {
    name: "bundle",
    door: "Bundle::parse",
    seeds: || vec![bundle()],
    mutate: text_mutation::mutate,
    parse: |input| Bundle::parse(path(), text(input)?).map_err(said)?.schema.check(),
    memory: Memory { fixed: 1 << 16, each: 256 },
};

pub static CERTIFICATE: Target = Target {
    name: "certificate",
    door: "Certificate::parse",
    seeds: || seeds(&[include_str!("../../seeds/certificate.json")]),
    mutate: text_mutation::mutate,
    parse: |input| {
        let certificate = Certificate::parse(path(), text(input)?).map_err(said)?;
        Certificate::parse(path(), &certificate.to_json()).map_err(said)?;
        flattened(&certificate.events)
    },
    memory: Memory { fixed: 1 << 16, each: 256 },
};

/// Recipes that come with the program, and one with every other key.
fn recipes() -> Vec<Vec<u8>> {
    let chosen =
        ["mnist", "adult-mlp", "shen-2021-table-2-validation", "pca-mnist-epsilon-2", "li-2024-table-2-svhn"];
    let known = RECIPES.iter().filter(|recipe| chosen.contains(&recipe.name)).map(|recipe| recipe.text);
    seeds(&known.chain([FULL]).collect::<Vec<_>>())
}

const FULL: &str = r#"about = "all keys"
data = "mnist"
subset = 100
test_subset = 10
private = true
epsilon = 3
delta = 1e-5
adjacency = "add_remove"
records = 100
seed = 7
threads = 1
evaluations = 2
checkpoint_seconds = 1.5
model = "cnn-small"
loss = { huber = { delta = 1.0 } }
mode = "sound"
noise_multiplier = 1.5
steps = 9
sampler = "poisson"
batch_size = 10
learning_rate = { kind = "cosine", initial = 1, end = 0, period = 9 }
schedule_unit = "step"
initialisation = "glorot"
moving_average = 0.5
clip = { kind = "flat", threshold = 1.0 }
clip_schedule = { kind = "exponential", initial = 1, rate = 0.5 }
noise = { kind = "gaussian" }
noise_schedule = { kind = "step", initial = 1, factor = 0.5, period = 3 }
optimizer = { kind = "adam" }
augmentation = { views = 2, shift = 1, flip = true }
init = { weights = "w.safetensors", names = { "a." = "b." }, fresh = ["fc*"], ignore = [] }
freeze = ["conv*"]
adapters = { layers = ["fc"], rank = 2 }
[parameters]
a = 1
[audit]
canaries = 5
guesses = 4
seed = 3
"#;

const LINES: &str = r#"{"purpose":"components","from":0,"to":1,"event":{"kind":"laplace","noise_multiplier":2.5},"previous":""}
{"purpose":"steps","from":0,"to":9,"event":{"kind":"repeat","count":9,"event":{"kind":"poisson_sampled","sample_rate":0.1,"event":{"kind":"gaussian","noise_multiplier":0.8}}},"previous":""}
{"purpose":"steps","from":9,"to":11,"event":{"kind":"compose","events":[{"kind":"gaussian","noise_multiplier":1.5},{"kind":"non_private"}]},"previous":""}
"#;

/// What a model file says of its data.
fn bundle() -> Vec<u8> {
    let schema = Schema {
        input: vec![2],
        task: Task::Classes(vec!["no".to_string(), "yes".to_string()]),
        label: Some("answer".to_string()),
        columns: vec![Column::number("a", 0.0, 1.0), Column::number("b", -5.0, 5.0)],
        vocabulary: None,
        stored: Stored::Floats,
        scaling: Scaling::identity("as declared"),
    };
    Bundle::new(schema, None, "steps = 3".to_string(), "ab".repeat(32)).entry().1.into_bytes()
}

/// A checkpoint as a run leaves it.
fn saved() -> Vec<u8> {
    let state =
        State::from([("parameters".to_string(), vec![0.5; 7]), ("optimizer.sum".to_string(), vec![])]);
    let head = Head { lines: 3, sha256: "ab".repeat(32) };
    checkpoint::bytes(&Checkpoint { step: 5, state, head }).expect("a small state has a form in a file")
}
