use super::*;
use crate::State;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::learner::Learner;
use crate::ledger::Ledger;
use crate::run::{Job, Parts, Purse, Trainer};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Event};
use muffle_nn::examples::from_channels_first;
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Engine, Loss, ModelDescription, Network, Options, Purpose, Shape, weights};
use std::path::PathBuf;
use std::sync::Arc;

/// Records of two classes around two corners of a square; the third class has none.
fn corners() -> Dataset {
    let mut random = SplitMix::new(4);
    let mut split = |records: usize| {
        let mut values = Vec::new();
        let class = |record: usize| (record % 2) as u32;
        for record in 0..records {
            let corner = if class(record) == 0 { [0.6, -0.6] } else { [-0.6, 0.6] };
            values.extend(corner.map(|middle| middle + 0.1 * random.normal()));
        }
        Split::classified(Records::Floats(values), (0..records).map(class).collect())
    };
    let (train, test) = (split(400), split(100));
    let classes = ["right", "left", "nobody"].map(String::from).to_vec();
    let scaling = Scaling::identity("as is");
    Dataset::new("corners", Shape::Vector(2), classes, scaling, Visibility::Public, train, test).unwrap()
}

const RECIPE: &str = r#"
    data = "corners"
    kind = "adversarial"
    method = "dpgan"
    noise_multiplier = 0.6
    steps = 12
    batch_size = 64
    evaluations = 1
    clip = { kind = "flat", threshold = 1.0 }
    learning_rate = 0.01
    optimizer = { kind = "adam", betas = [0.5, 0.99] }
    class_shares = { epsilon = 5 }
    threads = 1
    seed = 3
    model = { layers = [{ type = "dense", features = 8 }, { type = "leaky-relu", slope = 0.2 }, { type = "dense", features = 3 }] }
    [generator]
    batch_size = 32
    latent = 3
    critic_steps = 3
    learning_rate = 0.01
    moving_average = 0.9
    model = { layers = [{ type = "dense", features = 8 }, { type = "relu" }, { type = "dense", features = 2 }, { type = "tanh" }] }
"#;

/// A critic that is linear in its inputs.
const LINEAR: &str = "model={layers=[{type=\"dense\",features=3,bias=false}]}";

fn plan(settings: &[&str]) -> crate::Result<AdversarialPlan> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    AdversarialPlan::new(&Parts::parse("corners", RECIPE, &settings)?, &corners())
}

fn refused(settings: &[&str]) -> String {
    plan(settings).err().map(|error| error.to_string()).unwrap_or_default()
}

/// Takes so many accesses; a run has the count of classes in front of its steps.
fn take(trainer: &mut dyn Trainer, accesses: u64) -> Event {
    let mut purse = Purse::new(Ledger::in_memory(), None).unwrap();
    for _ in 0..accesses {
        purse.pay_and_do(trainer, 1).unwrap();
    }
    purse.ledger.total()
}

fn trained(settings: &[&str], accesses: u64) -> State {
    let mut trainer = plan(settings).unwrap().trainer(&corners()).unwrap();
    take(&mut *trainer, accesses);
    trainer.state()
}

/// Gradients of the critics in the fixtures by their penalties, over those of PyTorch's double backpropagation.
#[test]
fn penalties_have_the_gradients_of_double_backpropagation() {
    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        input: Vec<usize>,
        layers: serde_json::Value,
        strength: f32,
        points: Vec<Vec<f32>>,
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let cases = std::fs::read_to_string(folder.join("penalty.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() >= 5);
    for case in cases {
        let described = serde_json::json!({ "input": case.input, "layers": case.layers });
        let described = toml::to_string(&described).unwrap();
        let network = Arc::new(ModelDescription::from_toml(&described).unwrap().network().unwrap());
        let load = |name: String| weights::load(&folder.join(name), &network).unwrap();
        let parameters = load(format!("penalty-{}.safetensors", case.name));
        let expected = load(format!("penalty-{}-gradient.safetensors", case.name));
        let width = network.input().len();
        let mut inputs = vec![0.0; case.points.len() * width];
        for (input, point) in inputs.chunks_exact_mut(width).zip(&case.points) {
            from_channels_first(network.input(), point, input);
        }
        let points = Rows::new(width, 1, inputs, vec![1.0; case.points.len()]);
        let found = penalty_gradient(&network, &parameters, &points, case.strength);
        let distance = |one: &[f32], other: &[f32]| {
            one.iter().zip(other).map(|(one, other)| f64::from(one - other).powi(2)).sum::<f64>().sqrt()
        };
        let error = distance(&found, &expected) / distance(&expected, &vec![0.0; expected.len()]);
        assert!(error < 1e-4, "{}: {error}", case.name);
    }
}

fn penalty_gradient(network: &Arc<Network>, parameters: &[f32], points: &Rows, strength: f32) -> Vec<f32> {
    let options = Options { threads: Some(1), input_gradients: true, ..Options::new(Purpose::Plain) };
    let mut engine = Engine::new(network.clone(), options).unwrap();
    let penalties = Judge { engine: &mut engine, parameters }.penalties(points, strength).unwrap();
    let mut rows = Rows::new(points.width, 1, Vec::new(), Vec::new());
    for Penalty { neighbours, weight } in penalties {
        rows.inputs.extend(neighbours.concat());
        rows.targets.extend([weight, -weight]);
    }
    engine.sum(parameters, &rows, Loss::Linear, 0).unwrap();
    engine.gradient().to_vec()
}

/// A resumed run goes on as if nothing had happened, in every objective and form.
#[test]
fn a_resumed_run_has_the_same_bits() {
    let wasserstein = ["generator.objective=wasserstein", "generator.weight_clip=0.05"];
    let penalty = ["generator.objective=wasserstein-penalty"];
    let published = [
        "mode=as-published",
        "class_shares=",
        "generator.objective=wasserstein",
        "generator.weight_clip=0.05",
    ];
    let grouped = [
        "method=ganobfuscator",
        "clip={kind=\"per-layer\",threshold=1.0}",
        "noise={allocation=\"equal-share\"}",
    ];
    let public = [&grouped[..], &["parameters.thresholds=1", "generator.public_from_test=20"]].concat();
    let counted = [&grouped[..], &["parameters.thresholds=2"]].concat();
    let plain = ["private=false", "noise_multiplier="];
    let moments = ["generator.objective=moments", "generator.steps=9", "steps=1", LINEAR];
    let forms: [&[&str]; 9] =
        [&[], &wasserstein, &penalty, &published, &grouped, &public, &counted, &plain, &moments];
    for settings in forms {
        let whole = trained(settings, 9);
        let plan = plan(settings).unwrap();
        let mut first = plan.trainer(&corners()).unwrap();
        take(&mut *first, 5);
        let mut second = plan.trainer(&corners()).unwrap();
        second.restore(&first.state(), first.step()).unwrap();
        take(&mut *second, 4);
        assert_eq!(second.state(), whole, "{settings:?}");
        assert_ne!(first.state(), whole, "{settings:?}");
    }
}

/// The critic alone is charged, and with it the count of the classes; a step in which nobody takes part costs as much.
#[test]
fn every_access_is_charged_and_nothing_else() {
    let plan = plan(&["batch_size=1", "records=100000"]).unwrap();
    let mut trainer = plan.trainer(&corners()).unwrap();
    let price = |event: &Event| Pld.epsilon(event, Adjacency::AddRemove, 1e-5).unwrap().epsilon;
    let (paid, planned) = (price(&take(&mut *trainer, 13)), price(&plan.cost().unwrap()));
    assert!((paid - planned).abs() < 1e-6 && planned > 0.0, "{paid} for {planned}");
    assert!(trainer.upcoming(9).is_empty());
    assert_eq!((trainer.step(), trainer.diverged()), (12, false));
}

/// A claim of no noise is an infinite number, which no certificate can hold.
#[test]
fn a_published_form_without_privacy_claims_nothing() {
    for method in ["method=dpgan", "method=ganobfuscator"] {
        let published = [method, "mode=as-published", "class_shares="];
        assert!(plan(&published).unwrap().critic.claimed().is_some(), "{method}");
        let plain = plan(&[&published[..], &["private=false", "noise_multiplier="]].concat()).unwrap();
        assert_eq!((plain.critic.claimed(), plain.critic.noise_multiplier), (None, 0.0), "{method}");
    }
}

/// Without records the critic's weights still get noise.
#[test]
fn an_empty_batch_has_noise() {
    let empty = ["batch_size=1", "records=100000000"];
    let quiet = ["batch_size=1", "records=100000000", "noise_multiplier=0.01"];
    assert_ne!(trained(&empty, 2)["critic.parameters"], trained(&quiet, 2)["critic.parameters"]);
}

#[test]
fn a_class_without_records_is_said_and_not_asked_for() {
    let mut trainer = plan(&[]).unwrap().trainer(&corners()).unwrap();
    take(&mut *trainer, 2);
    let measured = trainer.measure().unwrap();
    assert_eq!(measured.get::<Vec<String>>("classes_without_records"), Some(vec!["nobody".to_string()]));
    let shares = &trainer.state()["shares"];
    assert!(shares[2] == 0.0 && (shares[0] - 0.5).abs() < 0.1, "{shares:?}");
}

/// One record moves the critic's gradient by its threshold at most, with all that its loss is made of.
#[test]
fn one_record_moves_a_step_by_its_noise_at_most() {
    let dataset = corners();
    let split = dataset.train().split();
    let fewer = split.select(&(0..split.len() - 1).collect::<Vec<_>>());
    let fewer = dataset.with_splits(fewer, dataset.test().split().clone()).unwrap();
    // All records take part, gradient descent shows the release, and next to no noise is on it.
    let common = [
        "class_shares=",
        "batch_size=399",
        "records=399",
        "optimizer={kind=\"sgd\"}",
        "learning_rate=1",
        "noise_multiplier=0.01",
        "steps=1",
        "generator.critic_steps=2",
    ];
    // That of `moments` is not moved by its release, and the same mechanism.
    for objective in ["non-saturating", "wasserstein", "wasserstein-penalty"] {
        let chosen = format!("generator.objective={objective}");
        let limit = "generator.weight_clip=1000";
        let settings: Vec<&str> = common.iter().copied().chain([chosen.as_str(), limit]).collect();
        let plan = plan(&settings).unwrap();
        let step = |dataset: &Dataset| {
            let mut trainer = plan.trainer(dataset).unwrap();
            take(&mut *trainer, 1);
            trainer.state()["critic.parameters"].clone()
        };
        let (all, without) = (step(&dataset), step(&fewer));
        let square: f64 = all.iter().zip(&without).map(|(one, other)| f64::from(one - other).powi(2)).sum();
        let moved = 399.0 * square.sqrt();
        assert!(moved <= 1.001 && moved > 0.05, "{objective}: {moved}");
    }
}

/// Thresholds from public records are functions of those and of released weights alone: without noise that a reader could see, a record
/// more moves the first step by no more than the norms of the public gradients together, which the noise is made for.
#[test]
fn thresholds_from_public_records_owe_nothing_to_others() {
    let settings = [
        "method=ganobfuscator",
        "clip={kind=\"per-layer\",threshold=1.0}",
        "noise={allocation=\"equal-share\"}",
        "parameters.thresholds=1",
        "generator.public_from_test=20",
        "class_shares=",
        "batch_size=400",
        "records=400",
        "noise_multiplier=0.001",
        "optimizer={kind=\"sgd\"}",
        "learning_rate=1",
        "steps=1",
        "generator.objective=wasserstein",
        "generator.weight_clip=1000",
    ];
    let plan = plan(&settings).unwrap();
    let dataset = corners();
    let mut values = dataset.train().split().records.clone().into_floats();
    // A record whose gradient is a thousand times as long as those of all others.
    values.extend([3000.0, -3000.0]);
    let labels = dataset.train().split().labels().iter().copied().chain([0]).collect();
    let more = dataset
        .with_splits(Split::classified(Records::Floats(values), labels), dataset.test().split().clone())
        .unwrap();
    let step = |dataset: &Dataset| {
        let mut trainer = plan.trainer(dataset).unwrap();
        take(&mut *trainer, 1);
        trainer.state()["critic.parameters"].clone()
    };
    let (all, with) = (step(&corners()), step(&more));
    let square: f64 = all.iter().zip(&with).map(|(one, other)| f64::from(one - other).powi(2)).sum();
    // The 20 public gradients have norms of one to two in all: nobody moves the sum by more, and the outlier by as much.
    let moved = 400.0 * square.sqrt();
    assert!(moved > 0.2 && moved < 3.0, "{moved}");
}

/// As published inside the mean, with the noise of the formula for epsilon 0.96, whoever is drawn in one outer loop is seen: δ is the
/// probability of that, 1 − (1 − q)^5, and not 1e-5.
#[test]
fn a_published_critic_shows_whoever_takes_part() {
    let dataset = corners();
    let mut values = dataset.train().split().records.clone().into_floats();
    values.extend([300.0, 300.0]);
    let labels = dataset.train().split().labels().iter().copied().chain([0]).collect();
    let more = dataset
        .with_splits(Split::classified(Records::Floats(values), labels), dataset.test().split().clone());
    let more = more.unwrap();
    let settings = [
        "mode=as-published",
        "class_shares=",
        "noise_multiplier=",
        "epsilon=0.96",
        "batch_size=40",
        "records=400",
        "steps=5",
        "generator.critic_steps=5",
        "optimizer={kind=\"sgd\"}",
        "learning_rate=1e-6",
        "generator.objective=wasserstein",
        "generator.weight_clip=1000",
    ];
    let plan = plan(&settings).unwrap();
    let deviation = plan.critic.noise_multiplier;
    assert!((deviation - 2.0 * 0.1 * (5.0 * 1e5f64.ln()).sqrt() / 0.96).abs() < 0.02, "{deviation}");
    let mut seen = 0;
    for seed in 0..24 {
        let weights = |dataset: &Dataset| {
            let mut trainer = plan.with_seed(Some(seed)).trainer(dataset).unwrap();
            take(&mut *trainer, 5);
            trainer.state()["critic.parameters"].clone()
        };
        let (with, without) = (weights(&more), weights(&dataset));
        let square: f64 = with.iter().zip(&without).map(|(one, other)| f64::from(one - other).powi(2)).sum();
        // In deviations of the noise of the steps together: two worlds so far apart are told apart without an error.
        let apart = square.sqrt() * 40.0 / (1e-6 * deviation * 5f64.sqrt());
        seen += u32::from(apart > 10.0);
        assert!(!(1e-3..=10.0).contains(&apart), "seen or not there at all: {apart}");
    }
    // Of 24, 9.8 are expected.
    assert!((4..=16).contains(&seen), "{seen}");
}

/// Without noise the generator finds both corners.
#[test]
fn a_plain_generator_learns_where_records_lie() {
    let settings = [
        "private=false",
        "noise_multiplier=",
        "steps=900",
        "class_shares=[1, 1, 0]",
        "learning_rate=0.005",
        "generator.learning_rate=0.005",
        "generator.moving_average=0.98",
    ];
    let plan = plan(&settings).unwrap();
    let mut trainer = AdversarialTrainer::new(&plan, &corners(), crate::noise::Key::from_seed(1)).unwrap();
    take(&mut trainer, 900);
    let mut generator = trainer.generator().unwrap();
    for (class, corner) in [(0, [0.6, -0.6]), (1, [-0.6, 0.6])] {
        let (made, _) = generator.inputs(200, Some(class), &mut SplitMix::new(1)).unwrap();
        for (place, middle) in corner.iter().enumerate() {
            let mean = made.iter().skip(place).step_by(2).sum::<f32>() / 200.0;
            assert!((mean - middle).abs() < 0.3, "class {class}, value {place}: {mean}");
        }
    }
}

/// One release of all records, and the generator learns as long as it likes: the corners are the means.
#[test]
fn moments_are_learned_from_one_release() {
    let settings = [
        "generator.objective=moments",
        "generator.steps=400",
        "steps=1",
        "batch_size=400",
        LINEAR,
        "class_shares=[1, 1, 0]",
        "noise_multiplier=2",
    ];
    let plan = plan(&settings).unwrap();
    let price = |event: &Event| Pld.epsilon(event, Adjacency::AddRemove, 1e-5).unwrap().epsilon;
    assert!((price(&plan.cost().unwrap()) - price(&Event::gaussian(2.0))).abs() < 1e-3);
    let mut trainer = AdversarialTrainer::new(&plan, &corners(), crate::noise::Key::from_seed(1)).unwrap();
    take(&mut trainer, 401);
    assert!(trainer.upcoming(1).is_empty());
    let mut generator = trainer.generator().unwrap();
    for (class, corner) in [(0, [0.6, -0.6]), (1, [-0.6, 0.6])] {
        let (made, _) = generator.inputs(200, Some(class), &mut SplitMix::new(1)).unwrap();
        for (place, middle) in corner.iter().enumerate() {
            let mean = made.iter().skip(place).step_by(2).sum::<f32>() / 200.0;
            // Noise of deviation 2 on a sum of 200 is a hundredth of the mean; clipped are those beyond the unit circle.
            assert!((mean - middle).abs() < 0.1, "class {class}, value {place}: {mean}");
        }
    }
}

/// A generator that was trained for as many accesses as these settings ask for.
fn generator(settings: &[&str], accesses: u64) -> Generator {
    let plan = plan(settings).unwrap();
    let mut trainer = AdversarialTrainer::new(&plan, &corners(), crate::noise::Key::from_seed(1)).unwrap();
    take(&mut trainer, accesses);
    trainer.generator().unwrap()
}

/// More records are worth more, each point is made of draws of its own and stays the same whatever others are asked for.
#[test]
fn a_learning_curve_rises_and_its_points_are_independent() {
    let moments = ["generator.objective=moments", "generator.steps=200", "steps=1", "batch_size=400", LINEAR];
    let mut made = generator(&[&moments[..], &["class_shares=[1, 1, 0]"]].concat(), 201);
    let (dataset, tested) = (corners(), std::cell::Cell::new(0));
    let classifier: Learner = toml::from_str(
        "model = { layers = [{ type = \"dense\", features = 3 }] }\nsteps = 40\nbatch_size = 16\nlearning_rate = 0.5",
    )
    .unwrap();
    let after_each = || tested.set(tested.get() + 1);
    let curve = |counts, repeats, seed| LearningCurve {
        dataset: &dataset,
        classifier: &classifier,
        counts,
        repeats,
        threads: Some(1),
        seed,
        after_each: &after_each,
    };
    let long = curve(&[1, 2, 100, 401], 6, 1);
    let (generated, real) = (long.of_generated(&mut made).unwrap(), long.of_real().unwrap());
    assert_eq!(tested.get(), 6 * (4 + 3), "there are 400 real records to learn from, and no 401");
    for points in [&generated, &real] {
        // Who knows one record knows one class of two; nobody takes one corner for the other.
        assert!(points[0].mean.mean < 0.7 && points[2].mean.mean > 0.98, "{points:?}");
        assert!(points[1].mean.standard_deviation > Some(0.1), "a pair has one class or two: {points:?}");
    }
    let short = curve(&[100], 2, 1).of_generated(&mut made).unwrap();
    assert_eq!(short[0].accuracies, generated[2].accuracies[..2]);
    let pairs = |seed| curve(&[2], 6, seed).of_real().unwrap()[0].accuracies.clone();
    assert_eq!(pairs(1), real[1].accuracies);
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    assert_ne!(sorted(pairs(1)), sorted(pairs(2)), "seeds have no repeats in common");

    let classless = generator(
        &["generator.conditional=false", "class_shares=", "model={layers=[{type=\"dense\",features=1}]}"],
        1,
    );
    let refused = long.check(&classless).unwrap_err().to_string();
    assert!(refused.contains("generator.conditional = true"), "{refused}");
}

#[test]
fn recipes_that_make_no_sense_are_refused_with_the_remedy() {
    for (settings, part) in [
        (&["generator="][..], "[generator] is missing"),
        (&["generator.objective=wasserstein"], "needs generator.weight_clip"),
        (&["generator.latent=0"], "generator.latent = 0"),
        (&["generator.class=7", "class_shares="], "classes 0 to 2"),
        (&["generator.class=1"], "class_shares: no classes are told"),
        (&["class_shares=[0.5,0.5]"], "class_shares has 2 numbers"),
        (&["loss=linear"], "loss says nothing to a critic"),
        (&["generator.model={layers=[{type=\"dense\",features=5}]}"], "makes records of shape [5]"),
        (&["generator.penalty=0"], "generator.penalty = 0"),
        (&["generator.objective=moments"], "generator.steps goes with"),
        (
            &["generator.objective=moments", "generator.steps=5"],
            "needs a critic of layers without parameters",
        ),
        (&["generator.surprise=1"], "surprise"),
        (&["method=ganobfuscator", "parameters.thresholds=1"], "generator.public_from_test"),
        (&["method=ganobfuscator", "parameters.thresholds=3"], "none of 0, 1 and 2"),
        (
            &["method=ganobfuscator", "mode=as-published", "class_shares=", "parameters.thresholds=2"],
            "not in the paper",
        ),
        (&["generator.public_from_test=100"], "choose 1 to 99"),
    ] {
        let message = refused(settings);
        assert!(message.contains(part), "{settings:?}: {message}");
    }
    assert_eq!(
        refused(&["generator.class=1", "class_shares=", "model={layers=[{type=\"dense\",features=1}]}"]),
        ""
    );
}

/// A run of the recipe that is written down is the same run.
#[test]
fn a_planned_recipe_reads_back() {
    let first = plan(&[]).unwrap();
    let parts = Parts::parse("again", &first.to_toml(), &[]).unwrap();
    let second = AdversarialPlan::new(&parts, &corners()).unwrap();
    assert_eq!(
        (second.to_toml(), second.critic.noise_multiplier),
        (first.to_toml(), first.critic.noise_multiplier)
    );
}
