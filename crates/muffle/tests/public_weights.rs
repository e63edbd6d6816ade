//! Training that starts from public weights, in part or beside layers that stand still.

mod points;

use muffle::run::{Certificate, RunFolder};
use muffle::run::{resume, start};
use muffle::train::{DataShape, Plan, Recipe, Trained};
use muffle_nn::ModelDescription;
use muffle_nn::initialise::initial_parameters;
use muffle_nn::weights::save;
use points::dataset;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const LAYERS: &str = r#"layers = [
    { type = "dense", name = "body", features = 8 },
    { type = "tanh" },
    { type = "dense", name = "head", features = CLASSES },
]"#;

fn layers(classes: usize) -> String {
    LAYERS.replace("CLASSES", &classes.to_string()).replace('\n', " ")
}

/// Weights of the same network with as many classes, under a beginning of names that the recipes here do not have.
fn weights(folder: &Path, classes: usize) -> PathBuf {
    let text = format!("input = [{}]\n{}", dataset().input().len(), layers(classes));
    let network =
        ModelDescription::from_toml(&text.replace("\"body\"", "\"public.body\"")).unwrap().network().unwrap();
    let path = folder.join("public.safetensors");
    save(&path, &network, None, &initial_parameters(&network, 5)).unwrap();
    path
}

fn plan(settings: &[String]) -> muffle::Result<Plan> {
    let text = format!(
        "data = \"points\"\nmodel = {{ {} }}\nsteps = 3\nbatch_size = 40\nlearning_rate = 0.5\nthreads = 1\nseed = 2\n\
         noise_multiplier = 1.0\nclip = {{ kind = \"flat\", threshold = 1.0 }}\n",
        layers(2)
    );
    Plan::new(Recipe::parse("test", &text, settings)?, &DataShape::of(&dataset()))
}

fn run(path: &Path, plan: &Plan) -> Certificate {
    start(path, plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap().certificate
}

/// The settings that start from a file, with others.
fn settings(file: &Path, others: &[&str]) -> Vec<String> {
    let init = format!("init={{weights='{}',names={{'public.'=''}},fresh=['head.*']}}", file.display());
    std::iter::once(init).chain(others.iter().map(ToString::to_string)).collect()
}

/// Tensors of a finished run by name.
fn tensors(path: &Path) -> Vec<(String, Vec<f32>)> {
    let trained = Trained::open(path).unwrap();
    let parameters = trained.network.parameters().iter();
    parameters
        .map(|tensor| (tensor.name.clone(), trained.parameters[tensor.range.clone()].to_vec()))
        .collect()
}

#[test]
fn frozen_layers_stay_and_the_others_learn() {
    let folder = tempfile::tempdir().unwrap();
    let file = weights(folder.path(), 5);
    let path = folder.path().join("run");
    let plan = plan(&settings(&file, &["freeze=['body.*']"])).unwrap();
    // Two rows of eight weights and two biases get gradients and noise; the rest costs nothing.
    assert_eq!(plan.network.parameter_len(), 18);
    let certificate = serde_json::to_value(run(&path, &plan)).unwrap();
    let public = weights_of(&file);
    let found = tensors(&path);
    assert_eq!(found[0], ("body.weight".to_string(), public[0].clone()));
    assert_eq!(found[1], ("body.bias".to_string(), public[1].clone()));
    let start = plan_without_steps(&file);
    assert!(found[2].1.iter().zip(&start).any(|(end, start)| end != start));
    let origin = &certificate["started_from"];
    assert_eq!(origin["frozen"], serde_json::json!(["body"]));
    assert_eq!(origin["sha256"].as_str().unwrap().len(), 64);
    let words = certificate["not_covered"].to_string();
    assert!(words.contains("taken as public"), "{words}");
}

fn weights_of(file: &Path) -> Vec<Vec<f32>> {
    let text = format!("input = [{}]\n{}", dataset().input().len(), layers(5));
    let network =
        ModelDescription::from_toml(&text.replace("\"body\"", "\"public.body\"")).unwrap().network().unwrap();
    let values = muffle_nn::weights::load(file, &network).unwrap();
    network.parameters().iter().map(|tensor| values[tensor.range.clone()].to_vec()).collect()
}

/// The first values of the head, which starts at random.
fn plan_without_steps(file: &Path) -> Vec<f32> {
    let frozen = plan(&settings(file, &["freeze=['body']", "learning_rate=0"]));
    let folder = tempfile::tempdir().unwrap();
    run(&folder.path().join("run"), &frozen.unwrap());
    tensors(&folder.path().join("run")).swap_remove(2).1
}

#[test]
fn without_freezing_everything_moves_from_where_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = weights(folder.path(), 5);
    let still = folder.path().join("still");
    run(&still, &plan(&settings(&file, &["learning_rate=0"])).unwrap());
    let public = weights_of(&file);
    assert_eq!(tensors(&still)[0].1, public[0]);
    let moved = folder.path().join("moved");
    run(&moved, &plan(&settings(&file, &[])).unwrap());
    assert!(tensors(&moved)[..2].iter().zip(&public).all(|(tensor, start)| tensor.1 != *start));
}

#[test]
fn adapters_learn_beside_layers_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = weights(folder.path(), 5);
    let path = folder.path().join("run");
    let plan = plan(&settings(
        &file,
        &["freeze=['*']", "adapters={layers=['body'],rank=2}", "init.fresh=['head.*']"],
    ));
    let refused = plan.err().unwrap().to_string();
    assert!(refused.contains("`head.weight` is to start at random"), "{refused}");
    let plan = self::plan(&settings(&file, &["adapters={layers=['body'],rank=2}"])).unwrap();
    run(&path, &plan);
    let found = tensors(&path);
    let names: Vec<&str> = found.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(
        names,
        [
            "body.weight",
            "body.bias",
            "body.adapter.down.weight",
            "body.adapter.up.weight",
            "head.weight",
            "head.bias"
        ]
    );
    assert_eq!(found[0].1, weights_of(&file)[0]);
    assert!(found[3].1.iter().any(|value| *value != 0.0), "the way up began at zero and has learned");
}

#[test]
fn another_file_does_not_continue_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = weights(folder.path(), 5);
    let path = folder.path().join("run");
    let whole = plan(&settings(&file, &["freeze=['body']"])).unwrap();
    run(&path, &whole);
    let before = tensors(&path);
    // A run whose last state is lost is continued from the file, to the same bits with a seed.
    fs::remove_file(path.join("checkpoints/step-0000000003.safetensors")).unwrap();
    let again = Plan::new(Recipe::read(&path, &[]).unwrap(), &DataShape::of(&dataset())).unwrap();
    let opened = RunFolder::open(&path).unwrap();
    resume(&opened, &again, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(tensors(&path), before);
    fs::write(&file, fs::read(&file).unwrap().iter().rev().copied().collect::<Vec<u8>>()).unwrap();
    let refused =
        Plan::new(Recipe::read(&path, &[]).unwrap(), &DataShape::of(&dataset())).err().unwrap().to_string();
    assert!(refused.contains("not the weights that the recipe is about"), "{refused}");
}

#[test]
fn what_does_not_fit_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = weights(folder.path(), 5);
    let refused = |settings: &[String]| plan(settings).err().unwrap().to_string();
    for (others, part) in [
        (&["init.fresh="][..], "init.fresh lists what starts at random"),
        (&["init.names="], "init.names renames"),
        (&["freeze=['tail']"], "names no layer"),
        (&["freeze=['*.weight']"], "as a whole"),
        (&["adapters={layers=['body'],rank=0}"], "rank = 0"),
        (&["freeze=['body','head']"], "is to start at random"),
        (&["init.wieghts=3"], "weights"),
    ] {
        let message = refused(&settings(&file, others));
        assert!(message.contains(part), "{others:?}: {message}");
    }
    let same = weights(folder.path(), 2);
    let all = settings(&same, &["init.fresh=", "freeze=['*']"]);
    assert!(refused(&all).contains("nothing is left to train"), "{}", refused(&all));
    let message = refused(&["freeze=['body']".to_string()]);
    assert!(message.contains("set init"), "{message}");
    let message = refused(&["init=nowhere.safetensors".to_string()]);
    assert!(message.contains("nowhere.safetensors") && message.contains("init names"), "{message}");
}
