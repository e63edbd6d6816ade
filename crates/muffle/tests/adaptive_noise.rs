//! Noise that follows what was released: paid for, stopped by a filter, and the same after any interruption.

use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::ledger::{Access, Entry, Ledger};
use muffle::run::{RunFolder, Status, Summary, read_ledger};
use muffle::run::{resume, start};
use muffle::train::{DataShape, Plan, Recipe, STEPS, Trained, VALIDATION};
use muffle_accounting::rdp::Rdp;
use muffle_accounting::{Accountant, Event, Quotes};
use muffle_nn::Shape;
use muffle_nn::initialise::SplitMix;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const EPSILON: f64 = 3.0;

/// Two clouds of points.
fn dataset() -> Dataset {
    let mut generator = SplitMix::new(5);
    let mut split = |records: usize| {
        let labels: Vec<u32> = (0..records).map(|record| (record % 2) as u32).collect();
        let mut point = |label: u32| {
            let middle = if label == 0 { 0.5 } else { -0.5 };
            [0; 4].map(|_| middle + generator.normal())
        };
        Split::classified(Records::Floats(labels.iter().flat_map(|label| point(*label)).collect()), labels)
    };
    let classes = vec!["a".to_string(), "b".to_string()];
    let (train, test) = (split(1200), split(200));
    let scaling = Scaling::identity("none");
    Dataset::new("clouds", Shape::Vector(4), classes, scaling, Visibility::Public, train, test).unwrap()
}

/// A gain that nothing reaches: from the second period on the noise falls after each.
const PUBLIC: &str = "validation={records={kind=\"public-test\"},period=2,checks=1,gain=0.9,factor=0.7}";
const PAID: &str =
    "validation={records={kind=\"held-out\",share=0.2,epsilon=0.1},period=2,checks=2,gain=0.9,factor=0.7}";

fn plan(settings: &[&str]) -> muffle::Result<Plan> {
    let text = format!(
        "data = \"clouds\"\nmodel = {{ layers = [{{ type = \"dense\", features = 2 }}] }}\nepsilon = {EPSILON}\n\
         noise_multiplier = 2.5\nbatch_size = 60\nlearning_rate = 0.5\nclip = {{ kind = \"flat\", threshold = 1 }}\n\
         seed = 4\nthreads = 1\nevaluations = 3"
    );
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", &text, &settings)?, &DataShape::of(&dataset()))
}

fn ledger(folder: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join("ledger.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A whole run in a new folder.
fn run(plan: &Plan, folder: &Path) -> Summary {
    start(folder, plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn spent(folder: &Path) -> Event {
    read_ledger(folder).unwrap().total()
}

fn model(folder: &Path) -> Vec<f32> {
    Trained::open(folder).unwrap().parameters
}

/// The multipliers of the steps in a ledger, without repetitions.
fn multipliers(event: &Event, found: &mut Vec<f64>) {
    match event {
        Event::Gaussian { noise_multiplier } if found.last() != Some(noise_multiplier) => {
            found.push(*noise_multiplier);
        }
        Event::Compose { events } => events.iter().for_each(|event| multipliers(event, found)),
        Event::Repeat { event, .. }
        | Event::PoissonSampled { event, .. }
        | Event::PartitionedEpoch { event, .. } => multipliers(event, found),
        _ => {}
    }
}

#[test]
fn the_filter_ends_a_run_whose_noise_falls_and_the_certificate_quotes_the_budget() {
    for (sampler, first) in [("sampler=poisson", 2.5), ("sampler=reshuffled", 8.0)] {
        for (validation, paid) in [(PUBLIC, false), (PAID, true)] {
            let place = tempfile::tempdir().unwrap();
            let settings = [sampler, validation, &format!("noise_multiplier={first}")];
            let (plan, folder) = (plan(&settings).unwrap(), place.path().join("run"));
            let summary = run(&plan, &folder);
            let name = format!("{sampler}, {validation}");
            // It would have lasted longer with the noise it began with.
            assert!(summary.steps < plan.steps && summary.steps_lost == plan.steps - summary.steps, "{name}");
            let certificate = &summary.certificate;
            assert_eq!(certificate.status, Status::Finished);
            let figure = certificate.proved_if_seed_is_secret.as_ref().unwrap();
            assert_eq!((figure.epsilon, &figure.accountant[..]), (Some(EPSILON), "rdp_filter"));
            // Whoever prices the certificate's events finds its figure, not that of the noise the run happened to take.
            let quotes = Quotes::ask(&certificate.events, plan.adjacency, plan.recipe.run.delta);
            let priced = quotes.best().unwrap().price.epsilon;
            assert!((priced - EPSILON).abs() < 1e-6, "{name}: {priced}");
            assert!(
                certificate.epsilon.is_empty(),
                "prices of a plan do not hold for what was chosen on the way"
            );
            // Were the noise fixed in advance, it would cost no more, and most of it: the last noise is far from the first, for
            // which the order was chosen.
            let price = Rdp.epsilon(&spent(&folder), plan.adjacency, plan.recipe.run.delta).unwrap().epsilon;
            assert!(price <= EPSILON && price > 0.6 * EPSILON, "{name}: {price}");
            let mut noise = Vec::new();
            multipliers(&spent(&folder), &mut noise);
            assert!(noise.len() > 1, "{name}: {noise:?}");
            for (place, noise) in noise.iter().enumerate() {
                assert!((noise / (first * 0.7f64.powi(place as i32)) - 1.0).abs() < 1e-5, "{name}: {noise}");
            }
            // Every check is in the ledger, after the steps it looks at, and none other is.
            let entries = ledger(&folder);
            let checks: Vec<&Entry> =
                entries.iter().filter(|entry| entry.purpose == VALIDATION.name()).collect();
            // There may be one more after the last step, where the filter allowed the check and no step behind it.
            let expected: Vec<u64> =
                (1..summary.steps).filter(|&step| paid && plan.checked_after(step)).collect();
            let before = checks.iter().map(|check| check.from).filter(|&step| step < summary.steps);
            assert_eq!(before.collect::<Vec<_>>(), expected, "{name}");
            assert!(checks.iter().all(|check| check.event == Event::laplace(1.0 / 0.1)), "{name}");
            assert!(checks.iter().all(|check| plan.checked_after(check.from)), "{name}");
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("checkpoints")).unwrap();
    for folder in ["", "checkpoints"] {
        for file in fs::read_dir(from.join(folder)).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), to.join(folder).join(file.file_name())).unwrap();
            }
        }
    }
}

/// The folder of a run is copied at many moments, as a power failure would leave it; each copy is continued. One more has the
/// ledger of the whole run beside the first checkpoint, as if everything had been paid and nothing taken.
#[test]
fn a_run_that_is_interrupted_anywhere_ends_as_one_that_is_not() {
    for settings in [
        &["sampler=poisson", PUBLIC][..],
        &["sampler=poisson", PAID],
        &["sampler=reshuffled", "noise_multiplier=8", PAID],
        &["method=adpsgd", "parameters.gradients=1", "epochs=6"],
    ] {
        let place = tempfile::tempdir().unwrap();
        let whole = place.path().join("whole");
        let reference = run(&plan(settings).unwrap(), &whole);
        // Another pace of paying: every step by itself, and a checkpoint after it.
        let slow = plan(&[settings, &["checkpoint_seconds=0"]].concat()).unwrap();
        let folder = place.path().join("slow");
        let mut copies = Vec::new();
        let mut observe = |progress: &muffle::run::Progress| {
            if progress.step % 37 == 5 {
                copies.push(place.path().join(format!("copy-{}", progress.step)));
                copy(&folder, &copies[copies.len() - 1]);
            }
        };
        start(&folder, &slow, &dataset(), &AtomicBool::new(false), &mut observe).unwrap();
        let paid = place.path().join("paid");
        copy(&copies[0], &paid);
        fs::copy(folder.join("ledger.jsonl"), paid.join("ledger.jsonl")).unwrap();
        assert!(copies.len() > 2);
        copies.extend([paid, folder]);
        for path in copies {
            let folder = RunFolder::open(&path).unwrap();
            let never = AtomicBool::new(false);
            let summary = resume(&folder, &slow, &dataset(), &never, &mut |_| {}).unwrap();
            let name = format!("{settings:?}, {}", path.display());
            assert_eq!(summary.steps, reference.steps, "{name}");
            assert!(model(&path) == model(&whole), "{name}");
            assert_eq!(spent(&path), spent(&whole), "{name}");
        }
    }
}

/// Without a seed steps after the checkpoint are paid again: the filter counts them, and the run ends sooner.
#[test]
fn what_was_lost_counts_against_the_budget() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let plan = plan(&[PAID, "seed="]).unwrap();
    let stop = AtomicBool::new(false);
    let whole = start(&path, &plan, &dataset(), &stop, &mut |_| stop.store(true, Ordering::Relaxed)).unwrap();
    assert_eq!(whole.certificate.status, Status::Interrupted);
    fs::remove_dir_all(path.join("checkpoints")).unwrap();
    fs::create_dir(path.join("checkpoints")).unwrap();
    let folder = RunFolder::open(&path).unwrap();
    let summary = resume(&folder, &plan, &dataset(), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let price = Rdp.epsilon(&spent(&path), plan.adjacency, plan.recipe.run.delta).unwrap().epsilon;
    assert!(price <= EPSILON && price > 0.6 * EPSILON, "{price}");
    let entries = ledger(&path);
    let steps = entries.iter().filter(|entry| entry.purpose == STEPS.name());
    let paid: u64 = steps.map(|entry| entry.to - entry.from).sum();
    assert_eq!(paid, summary.steps + whole.steps);
}

#[test]
fn validation_without_a_right_to_look_is_refused() {
    let held_out = |sampler: &'static str| vec![PAID, sampler];
    for (settings, part) in [
        (
            vec!["validation={period=2,checks=1,gain=0.01,factor=0.7}"],
            "must not come from private records for nothing",
        ),
        (vec![PUBLIC, "epsilon=", "epochs=2"], "a budget that is fixed in advance"),
        (vec![PUBLIC, "method=dp-sgd-decay", "mode=as-published"], "a budget that is fixed in advance"),
        (vec![PUBLIC, "private=false", "epochs=2"], "a budget that is fixed in advance"),
        (held_out("sampler=fixed-size"), "fixed size needs the exact number"),
        (vec![PAID, "sampler=reshuffled", "adjacency=replace_one"], "can change sides"),
        (vec![PUBLIC, "noise_multiplier=0.01"], "leaves no room"),
    ] {
        let message = plan(&settings).err().unwrap().to_string();
        assert!(message.contains(part), "{settings:?}: {message}");
    }
    let other = [PAID, "sampler=balls-and-bins", "adjacency=replace_one", "noise_multiplier=10"];
    assert!(plan(&other).is_ok());
}

/// b² starts at 4 and grows by the squared norm of what is released; the noise of a step is σ·√(b/2), its length 1/b.
#[test]
fn noise_follows_the_norm_of_released_gradients() {
    use muffle::mechanism::{Gradients, Mechanism};
    use muffle::methods::Step;
    use muffle::noise::Key;
    use muffle_nn::{Engine, Options};
    let settings = ["method=adpsgd", "parameters.gradients=1", "parameters.initial=2", "epochs=5"];
    let (plan, data) = (plan(&settings).unwrap(), dataset());
    let parameters = vec![0.1; 10];
    let mut method = plan.build_method().unwrap();
    let mut engine = Engine::new(plan.network.clone(), Options::new(method.purpose())).unwrap();
    let mechanism = Mechanism::new(Key::from_seed(1), 60.0);
    let mut square = 4.0f64;
    for number in 0..4 {
        let noise = 2.5 * (square.sqrt() / 2.0).sqrt();
        let view = data.train().select((0..60).collect::<Vec<_>>());
        let access = Access::all(STEPS, number, method.event(2.5));
        let gradients = Gradients {
            engine: &mut engine,
            parameters: &parameters,
            examples: &view,
            loss: plan.loss,
            seed: 0,
        };
        let step = Step {
            gradients,
            mechanism: &mechanism,
            receipt: Ledger::in_memory().pay_one(access).unwrap(),
            noise_multiplier: 2.5,
            clip_factor: 1.0,
        };
        let release = method.release(step).unwrap();
        let Event::Gaussian { noise_multiplier } = *release.gradient.event() else { panic!("no Gaussian") };
        assert!((noise_multiplier - noise).abs() < 1e-5, "step {number}: {noise_multiplier} for {noise}");
        // The released gradient has norm n/b with b² = before + n²: n² = s²·before/(1 − s²) for the scaled norm s.
        let scaled: f64 = release.gradient.gradient().iter().map(|value| f64::from(*value).powi(2)).sum();
        square += scaled * square / (1.0 - scaled);
        let saved = f64::from(method.state()["square"][0]);
        assert!((saved / square - 1.0).abs() < 1e-4, "step {number}: {saved} for {square}");
    }
}
