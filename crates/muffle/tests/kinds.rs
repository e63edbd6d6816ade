//! From the name of a recipe to a job.

mod points;

use muffle::methods::Mode;
use muffle::{kinds, recipes, train};
use points::dataset;

#[test]
fn a_recipe_asks_for_a_kind_that_there_is() {
    let parts = recipes::find("mnist", &["kind=votes".to_string()]).unwrap();
    let message = kinds::plan(&parts, &dataset()).err().unwrap().to_string();
    assert!(message.contains("recipe `mnist`: kind = \"votes\""), "{message}");
    assert!(kinds::KINDS.iter().all(|kind| message.contains(kind.name)), "{message}");
}

#[test]
fn a_method_brings_its_settings_and_the_users_come_after_them() {
    let settings = ["mode=sound", "epsilon=2"].map(String::from);
    assert_eq!(kinds::find("mnist", None, &settings).unwrap(), recipes::find("mnist", &settings).unwrap());
    for (_, about) in kinds::methods().filter(|(kind, _)| kind.name == train::KIND.name) {
        let by_hand: Vec<String> = about.form(Mode::Sound).chain(settings.clone()).collect();
        let found = kinds::find("mnist", Some(about.name), &settings).unwrap();
        assert_eq!(found, recipes::find("mnist", &by_hand).unwrap(), "{}", about.name);
    }
    // The published form of icgc is plain descent, whatever the recipe has, and however it is asked for.
    let published = ["mode=as-published".to_string(), "epsilon=2".to_string()];
    let by_name = kinds::find("ma-2023-table-1", Some("icgc"), &published).unwrap();
    assert_eq!(by_name.training["optimizer"].to_string(), "{ kind = \"sgd\" }");
    assert!(!by_name.training.contains_key("moving_average"));
    let by_setting = [&published[..], &["method=icgc".to_string()]].concat();
    assert_eq!(kinds::find("ma-2023-table-1", None, &by_setting).unwrap(), by_name);
    // So it is where the method is the recipe's own, and nothing else of the recipe changes.
    let file = std::env::temp_dir().join(format!("muffle-icgc-{}.toml", std::process::id()));
    let text = "data = \"mnist\"\nmodel = \"icgc-1\"\nmethod = \"icgc\"\nepsilon = 1\nepochs = 1\nbatch_size = 100\nlearning_rate = 3\n\
                optimizer = { kind = \"adam\" }\nclip = { kind = \"flat\", threshold = 1 }\n";
    std::fs::write(&file, text).unwrap();
    let own = kinds::find(file.to_str().unwrap(), Some("icgc"), &published).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(own.training["optimizer"].to_string(), "{ kind = \"sgd\" }");
    assert_eq!(own.training["learning_rate"].to_string(), "3");
    // A form alone brings what is its own, and leaves the rest of a recipe of that method as it is; so does the name of the method that a
    // recipe has, in the form that it has or in the other.
    let form = kinds::find("li-2024-table-2-mnist", None, &published[..1]).unwrap();
    assert_eq!(form, recipes::find("li-2024-table-2-mnist", &published[..1]).unwrap());
    for recipe in recipes::RECIPES {
        let own = recipes::find(recipe.name, &[]).unwrap();
        let Some(method) = own.training.get("method").and_then(toml::Value::as_str) else { continue };
        let mode: Vec<String> =
            own.training.get("mode").map(|mode| format!("mode={mode}")).into_iter().collect();
        assert_eq!(kinds::find(recipe.name, Some(method), &mode).unwrap(), own, "{}", recipe.name);
    }
    assert_eq!(kinds::find("li-2024-table-2-mnist", Some("dp-adam-ilg"), &published[..1]).unwrap(), form);
    let unknown = kinds::find("mnist", Some("dp-sdg"), &[]).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `dp-sgd`?"), "{unknown}");
}

/// Every kind plans the recipes that are of it.
#[test]
fn every_built_in_recipe_is_of_a_kind_that_there_is() {
    for recipe in recipes::RECIPES {
        let parts = recipes::find(recipe.name, &[]).unwrap();
        assert!(kinds::KINDS.iter().any(|kind| kind.name == parts.run.kind), "{}", recipe.name);
    }
}

/// Names of methods are what `--method` is given, whatever their kind.
#[test]
fn no_two_methods_share_a_name() {
    let mut names: Vec<&str> = kinds::methods().map(|(_, about)| about.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
