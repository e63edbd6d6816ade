//! Training by one release, from a recipe to a model, and under attack.

use muffle::audit::release::{audit_with, games};
use muffle::audit::step::{Settings, audit};
use muffle::audit::{Argument, Objective, Verdict, attack, runs};
use muffle::data::targets::Table;
use muffle::data::{Dataset, Quantity, Records, Scaling, Split, Targets, Task, Visibility};
use muffle::kinds;
use muffle::ledger::Ledger;
use muffle::methods::Mode;
use muffle::objective::METHODS;
use muffle::run::{Job, Parts, Purse, Trainer, start};
use muffle::train::{Evaluation, Trained};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency};
use muffle_nn::Shape;
use std::sync::atomic::AtomicBool;

/// Points in four dimensions around one of three corners, and their corner.
fn points(count: usize) -> (Vec<f32>, Vec<u32>) {
    let value = |record: usize, place: usize| {
        let scattered = ((record * 131 + place * 977 + record * record % 613) % 1009) as f32 / 1009.0 - 0.5;
        scattered + if place == record % 3 { 2.0 } else { 0.0 }
    };
    let values = (0..count).flat_map(|record| (0..4).map(move |place| value(record, place))).collect();
    (values, (0..count).map(|record| (record % 3) as u32).collect())
}

fn corners() -> Dataset {
    let split = |count| {
        let (values, classes) = points(count);
        Split::classified(Records::Floats(values), classes)
    };
    let classes = ["a", "b", "c"].map(String::from).to_vec();
    let (scaling, shape) = (Scaling::identity("as is"), Shape::Vector(4));
    Dataset::new("corners", shape, classes, scaling, Visibility::Public, split(6000), split(600)).unwrap()
}

/// The first coordinate, in a range of −1 to 3, is to be predicted.
fn first_coordinate() -> Dataset {
    let split = |count| {
        let (values, _) = points(count);
        let first = values.chunks_exact(4).map(|record| (record[0] + 1.0) / 4.0).collect();
        Split { records: Records::Floats(values), targets: Targets::Values(Table::new(1, first)) }
    };
    let task = Task::Values(vec![Quantity { name: "first".to_string(), range: [-1.0, 3.0] }]);
    let (scaling, shape) = (Scaling::identity("as is"), Shape::Vector(4));
    Dataset::with_task("first", shape, task, scaling, Visibility::Public, split(6000), split(600)).unwrap()
}

const RECIPE: &str = "data = \"corners\"\nkind = \"objective\"\nepsilon = 1\nseed = 1\nthreads = 1\n";

fn job(dataset: &Dataset, settings: &[&str]) -> Result<Box<dyn Job>, String> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let parts = Parts::parse("test", RECIPE, &settings).map_err(|error| error.to_string())?;
    kinds::plan(&parts, dataset).map_err(|error| error.to_string())
}

/// What is measured after all releases, nothing of it on disk.
fn measured(dataset: &Dataset, settings: &[&str]) -> Evaluation {
    let job = job(dataset, settings).unwrap();
    let mut trainer = job.trainer(dataset).unwrap();
    take(&mut *trainer, job.terms().steps);
    Evaluation::of(&trainer.measure().unwrap())
}

fn take(trainer: &mut dyn Trainer, steps: u64) {
    let mut purse = Purse::new(Ledger::in_memory(), None).unwrap();
    (0..steps).for_each(|_| assert!(!purse.pay_and_do(trainer, 1).unwrap().ended));
}

#[test]
fn corners_are_told_apart_whatever_the_features_and_the_noise() {
    let random = "features={kind=\"random\",layers=[{type=\"dense\",features=20},{type=\"tanh\"}]}";
    for settings in [
        &[][..],
        &["noise=laplace"],
        &["noise=laplace", "adjacency=replace_one", "parameters={centre=0,quadratic=0.25}"],
        &[random],
        &["principal_components={dimensions=3,noise_multiplier=40}"],
        &["private=false", "epsilon="],
        &["method=dpa", "parameters={hidden=8,rounds=2}"],
        &["method=privr"],
        &["method=privr", "mode=as-published", "noise=laplace"],
        &["method=adlm-head"],
        &["method=afrrs-head", "parameters.regions=2"],
        &[
            "method=adlm-local",
            "adjacency=replace_one",
            "epsilon=40",
            "parameters={low=-1,high=3,labels=0.1}",
        ],
        &[
            "method=afrrs-local",
            "adjacency=replace_one",
            "epsilon=40",
            "parameters={low=-1,high=3,labels=0.1,regions=2}",
        ],
    ] {
        let accuracy = measured(&corners(), settings).accuracy.unwrap();
        assert!(accuracy > 0.97, "{settings:?}: {accuracy}");
    }
}

/// Filters that know no class, and stacks as they were published with noise that leaves something: far better than one in three.
#[test]
fn layers_learn_something_of_the_corners() {
    for settings in [
        &["method=pcdbn", "parameters={low=-1,high=3,filters=8,filters_2=6,batch=600,chebyshev=3}"][..],
        // CDBN and TCDBN, which has the polynomial in place of the sigmoid.
        &["method=pcdbn", "private=false", "epsilon=", "parameters={low=-1,high=3,filters=8,chebyshev=0}"],
        &["method=pcdbn", "private=false", "epsilon=", "parameters={low=-1,high=3,filters=8,chebyshev=3}"],
        &[
            "method=dpa",
            "mode=as-published",
            "epsilon=100",
            "parameters={low=-1,high=3,hidden=6,hidden_2=5,head_rate=0.05,batch=600}",
        ],
        // dPAH: three layers.
        &[
            "method=dpa",
            "mode=as-published",
            "epsilon=1000",
            "parameters={low=-1,high=3,hidden=6,hidden_2=6,hidden_3=6,head_rate=0.05,head_epochs=200,batch=600}",
        ],
        &[
            "method=pcdbn",
            "mode=as-published",
            "epsilon=100",
            "parameters={low=-1,high=3,filters=8,rate=0.1,head_hidden=6,head_rate=0.05,batch=600}",
        ],
    ] {
        let accuracy = measured(&corners(), settings).accuracy.unwrap();
        assert!(accuracy > 0.6, "{settings:?}: {accuracy}");
    }
}

/// The range is 4 wide, and the first coordinate deviates by 0.99 from its mean.
#[test]
fn numbers_are_predicted_in_their_units() {
    let found = measured(&first_coordinate(), &["parameters.ridge=0.1"]);
    let value = serde_json::to_value(&found).unwrap();
    assert!(found.loss < 0.01, "{value}");
}

#[test]
fn a_run_leaves_a_model_that_is_used_like_any_other() {
    let (dataset, folder) = (corners(), tempfile::tempdir().unwrap());
    let path = folder.path().join("run");
    // A run without a seed: its epsilon is a proof.
    let job = job(&dataset, &["seed="]).unwrap();
    let summary = start(&path, &*job, &dataset, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(summary.steps, 2);
    let epsilon = summary.certificate.proved.epsilon.unwrap();
    assert!(epsilon <= 1.0 && epsilon > 0.99, "{epsilon}");
    let total = muffle::run::read_ledger(&path).unwrap().total();
    let price = Pld.epsilon(&total, Adjacency::AddRemove, 1e-5).unwrap().epsilon;
    assert!((price - epsilon).abs() < 1e-9, "{price}");
    let trained = Trained::open(&path).unwrap();
    let mut evaluator = muffle::train::Evaluator::new(trained.network.clone(), Some(1)).unwrap();
    let again = evaluator.evaluate(&trained.parameters, &dataset.test()).unwrap();
    assert_eq!(again, Evaluation::of(&summary.measured));
    assert!(trained.bundle.is_some() && trained.gradient_recipe().is_err());
}

#[test]
fn a_run_goes_on_as_if_nothing_had_happened() {
    let (dataset, components) = (corners(), "principal_components={dimensions=3,noise_multiplier=40}");
    let job = job(&dataset, &[components, "method=dpa", "parameters={hidden=5,rounds=2}"]).unwrap();
    assert_eq!(job.terms().steps, 5);
    let state_after = |steps: u64| {
        let mut trainer = job.trainer(&dataset).unwrap();
        take(&mut *trainer, steps);
        (trainer.state(), trainer.measure().unwrap())
    };
    let (whole, figures) = state_after(5);
    for steps in 0..5 {
        let mut trainer = job.trainer(&dataset).unwrap();
        trainer.restore(&state_after(steps).0, steps).unwrap();
        assert_eq!(trainer.step(), steps);
        take(&mut *trainer, 5 - steps);
        assert_eq!((trainer.state(), trainer.measure().unwrap()), (whole.clone(), figures.clone()));
    }
}

/// Steps on samples, and what was published: the same numbers wherever the run was interrupted.
#[test]
fn steps_on_samples_go_on_as_if_nothing_had_happened() {
    let dataset = corners();
    for settings in [
        &["method=pcdbn", "parameters={low=-1,high=3,filters=3,filters_2=2,batch=3000,epochs=1}"][..],
        &[
            "method=dpa",
            "mode=as-published",
            "parameters={low=-1,high=3,hidden=3,hidden_2=2,head_epochs=1,batch=3000}",
        ],
        &[
            "method=pcdbn",
            "mode=as-published",
            "parameters={low=-1,high=3,filters=3,head_hidden=2,head_epochs=1,epochs=1,batch=3000}",
        ],
    ] {
        let job = job(&dataset, settings).unwrap();
        let steps = job.terms().steps;
        let state_after = |steps: u64| {
            let mut trainer = job.trainer(&dataset).unwrap();
            take(&mut *trainer, steps);
            trainer.state()
        };
        let whole = state_after(steps);
        for taken in 0..steps {
            let mut trainer = job.trainer(&dataset).unwrap();
            trainer.restore(&state_after(taken), taken).unwrap();
            assert_eq!(trainer.step(), taken);
            take(&mut *trainer, steps - taken);
            assert_eq!(trainer.state(), whole, "{settings:?} after {taken}");
        }
    }
}

/// The steps of the filters are samples, and both they and the head are paid for.
#[test]
fn filters_and_head_are_both_accounted() {
    let job = job(&corners(), &["method=pcdbn", "parameters={low=-1,high=3,filters=3,batch=600,epochs=2}"])
        .unwrap();
    let muffle_accounting::Event::Compose { events } = job.cost().unwrap() else { panic!("a composition") };
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(
        format!("{:?}", events[0]).contains("count: 20")
            && format!("{:?}", events[0]).contains("sample_rate: 0.1")
    );
    let price = Pld.epsilon(&job.cost().unwrap(), Adjacency::AddRemove, 1e-5).unwrap().epsilon;
    assert!(price <= 1.0 && price > 0.99, "{price}");
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    for (settings, part) in [
        (&["epsilon="][..], "set epsilon, or noise_multiplier"),
        (&["noise_multiplier=0.1"], "more than epsilon = 1"),
        (&["epsilon=", "noise_multiplier=1e30"], "which numbers can hold"),
        (&["epsilon=", "noise_multiplier=1e-40"], "which numbers can hold"),
        (&["noise_multiplier=-1"], "noise_multiplier = -1 is outside"),
        (&["parameters.intercept=1"], "parameters.intercept = 1 is outside (0, 1)"),
        (&["parameters.ridge=-1"], "parameters.ridge = -1 is outside"),
        (&["parameters.quadratic=0"], "parameters.quadratic = 0 is outside"),
        (&["parameters.rigde=1"], "did you mean `ridge`?"),
        (&["method=functional-mechanisn"], "did you mean `functional-mechanism`?"),
        (&["mode=as-published"], "sound as it stands"),
        (&["method=privr", "mode=as-published"], "noise = \"laplace\""),
        (&["method=privr", "features={kind=\"random\",layers=[{type=\"relu\"}]}"], "columns of a table"),
        (&["method=adlm-head", "mode=as-published"], "only its sound form is built"),
        (&["method=afrrs-head", "parameters.regions=1"], "one region would weigh all 4 inputs alike"),
        (&["method=afrrs-head", "parameters.regions=4"], "4 regions are what"),
        (&["method=adlm-local"], "set adjacency = \"replace_one\""),
        (
            &["method=adlm-local", "adjacency=replace_one", "parameters={low=2}"],
            "parameters.low = 2 must lie below",
        ),
        (
            &["method=pcdbn", "features={kind=\"random\",layers=[{type=\"relu\"}]}"],
            "read the records themselves",
        ),
        (&["method=pcdbn", "parameters.window=0"], "parameters.window = 0 is not a whole number"),
        (&["method=dpa", "mode=as-published", "private=false", "epsilon="], "set mode = \"sound\""),
        (&["method=dpa", "parameters.hidden=0.5"], "parameters.hidden = 0.5 is not a whole number"),
        (&["features.kind=rawe"], "`raw`"),
        (&["clip.threshold=1"], "clip"),
    ] {
        let message = job(&corners(), settings).err().unwrap_or_default();
        assert!(message.contains(part), "{settings:?}: {message}");
    }
}

/// Any gradient recipe can be run by a method of this kind.
#[test]
fn a_recipe_of_another_kind_is_run_by_its_method() {
    let parts = kinds::find("adult-logistic", Some("functional-mechanism"), &[]).unwrap();
    assert_eq!((parts.run.kind.as_str(), parts.run.data.as_str()), ("objective", "adult"));
}

fn settings(method: &str, noise_multiplier: f64, trials: u64, changes: &[&str]) -> Settings {
    Settings {
        method: method.to_string(),
        mode: Mode::Sound,
        noise_multiplier,
        width: 600,
        settings: changes.iter().map(ToString::to_string).collect(),
        trials,
        seed: 1,
        confidence: 0.95,
        delta: 1e-5,
    }
}

/// Above its proof would be a bug: a correct bound at 95 % may fail, and with this seed does not. So few plays show a good part of what is
/// proved of Gaussian noise all the same.
#[test]
fn no_sound_form_exceeds_its_proof() {
    let cases = METHODS.iter().map(|about| (about.name, &[][..]));
    for (method, changes) in cases.chain([("functional-mechanism", &["adjacency=replace_one"][..])]) {
        let report = audit(&settings(method, 1.0, 300, changes)).unwrap().0.report;
        assert_eq!(report.verdict, Verdict::NoContradictionFound, "{changes:?} {report:?}");
        let shown = report.measured / report.proved.unwrap();
        assert!(shown <= 1.0, "{changes:?} {report:?}");
        assert!(shown > 0.4 || report.argument != Argument::Gaussian, "{changes:?} {report:?}");
    }
}

/// Whole runs of this kind, by the loss of their models on one canary. Without noise ten of ten are told apart in both worlds, which
/// bounds epsilon by 0.807 from below; with it nothing exceeds the proof with this seed.
#[test]
fn whole_runs_are_audited() {
    let dataset = corners();
    let measured = |settings: &[&str]| {
        let job = job(&dataset, settings).unwrap();
        let settings = runs::Settings { runs: 24, confidence: 0.95, seed: 1, workers: 2 };
        let found = runs::audit(&*job, &dataset, &settings, &AtomicBool::new(false), &|| {}).unwrap();
        found.expect("nobody stopped it").report
    };
    let open = measured(&["private=false", "epsilon="]);
    assert_eq!((open.true_positives, open.false_positives, open.trials), (10, 0, 10), "{open:?}");
    assert!((open.measured - 0.807).abs() < 1e-3 && open.proved.is_none(), "{open:?}");
    let sound = measured(&[]);
    assert_eq!(sound.verdict, Verdict::NoContradictionFound, "{sound:?}");
    assert!(sound.measured <= sound.proved.unwrap(), "{sound:?}");
}

/// What a paper does not prove claims less than can be seen.
#[test]
fn every_published_form_is_exposed() {
    for about in METHODS.iter().filter(|about| about.modes.contains(&Mode::AsPublished)) {
        let settings = Settings { mode: Mode::AsPublished, ..settings(about.name, 1.0, 400, &[]) };
        let report = audit(&settings).unwrap().0.report;
        assert_eq!(report.verdict, Verdict::Violated, "{report:?}");
    }
}

/// What was published is pure: a record with another label moves the coefficients by 1 of the 1.25 that are paid for, so that 1.6 of the
/// epsilon of 2 can be seen, and a good part of that in so few plays.
#[test]
fn published_noise_stays_below_its_epsilon() {
    let changes = ["noise=laplace", "adjacency=replace_one", "parameters={centre=0,quadratic=0.25}"];
    let games = games(&settings("functional-mechanism", 1.0, 1, &changes), 1.0).unwrap();
    // The likelihood ratio of the pair with another label.
    let mut chosen: Vec<_> = games.into_iter().skip(2).take(1).collect();
    let found = attack(&mut chosen, Objective::Epsilon { delta: 1e-5 }, 0.95, 2000, 1).unwrap();
    let measured = found.detections.epsilon(1e-5, 0.95);
    assert!(measured > 0.6 && measured <= 2.0, "{measured}: {found:?}");
}

/// Releases with half the noise that was paid for are told from the proof, whatever the method.
#[test]
fn half_the_noise_would_be_seen() {
    for entry in METHODS {
        let report = audit_with(&settings(entry.name, 0.5, 400, &[]), 0.5).unwrap().0.report;
        assert_eq!(report.verdict, Verdict::Violated, "{report:?}");
    }
}
