//! `muffle train` and what follows it, on the binary that users run.

mod common;

use common::{Project, last_json, read_json, weights};
use std::fs;
use std::process::Command;

#[test]
fn a_run_leaves_a_model_a_certificate_and_everything_between() {
    let project = Project::new();
    let output = project.muffle(&["train", "small.toml", "--seed", "1", "--json", "--output", "run"]);
    assert!(output.status.success(), "{output:?}");
    let result = last_json(&output);
    let accuracy = result["test_accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.8 && accuracy <= 1.0, "{result}");
    assert!(
        result["epsilon_if_seed_is_secret"].as_f64().unwrap() <= 4.0 && result["delta"] == 1e-5,
        "{result}"
    );
    assert_eq!(result["steps"], 300);
    assert_eq!(result["run_dir"], "run");
    assert!(result["warning"].as_str().unwrap().contains("whoever knows the seed"));
    assert!(result["next"].as_str().unwrap().contains("`muffle evaluate run`"), "{result}");
    assert_eq!((&result["interrupted"], &result["diverged"]), (&false.into(), &false.into()));
    for file in ["recipe.toml", "ledger.jsonl", "metrics.jsonl", "model.safetensors", "privacy.json"] {
        assert!(project.path("run").join(file).is_file(), "{file}");
    }
    let metrics = fs::read_to_string(project.path("run/metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 10);

    let evaluation = project.muffle(&["evaluate", "run", "--json"]);
    assert_eq!(last_json(&evaluation)["accuracy"], result["test_accuracy"]);
    let prediction = project.muffle(&["predict", "run", "--output", "predictions.csv"]);
    assert!(prediction.status.success(), "{prediction:?}");
    let table = fs::read_to_string(project.path("predictions.csv")).unwrap();
    assert!(table.starts_with("record,class,probability_no,probability_yes\n0,"), "{table}");
    assert_eq!(table.lines().count() as u64, 1 + last_json(&evaluation)["records"].as_u64().unwrap());
}

#[test]
fn the_certificate_says_what_the_account_command_says() {
    let project = Project::new();
    for (sampler, adjacency) in [
        ("poisson", "add_remove"),
        ("fixed-size", "replace_one"),
        ("reshuffled", "zero_out"),
        ("balls-and-bins", "add_remove"),
    ] {
        let (run, setting) = (format!("run-{sampler}"), format!("sampler={sampler}"));
        let mut arguments = vec!["train", "small.toml", "--quiet", "--output", &run, "--set", &setting];
        // A sample of fixed size needs the exact number of records, which is then public, and must not follow from a hash.
        if sampler == "fixed-size" {
            let description = fs::read_to_string(project.path("people.toml")).unwrap();
            let apart = description.replace("test_fraction = 0.2", "test_path = \"people.csv\"");
            fs::write(project.path("apart.toml"), apart).unwrap();
            arguments.extend(["--set", "records=", "--data", "apart.toml"]);
        }
        let output = project.muffle(&arguments);
        assert!(output.status.success(), "{output:?}");
        let certificate = read_json(&project.path(&run).join("privacy.json"));
        assert_eq!(certificate["adjacency"], adjacency);
        assert_eq!(certificate["reproducible"], false);
        fs::write(project.path("events.json"), certificate["events"].to_string()).unwrap();
        let account =
            ["account", "--events", "events.json", "--delta", "1e-5", "--adjacency", adjacency, "--json"];
        let priced = last_json(&project.muffle(&account));
        assert_eq!(priced["epsilon"], certificate["epsilon"], "{sampler}");
        let proved = certificate["proved"]["epsilon"].as_f64().unwrap();
        assert!(proved <= 4.0 && proved > 3.8, "{sampler}: {proved}");
    }
}

#[test]
fn a_seed_makes_the_run_reproducible_and_nothing_else_does() {
    let project = Project::new();
    let model = |name: &str, more: &[&str]| {
        let output = project.muffle(&[&["train", "small.toml", "--quiet", "--output", name], more].concat());
        assert!(output.status.success(), "{output:?}");
        weights(&project.path(name).join("model.safetensors"))
    };
    let seeded = model("a", &["--seed", "5"]);
    assert_eq!(seeded, model("b", &["--seed", "5"]));
    assert_ne!(seeded, model("c", &["--seed", "6"]));
    assert_ne!(model("d", &[]), model("e", &[]));
}

#[test]
fn every_part_can_be_chosen() {
    let project = Project::new();
    for (number, settings) in [
        "noise.kind=laplace",
        "clip={kind=\"per-layer\",threshold=1}",
        "clip={kind=\"grouped\",groups=[{tensors=[\"0.\"],threshold=1},{tensors=[\"\"],threshold=2}]}",
        "noise.allocation=least-energy",
        "noise.allocation=equal-share",
        "optimizer={kind=\"adam\"}",
        "optimizer={kind=\"adamw\",weight_decay=0.1}",
        "optimizer={kind=\"rms-prop\"}",
        "optimizer={kind=\"adagrad\"}",
        "moving_average=0.9",
        "learning_rate={kind=\"cosine\",initial=0.5,end=0.01,period=5}",
        "noise_schedule={kind=\"time\",initial=1,rate=0.1}",
        "clip_schedule={kind=\"exponential\",initial=1,rate=0.1}",
        "private=false",
    ]
    .iter()
    .enumerate()
    {
        let run = format!("run-{number}");
        let output = project.muffle(&[
            "train",
            "small.toml",
            "--json",
            "--output",
            &run,
            "--set",
            "steps=30",
            "--set",
            settings,
        ]);
        assert!(output.status.success(), "{settings}: {output:?}");
        let result = last_json(&output);
        match result["epsilon"].as_f64() {
            Some(epsilon) => assert!(epsilon <= 4.0, "{settings}: {epsilon}"),
            None => assert_eq!(*settings, "private=false"),
        }
    }
}

/// A run of the method that learns from all records before the first step.
fn relevance_noise(project: &Project, run: &str, more: &[&str]) -> serde_json::Value {
    let arguments =
        ["train", "small.toml", "--json", "--output", run, "--method", "relevance-noise", "--set", "steps=3"];
    let output = project.muffle(&[&arguments[..], more].concat());
    assert!(output.status.success(), "{output:?}");
    last_json(&output)
}

#[test]
fn what_a_method_learns_before_the_first_step_is_paid_for() {
    let project = Project::new();
    let result = relevance_noise(&project, "run", &[]);
    let certificate = read_json(&project.path("run/privacy.json"));
    // Scale 1 over the default of 0.1.
    let laplace = serde_json::json!({ "kind": "laplace", "noise_multiplier": 10.0 });
    assert_eq!(certificate["preparations"], serde_json::json!([{ "purpose": "method", "event": laplace }]));
    assert_eq!(certificate["events"]["events"][0], laplace);
    let with = certificate["proved"]["epsilon"].as_f64().unwrap();
    assert!(with <= 4.0 && result["epsilon"].as_f64() == Some(with), "{result}");
    // Without the preparation the same steps are cheaper.
    fs::write(project.path("steps.json"), certificate["events"]["events"][1].to_string()).unwrap();
    let steps = project.muffle(&["account", "--events", "steps.json", "--delta", "1e-5", "--json"]);
    let without = last_json(&steps)["epsilon"]["pld"].as_f64().unwrap();
    assert!(without < with - 0.01 && without > with - 0.1 - 1e-6, "{without} and {with}");

    let result = relevance_noise(&project, "published", &["--mode", "as-published"]);
    let certificate = read_json(&project.path("published/privacy.json"));
    assert!(certificate["claimed"].as_f64().unwrap() > 0.0 && certificate["proved"]["epsilon"].is_null());
    assert!(certificate["preparations"].is_null() && result["steps"] == 3);
}

/// What was learned is in the state from the first step on: nothing is paid twice, and with a seed not even if it is lost.
#[test]
fn a_preparation_survives_an_interruption() {
    let project = Project::new();
    for (run, seed, lost) in [
        ("kept", &[][..], &["step-0000000003.safetensors"][..]),
        ("seeded", &["--seed", "4"], &["step-0000000003.safetensors", "step-0000000000.safetensors"]),
    ] {
        let noise = ["--set", "epsilon=", "--set", "noise_multiplier=1"];
        relevance_noise(&project, run, &[&noise[..], seed].concat());
        let (ledger, model) =
            (project.path(run).join("ledger.jsonl"), project.path(run).join("model.safetensors"));
        let before = weights(&model);
        for checkpoint in lost {
            fs::remove_file(project.path(run).join("checkpoints").join(checkpoint)).unwrap();
        }
        let output = project.muffle(&["train", "--resume", run, "--quiet"]);
        assert!(output.status.success(), "{output:?}");
        let text = fs::read_to_string(ledger).unwrap();
        assert_eq!(text.matches("\"purpose\":\"method\"").count(), 1, "{text}");
        assert_eq!(weights(&model) == before, !seed.is_empty(), "{run}");
    }
}

#[test]
fn views_of_a_record_change_the_model_and_not_the_price() {
    let project = Project::new();
    let run = |settings: &[&str]| {
        let fixed = ["train", "mnist", "--seed", "1", "--set", "steps=2", "--set", "batch_size=64", "--json"];
        let output = project.muffle(&[&fixed[..], settings].concat());
        assert!(output.status.success(), "{output:?}");
        let result = last_json(&output);
        let model = weights(&project.path(result["run_dir"].as_str().unwrap()).join("model.safetensors"));
        (result["epsilon_if_seed_is_secret"].clone(), model)
    };
    let (epsilon, model) = run(&["--output", "plain"]);
    let views = ["--set", "augmentation={views=3,shift=2,flip=true}"];
    let (with_views, other) = run(&[&views[..], &["--output", "views"]].concat());
    assert_eq!(with_views, epsilon);
    assert_ne!(model, other);
    let start = ["--set", "initialisation=glorot", "--output", "glorot"];
    assert_ne!(run(&start).1, model);
}

#[test]
fn every_recipe_of_the_program_takes_three_steps_where_its_data_is() {
    let project = Project::new();
    let list = Command::new(env!("CARGO_BIN_EXE_muffle")).args(["recipes", "--json"]).output().unwrap();
    for line in String::from_utf8(list.stdout).unwrap().lines() {
        let name =
            serde_json::from_str::<serde_json::Value>(line).unwrap()["name"].as_str().unwrap().to_string();
        // Other kinds than descent by gradients count other steps: they are planned here, and run in tests of their own.
        let recipe = project.muffle(&["recipes", &name]);
        let recipe = String::from_utf8(recipe.stdout).unwrap();
        let descends = !recipe.contains("\nkind = ");
        // Few records, since some recipes prepare all of them before the first step.
        let settings = ["steps=3", "evaluations=1", "subset=2000", "test_subset=100", "batch_size=64"];
        let quick = match descends {
            true => settings.map(|setting| ["--set", setting]).concat(),
            false => vec!["--dry-run"],
        };
        let output = project.muffle(&[&["train", &name, "--output", &name, "--json"], &quick[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        if error.contains("was not found; looked in") {
            eprintln!("skipped {name}: its data set is not on this machine");
            continue;
        }
        assert!(output.status.success(), "{name}: {error}");
        if descends {
            assert_eq!(last_json(&output)["steps"], 3, "{name}");
        }
    }
}

#[test]
fn a_dry_run_plans_and_spends_nothing() {
    let project = Project::new();
    let output = project.muffle(&["train", "small.toml", "--dry-run", "--json"]);
    let plan = last_json(&output);
    assert!(plan["seconds"].as_f64().unwrap() > 0.0 && plan["steps"] == 300, "{plan}");
    assert!(plan["epsilon"].as_f64().unwrap() <= 4.0 && plan["noise_multiplier"].as_f64().unwrap() > 0.1);
    assert!(!project.path("runs").exists());
    let text = String::from_utf8(project.muffle(&["train", "small.toml", "--dry-run"]).stdout).unwrap();
    for part in ["noise multiplier", "epsilon", "memory", "time"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_committee_is_planned_with_a_pilot_trained_and_attacked_like_any_model() {
    let project = Project::new();
    let table = fs::read_to_string(project.path("people.csv")).unwrap();
    fs::write(project.path("public.csv"), table).unwrap();
    let description = fs::read_to_string(project.path("people.toml")).unwrap();
    fs::write(project.path("public.toml"), description.replace("people.csv", "public.csv")).unwrap();
    let plan = ["train", "committee.toml", "--dry-run", "--json", "--pilot"];
    let planned = last_json(&project.muffle(&[&plan[..], &["public.toml"]].concat()));
    assert_eq!((&planned["teachers"], &planned["affordable_answers"]), (&20.into(), &40.into()));
    assert!(planned["expected_agreement"].as_f64().unwrap() > 0.5, "{planned}");
    for (recipe, pilot, part) in [
        ("committee.toml", "people.toml", "give others, that are public"),
        ("small.toml", "public.toml", "has no pilot"),
    ] {
        let refused = project.muffle(&["train", recipe, "--dry-run", "--pilot", pilot]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains(part), "{refused:?}");
    }
    let result = last_json(&project.muffle(&["train", "committee.toml", "--json", "--output", "run"]));
    for key in ["test_accuracy", "epsilon", "delta", "teachers", "queries", "answers"] {
        assert!(result[key].is_number(), "{key}: {result}");
    }
    assert_eq!((result["queries"].as_u64(), &result["run_dir"]), (Some(40), &"run".into()));
    let attacked = last_json(&project.muffle(&["attack", "membership", "run", "--json"]));
    assert!(attacked.to_string().contains("auc") || attacked.to_string().contains("area"), "{attacked}");
    // The published practice claims, and proves nothing.
    let published = ["train", "committee.toml", "--mode", "as-published", "--json", "--output", "published"];
    let result = last_json(&project.muffle(&published));
    assert!(result["epsilon"].is_null() && result["claimed_epsilon"].as_f64().unwrap() < 8.1, "{result}");
}

/// The number of records is private: a figure far from it is said to be far, and nothing more.
#[test]
fn a_number_of_records_far_from_the_truth_is_warned_of() {
    let project = Project::new();
    let warned = |records: &str| {
        let output = project.muffle(&["train", "small.toml", "--dry-run", "--set", records]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{error}");
        error.contains("more than half off the number of training records")
    };
    assert!(!warned("records=500") && warned("records=5000"));
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let project = Project::new();
    for (arguments, part) in [
        (&["train", "smal.toml"][..], "smal.toml"),
        (&["train", "mnits"], "did you mean `mnist`?"),
        (&["train", "small.toml", "--set", "epsilonn=2"], "did you mean `epsilon`?"),
        (&["train", "small.toml", "--set", "records="], "records is missing"),
        (&["train", "small.toml", "--epsilon", "0"], "epsilon = 0 is outside"),
        (&["train", "small.toml", "--data", "nowhere"], "unknown data set `nowhere`"),
        (&["train", "small.toml", "--model", "resnet19"], "unknown model `resnet19`"),
        (&["train", "small.toml", "--model", "resnet18"], "shape [3, 32, 32], the data has [3]"),
        (&["train", "small.toml", "--threads", "100000"], "cores"),
        (&["train", "--resume", "nowhere"], "no run in this folder"),
        (&["evaluate", "nowhere"], "nowhere"),
        (&["predict", "small.toml"], "not a safetensors file"),
    ] {
        let output = project.muffle(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    assert!(!project.path("runs").exists(), "nothing is left of a run that never began");
}

/// Weights that are no numbers any more end a run: it is paid for as planned, leaves no model, and is not taken up again.
#[test]
fn a_run_that_diverges_stops_and_keeps_its_certificate() {
    let project = Project::new();
    let wild = ["--set", "learning_rate=1e30", "--set", "clip.threshold=1e10", "--set", "steps=100000"];
    let output =
        project.muffle(&[&["train", "small.toml", "--json", "--output", "wild"], &wild[..]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("wild diverged") && error.contains("a lower learning_rate"), "{error}");
    let result = last_json(&output);
    assert_eq!((&result["diverged"], &result["finished"]), (&true.into(), &false.into()));
    let evaluated = project.muffle(&["evaluate", "wild"]);
    let error = String::from_utf8_lossy(&evaluated.stderr);
    assert!(error.contains("wild diverged") && !error.contains("--resume"), "{error}");
    assert!(result["steps"].as_u64().unwrap() < 100_000 && result["test_loss"].is_null(), "{result}");
    assert!(!project.path("wild/model.safetensors").exists());
    let certificate = read_json(&project.path("wild/privacy.json"));
    assert_eq!(certificate["status"], "diverged");
    // Where it ended follows from what it released: the price is that of the plan.
    let plan =
        last_json(&project.muffle(&[&["train", "small.toml", "--json", "--dry-run"], &wild[..]].concat()));
    assert_eq!(certificate["proved"]["epsilon"], plan["epsilon"]);
    assert!(certificate.get("proved_if_stopped_without_looking").is_none(), "{certificate}");
    let ledger = fs::read(project.path("wild/ledger.jsonl")).unwrap();
    let again = project.muffle(&["train", "--resume", "wild"]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert_eq!(fs::read(project.path("wild/ledger.jsonl")).unwrap(), ledger, "nothing more was spent");
}

#[test]
fn monstrous_networks_are_refused_with_the_limit() {
    let project = Project::new();
    let layers = |layer: &str, count: usize| format!("{{ layers = [{}] }}", vec![layer; count].join(", "));
    let recipe = fs::read_to_string(project.path("small.toml")).unwrap();
    let usual = recipe.lines().find(|line| line.trim().starts_with("model")).unwrap();
    for (model, part) in [
        (layers("{ type = \"tanh\" }", 20_000), "more than 10000 layers"),
        (layers("{ type = \"dense\", features = 60000 }", 2), "more than 268435456 values"),
        (layers("{ type = \"dense\", features = 9999999999 }", 1), "9999999999"),
    ] {
        fs::write(project.path("large.toml"), recipe.replace(usual, &format!("model = {model}"))).unwrap();
        let output = project.muffle(&["train", "large.toml", "--dry-run"]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(part), "{error}");
    }
}
