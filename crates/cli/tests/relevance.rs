//! `muffle relevance`, on the binary that users run.

mod common;

use common::{Project, last_json};
use muffle::picture::png;
use muffle_nn::Shape;
use std::fs;

/// Pictures of 4 x 4 pixels with a light upper or lower half, and a model of them.
fn pictures() -> Project {
    let project = Project::new();
    for (class, first) in [("lower", 8), ("upper", 0)] {
        for split in ["train", "test"] {
            let folder = project.path(format!("photos/{split}/{class}"));
            fs::create_dir_all(&folder).unwrap();
            for number in 0..20u8 {
                let mut pixels = [number; 16];
                pixels[first..first + 8].fill(200 + number);
                fs::write(folder.join(format!("{number}.png")), png(Shape::image(1, 4, 4), &[&pixels]))
                    .unwrap();
            }
        }
    }
    let description = "format = \"images\"\npath = \"photos\"\nchannels = 1";
    fs::write(project.path("photos.toml"), description).unwrap();
    let layers = "model={layers=[{type=\"flatten\"},{type=\"dense\",features=2,bias=false}]}";
    let arguments = [
        "train",
        "small.toml",
        "--quiet",
        "--output",
        "run",
        "--set",
        "data=photos.toml",
        "--set",
        "records=40",
    ];
    let more = ["--set", "batch_size=20", "--set", "steps=20", "--set", layers];
    let output = project.muffle(&[&arguments[..], &more].concat());
    assert!(output.status.success(), "{output:?}");
    project
}

#[test]
fn a_record_is_drawn_with_its_relevance() {
    let project = pictures();
    let arguments =
        ["relevance", "run", "--record", "3", "--stabiliser", "0", "--output", "three.png", "--json"];
    let output = project.muffle(&arguments);
    assert!(output.status.success(), "{output:?}");
    let found = last_json(&output);
    assert_eq!((&found["record"], &found["class"]), (&3.into(), &"lower".into()));
    // One dense layer without bias and stabiliser: nothing is lost.
    let (logit, sum) = (found["logit"].as_f64().unwrap(), found["sum"].as_f64().unwrap());
    assert!((logit - sum).abs() < 1e-4 * logit.abs(), "{logit} {sum}");
    let relevance = found["relevance"].as_array().unwrap();
    assert_eq!(relevance.len(), 16);
    let file = fs::read(project.path("three.png")).unwrap();
    let size = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (448, 224), "the record and its relevance, enlarged");
    assert!(!project.path("run/relevance.ledger.jsonl").exists(), "nothing private was released");

    let refused = |arguments: &[&str], part: &str| {
        let output = project.muffle(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
    };
    refused(&["relevance", "run", "--record", "40"], "the split has 40 records, counted from 0");
    refused(&["relevance", "run", "--mean", "--epsilon", "0"], "between 0.000001 and 100");
    refused(&["relevance", "run", "--mean"], "--epsilon");
    refused(&["relevance", "run", "--mean", "--epsilon", "1", "--regions", "16"], "between 2 and 15");
    refused(&["relevance", "run", "--stabiliser=-1"], "stabiliser of -1");
    assert!(!project.path("run/relevance.ledger.jsonl").exists(), "what is refused costs nothing");
}

#[test]
fn the_mean_is_paid_for_each_time() {
    let project = pictures();
    let arguments =
        ["relevance", "run", "--mean", "--epsilon", "2", "--regions", "3", "--output", "mean.png", "--json"];
    for times in 1..=2 {
        let output = project.muffle(&arguments);
        assert!(output.status.success(), "{output:?}");
        let found = last_json(&output);
        assert_eq!((found["epsilon"].as_f64(), found["delta"].as_f64()), (Some(2.0), Some(0.0)));
        // A Laplace variable of scale 1/2.
        assert!((found["noise_deviation"].as_f64().unwrap() - 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!(found["relevance"].as_array().unwrap().len(), 16);
        let sizes = found["regions"]["sizes"].as_array().unwrap();
        assert_eq!(sizes.iter().map(|size| size.as_u64().unwrap()).sum::<u64>(), 16);
        assert_eq!((sizes.len(), &found["model_is_private"]), (3, &true.into()));
        let ledger = fs::read_to_string(project.path("run/relevance.ledger.jsonl")).unwrap();
        assert_eq!(ledger.matches("laplace").count(), times, "{ledger}");
        assert!(project.path("mean.png").is_file());
    }
    // The run is still what its certificate says.
    let output =
        project.muffle(&["relevance", "run", "--mean", "--epsilon", "0.5", "--adjacency", "replace_one"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("epsilon 0.5 at delta 0 under replace_one, beside what the model cost"), "{text}");
}

#[test]
fn a_table_has_numbers_and_no_picture() {
    let project = Project::new();
    let trained = project.muffle(&["train", "small.toml", "--quiet", "--output", "run", "--set", "steps=5"]);
    assert!(trained.status.success(), "{trained:?}");
    let output = project.muffle(&["relevance", "run", "--output", "a.png"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("which is no image"), "{message}");
    let output = project.muffle(&["relevance", "run", "--json"]);
    assert_eq!(last_json(&output)["relevance"].as_array().unwrap().len(), 3);
}
