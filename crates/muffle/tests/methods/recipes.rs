//! What the table of methods and their recipes say: settings, refusals, claims.

use crate::trial::{BATCH, NOISE, Trial};
use muffle::data::Visibility;
use muffle::methods::{METHODS, Mode, Verdict};
use muffle::train::{DataShape, Plan, Recipe, TargetShape};
use muffle_nn::Shape;

/// Why a recipe for records of four numbers and two classes is refused; nothing if it is not.
fn refused(method: &str, settings: &[&str]) -> String {
    let text = format!(
        "data = \"none\"\nmodel = {{ layers = [{{ type = \"dense\", features = 2 }}] }}\nmethod = {method:?}\n\
         noise_multiplier = 1\nsteps = 5\nbatch_size = 10\nlearning_rate = 0.1\n\
         clip = {{ kind = \"flat\", threshold = 1 }}"
    );
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let data = DataShape {
        input: Shape::Vector(4),
        targets: TargetShape::Classes(2),
        records: 100,
        visibility: Visibility::Public,
        split_by_hash: false,
        texts: None,
    };
    let plan = Recipe::parse(method, &text, &settings).and_then(|recipe| Plan::new(recipe, &data));
    plan.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Refusals name the cause and the remedy.
#[test]
fn methods_refuse_what_they_have_no_bound_for() {
    for (method, settings, part) in [
        ("backprop-clip", &[][..], "set bias = false"),
        ("ng-local", &[], "their number is public"),
        ("ng-local", &["sampler=balls-and-bins"], "their number is public"),
        (
            "dp-sgd-decay",
            &["sampler=balls-and-bins", "mode=as-published"],
            "sampler = \"reshuffled\" and \"poisson\"",
        ),
        (
            "dp-sgd-decay",
            &["sampler=reshuffled", "adjacency=replace_one", "mode=as-published"],
            "four times that",
        ),
        ("adadp", &["parameters.floor=1"], "outside (0, 1)"),
        ("adadp", &["mode=as-published"], "holds on a condition: the printed figures are for reshuffled"),
        ("dp-psac", &["mode=as-published"], "sound as it stands"),
        ("ng-local", &["mode=as-published"], "only its sound form is built"),
        (
            "tempered-sigmoid",
            &["model={layers=[{type=\"dense\",features=4},{type=\"relu\"},{type=\"dense\",features=2}]}"],
            "this one has relu",
        ),
        (
            "tempered-sigmoid",
            &[
                "model={layers=[{type=\"tanh\"},{type=\"dense\",features=4},{type=\"selu\"},{type=\"dense\",features=2}]}",
            ],
            "this one has selu",
        ),
        ("tempered-sigmoid", &[], "this one has none"),
        ("relevance-noise", &["parameters.relevance_epsilon=0"], "outside [1e-6, 1e6]"),
        ("relevance-noise", &["parameters.stabiliser=-1"], "stabiliser of -1"),
        ("relevance-noise", &["parameters.pretraining=1"], "outside [0, 1): it is a share of the steps"),
        (
            "relevance-noise",
            &["model={layers=[{type=\"dense\",features=4},{type=\"fusion\"}]}"],
            "layer `1` (fusion)",
        ),
        ("adlm", &["parameters.relevance_epsilon=0"], "outside [1e-6, 1e6]"),
        ("adlm", &["parameters.floor=0"], "outside (0, 1)"),
        ("adlm", &["clip={kind=\"per-layer\",threshold=1.0}"], "clip.kind = \"flat\""),
        (
            "adlm",
            &["model={layers=[{type=\"layer-norm\"},{type=\"dense\",features=2}]}"],
            "layer `0` is layer-norm: take a network that begins with one of these",
        ),
        (
            "adlm",
            &[
                "model={layers=[{type=\"reshape\",shape=[1,2,2]},{type=\"conv2d\",channels=2,kernel=2},{type=\"flatten\"}]}",
            ],
            "layer `1` (conv2d) uses the same weights for several inputs, so that the inputs themselves have to be weighed: put { \
             type = \"scale\" } in front of all layers",
        ),
        (
            "adlm",
            &["model={layers=[{type=\"tanh\"},{type=\"dense\",features=2}]}"],
            "put { type = \"scale\" }",
        ),
        ("afrrs", &["parameters.regions=4"], "4 regions are what method adlm has"),
        ("afrrs", &["mode=as-published", "parameters.loss_share=0.4"], "positive numbers that add up to 1"),
        ("adlm", &["mode=as-published", "parameters.low=1"], "must lie below parameters.high = 1"),
        (
            "adlm",
            &["mode=as-published", "model={layers=[{type=\"layer-norm\"},{type=\"dense\",features=2}]}"],
            "this network begins with none",
        ),
        ("afrrs", &["parameters.regions=1"], "one region would weigh all 4 inputs alike"),
        ("afrrs", &["parameters.regions=2.5"], "give a whole number between"),
        ("afrrs", &["parameters.gamma=-1"], "is no distance"),
    ] {
        let message = refused(method, settings);
        assert!(message.contains(part), "{method}: {message}");
    }
}

#[test]
fn ng_local_takes_samples_of_public_size() {
    for settings in [
        &["sampler=fixed-size"][..],
        &["sampler=reshuffled"],
        &["sampler=balls-and-bins", "adjacency=replace_one"],
    ] {
        assert_eq!(refused("ng-local", settings), "", "{settings:?}");
    }
}

/// Yu et al. print zCDP of random samples, which is another figure than that of the moments accountant.
#[test]
fn a_paper_is_quoted_by_its_own_accountant() {
    let trial = Trial::new("dp-sgd-decay", Mode::AsPublished);
    let (rate, log) = (BATCH as f64 / 8000.0, 1e5f64.ln());
    let rho = 5.0 * (rate / NOISE).powi(2);
    let excess = -NOISE * NOISE * (rate * NOISE).ln();
    // δ is below exp(−ρ(u − 1)²), so the last order of the stated range decides.
    assert!(log > rho * excess * excess);
    let expected = rho * (1.0 + excess) + log / excess;
    assert!((trial.plan.claimed().unwrap() - expected).abs() < 1e-9 * expected);
}

#[test]
fn unsound_methods_come_in_both_forms() {
    for entry in METHODS {
        assert!(entry.modes.contains(&Mode::Sound), "{}", entry.name);
        if entry.verdict == Verdict::Unsound {
            // What was published of ng-local is noisy-gradient.
            let published = if entry.name == "ng-local" { "noisy-gradient" } else { entry.name };
            let published = METHODS.iter().find(|entry| entry.name == published).unwrap();
            assert!(
                published.modes.contains(&Mode::AsPublished) && !entry.breaks.is_empty(),
                "{}",
                entry.name
            );
        }
    }
}

/// What `--method` applies to a recipe makes a plan.
#[test]
fn the_settings_of_every_method_are_settings() {
    let text = "data = \"mnist\"\nmodel = \"cnn-small\"\nepsilon = 3\nepochs = 2\nbatch_size = 600\n\
                learning_rate = 0.5\nclip = { kind = \"flat\", threshold = 1 }";
    for entry in METHODS {
        let settings: Vec<String> = entry.settings.iter().map(ToString::to_string).collect();
        let recipe = Recipe::parse(entry.name, text, &settings);
        assert!(recipe.is_ok(), "{}: {}", entry.name, recipe.unwrap_err());
    }
}
