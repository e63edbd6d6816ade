//! A committee of teachers: who learns from what, what is released and paid for, and what happens after an interruption.

use muffle::bounds::Detections;
use muffle::data::{Dataset, Records, Scaling, Split, Targets, Visibility};
use muffle::kinds;
use muffle::ledger::Ledger;
use muffle::pate::{self, PatePlan, Votes, data_dependent_epsilon};
use muffle::run::{Certificate, Job, Parts, Purse, RunFolder, Summary, resume, start};
use muffle_nn::Shape;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Three classes around three corners of a triangle, spread by a fixed pattern.
fn points(count: usize, shift: usize) -> Split {
    let corners = [[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]];
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for record in shift..shift + count {
        let class = record % 3;
        // The golden ratio spreads records evenly over angles and distances.
        let angle = record as f32 * 2.399_963;
        let radius = 0.9 * ((record as f32 * 0.618_034).fract()).sqrt();
        values.extend([corners[class][0] + radius * angle.cos(), corners[class][1] + radius * angle.sin()]);
        labels.push(class as u32);
    }
    Split::classified(Records::Floats(values), labels)
}

fn dataset() -> Dataset {
    let classes = ["a", "b", "c"].map(str::to_string).to_vec();
    let scaling = Scaling::identity("as is");
    let (train, test) = (points(600, 0), points(300, 10_000));
    Dataset::new("points", Shape::Vector(2), classes, scaling, Visibility::Public, train, test).unwrap()
}

const RECIPE: &str = r#"
    kind = "pate"
    data = "points"
    public_from_test = 200
    epsilon = 4
    evaluations = 1
    threads = 1
    seed = 7
    teachers = 30
    queries = 90
    votes = { kind = "gaussian" }
    [teacher]
    model = { layers = [{ type = "dense", features = 3 }] }
    steps = 60
    batch_size = 16
    learning_rate = 0.5
    [student]
    model = { layers = [{ type = "dense", features = 3 }] }
    steps = 200
    batch_size = 32
    learning_rate = 0.3
    moving_average = 0.9
    [self_training]
    answered = 16
    begin = 50
    refresh = 25
    confidence = 0.8
"#;

fn parts(settings: &[&str]) -> Parts {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Parts::parse("the recipe", RECIPE, &settings).unwrap()
}

fn plan(settings: &[&str]) -> muffle::Result<PatePlan> {
    PatePlan::new(&parts(settings), &dataset())
}

fn refused(settings: &[&str]) -> String {
    plan(settings).err().expect("it is refused").to_string()
}

/// A run from beginning to end.
fn run(folder: &Path, settings: &[&str]) -> muffle::Result<Summary> {
    let job = kinds::plan(&parts(settings), &dataset())?;
    start(folder, &*job, &dataset(), &AtomicBool::new(false), &mut |_| ())
}

fn accuracy(summary: &Summary) -> f64 {
    muffle::train::Evaluation::of(&summary.measured).accuracy.unwrap()
}

#[test]
fn a_record_more_changes_one_part_and_no_other() {
    let whole = dataset();
    let before = pate::split(&whole.train(), 7);
    assert_eq!(before.iter().map(Vec::len).sum::<usize>(), 600);
    // Each has 86 of 600 in the mean, with deviation 8.6.
    assert!(before.iter().all(|part| (40..140).contains(&part.len())), "{before:?}");
    let more = points(600, 0).followed_by(points(1, 700));
    let more = whole.with_splits(more, points(300, 10_000)).unwrap();
    let after = pate::split(&more.train(), 7);
    let changed: Vec<usize> = (0..7).filter(|&teacher| before[teacher] != after[teacher]).collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(after[changed[0]].last(), Some(&600));
    // Without the first record all others stay where they were, though every position has changed.
    let fewer = points(600, 0).select(&(1..600).collect::<Vec<_>>());
    let fewer = whole.with_splits(fewer, points(300, 10_000)).unwrap();
    let moved = pate::split(&fewer.train(), 7);
    let expected: Vec<Vec<usize>> =
        before.iter().map(|part| part.iter().filter(|&&at| at > 0).map(|at| at - 1).collect()).collect();
    assert_eq!(moved, expected);
}

#[test]
fn a_record_more_changes_one_teacher_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let teachers = |name: &str, train: Split| {
        let (path, set) =
            (folder.path().join(name), dataset().with_splits(train, points(300, 10_000)).unwrap());
        let job = kinds::plan(&parts(&["teacher.steps=5"]), &set).unwrap();
        start(&path, &*job, &set, &AtomicBool::new(false), &mut |_| ()).unwrap();
        let file = |number: u32| path.join(pate::SAFE).join(format!("teachers/{number:04}.safetensors"));
        (0..30).map(|number| std::fs::read(file(number)).unwrap()).collect::<Vec<_>>()
    };
    // Without its first record every other one has a new position.
    let (whole, fewer) = (points(600, 0), points(600, 0).select(&(1..600).collect::<Vec<_>>()));
    let (before, after) = (teachers("whole", whole), teachers("fewer", fewer));
    assert_eq!((0..30).filter(|&teacher| before[teacher] != after[teacher]).count(), 1);
}

#[test]
fn a_student_learns_what_the_teachers_know_and_the_certificate_says_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let summary = run(&path, &[]).unwrap();
    // The corners overlap: a line between the classes gets 91 per cent of all points right.
    assert!(accuracy(&summary) > 0.85, "{}", accuracy(&summary));
    let counted = ["teachers", "queries", "answers"].map(|name| summary.measured.get::<u64>(name).unwrap());
    assert_eq!(counted, [30, 90, 90]);
    let certificate = Certificate::read(&path.join("privacy.json")).unwrap();
    // With a seed nothing is proved; if it is secret, all queries cost epsilon.
    assert_eq!(certificate.proved.epsilon, None);
    let epsilon = certificate.epsilon_if_seed_is_secret().unwrap();
    assert!(epsilon <= 4.0 && epsilon > 3.99, "{epsilon}");
    assert_eq!((certificate.method.as_str(), certificate.steps), ("pate", 3 + 90));
    assert!(path.join("model.safetensors").is_file());
    let safe = path.join(pate::SAFE);
    assert!(std::fs::read_to_string(safe.join("DO-NOT-PUBLISH.txt")).unwrap().contains("must not leave"));
    assert_eq!(std::fs::read_dir(safe.join("teachers")).unwrap().count(), 30);
    let votes = std::fs::read_to_string(safe.join("votes.json")).unwrap();
    assert!(votes.contains("not to be published") && votes.contains("data_dependent_epsilon"));
    // What may be published says nothing of it.
    let published = std::fs::read_to_string(path.join("privacy.json")).unwrap();
    assert!(!published.contains("data_dependent"), "{published}");
}

/// Runs until the ledger of a run has so many steps, then stops.
fn stopped(path: &Path, steps: u64) {
    let (job, stop) = (kinds::plan(&parts(&[]), &dataset()).unwrap(), AtomicBool::new(false));
    start(path, &*job, &dataset(), &stop, &mut |progress| {
        stop.store(progress.step >= steps, Ordering::Relaxed);
    })
    .unwrap();
}

#[test]
fn a_run_that_is_continued_gives_the_same_answers_and_trains_no_teacher_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    run(&whole, &[]).unwrap();
    for steps in [1, 2, 4] {
        let path = folder.path().join(format!("stopped-{steps}"));
        stopped(&path, steps);
        let teacher = path.join(pate::SAFE).join("teachers/0000.safetensors");
        let trained = std::fs::metadata(&teacher).unwrap().modified().unwrap();
        let job = kinds::plan(&Parts::read(&path, &[]).unwrap(), &dataset()).unwrap();
        let again = RunFolder::open(&path).unwrap();
        resume(&again, &*job, &dataset(), &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(std::fs::metadata(&teacher).unwrap().modified().unwrap(), trained);
        let weights = |path: &Path| {
            let (_, _, parameters) = muffle_nn::weights::open(&path.join("model.safetensors")).unwrap();
            parameters
        };
        assert_eq!(weights(&path), weights(&whole), "stopped after {steps}");
    }
}

#[test]
fn a_teacher_that_was_asked_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    stopped(&path, 4);
    std::fs::remove_file(path.join(pate::SAFE).join("teachers/0003.safetensors")).unwrap();
    let job = kinds::plan(&Parts::read(&path, &[]).unwrap(), &dataset()).unwrap();
    let again = RunFolder::open(&path).unwrap();
    let result = resume(&again, &*job, &dataset(), &AtomicBool::new(false), &mut |_| ());
    let message = result.err().unwrap().to_string();
    assert!(message.contains("0003") && message.contains("put the folder back"), "{message}");
}

#[test]
fn every_rule_answers_within_its_budget() {
    for (votes, least) in [
        ("votes={kind=\"laplace\"}", 0.7),
        ("votes={kind=\"confident\",threshold=15}", 0.8),
        ("votes={kind=\"interactive\",threshold=8,rounds=2,confidence=0.9}", 0.7),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let summary = run(&path, &[votes]).unwrap();
        let epsilon = summary.certificate.epsilon_if_seed_is_secret().unwrap();
        assert!(epsilon <= 4.0 && epsilon > 3.9, "{votes}: {epsilon}");
        assert!(accuracy(&summary) > least, "{votes}: {}", accuracy(&summary));
    }
}

#[test]
fn queries_without_agreement_stay_without_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    // Nearly no noise, so that the test is the count itself.
    let certain = ["epsilon=", "votes={kind=\"confident\",threshold=30,check=1,deviation=0.01}"];
    let summary = run(&folder.path().join("all"), &certain).unwrap();
    let answers: u64 = summary.measured.get("answers").unwrap();
    assert!(answers > 5 && answers < 85, "{answers}");
    // All queries are charged, answered or not.
    let total = summary.certificate.events;
    let paid = Votes::Confident { threshold: 30.0, check: 1.0, deviation: Some(0.01) };
    let expected = plan(&certain).unwrap();
    assert_eq!(expected.recipe.votes, paid);
    let flat = |event| muffle_accounting::Composition::of(&event).unwrap();
    assert_eq!(flat(total), flat(expected.cost()));
}

#[test]
fn more_teachers_than_records_leave_some_without_a_vote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let few = dataset().with_splits(points(12, 0), points(300, 10_000)).unwrap();
    let job = kinds::plan(&parts(&["votes.deviation=0.5", "epsilon="]), &few).unwrap();
    let summary = start(&path, &*job, &few, &AtomicBool::new(false), &mut |_| ()).unwrap();
    let files = std::fs::read_dir(path.join(pate::SAFE).join("teachers")).unwrap();
    let empty = files.filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "empty").count();
    assert!((18..30).contains(&empty), "{empty}");
    assert!(accuracy(&summary) > 0.5, "{}", accuracy(&summary));
}

#[test]
fn two_of_epsilon_queries_and_noise_give_the_third() {
    let noise = |settings: &[&str]| match plan(settings).unwrap().recipe.votes {
        Votes::Gaussian { deviation } => deviation.unwrap(),
        votes => panic!("{votes:?}"),
    };
    // μ = √(2·90)/σ, and epsilon 4 at delta 1e-5 is μ = 0.92459 by the Gaussian trade-off.
    assert!((noise(&[]) - 14.511).abs() < 0.02, "{}", noise(&[]));
    let queries = plan(&["queries=", "votes.deviation=14.53"]).unwrap().queries;
    assert_eq!(queries, 90);
    assert_eq!(plan(&["epsilon=", "votes.deviation=3"]).unwrap().queries, 90);
    let job: Box<dyn Job> = Box::new(plan(&[]).unwrap());
    let outline: Vec<&str> = job.outline().iter().map(|(name, _)| *name).collect();
    assert_eq!(outline, ["teachers", "queries", "noise on votes", "student"]);
    assert_eq!(job.figures()["queries"], 90);
}

#[test]
fn what_does_not_fit_is_refused_with_a_remedy() {
    for (settings, part) in [
        (&["queries=201"][..], "the public pool has 200 records"),
        (&["public_from_test="], "declare some with `public`"),
        (&["queries="], "any two are needed"),
        (&["votes.deviation=1"], "more than epsilon = 4"),
        (&["teachers=1"], "teachers = 1 is outside"),
        (&["votes={kind=\"confident\",threshold=31}"], "votes.threshold = 31"),
        (&["private=false"], "private = false"),
        (&["teacher.steps=0"], "teacher.steps = 0"),
        (&["student.batch_size=8"], "self_training.answered = 16"),
        (&["teacher.model={layers=[{type=\"dense\",features=2}]}"], "2 outputs"),
    ] {
        let message = refused(settings);
        assert!(message.contains(part), "{settings:?}: {message}");
    }
    let nobody = ["epsilon=", "votes={kind=\"confident\",threshold=30,check=1,deviation=0.01}", "queries=1"];
    let folder = tempfile::tempdir().unwrap();
    let unlabelled = dataset();
    let pool = Split { records: Records::Floats(vec![0.02, 0.01, 0.0, 0.0]), targets: Targets::None(2) };
    let unlabelled = unlabelled.with_public(pool).unwrap();
    let settings = [&nobody[..], &["public_from_test="]].concat();
    let job = kinds::plan(&parts(&settings), &unlabelled).unwrap();
    let result = start(&folder.path().join("run"), &*job, &unlabelled, &AtomicBool::new(false), &mut |_| ());
    let message = result.expect_err("no teacher agrees in the middle").to_string();
    assert!(message.contains("no query was answered"), "{message}");
}

#[test]
fn an_epsilon_that_follows_the_votes_is_published_when_it_is_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let choice = "sanitised={order=8,smoothness=0.03,noise_multiplier=20,delta=1e-6}";
    let path = folder.path().join("run");
    let summary = run(&path, &[choice]).unwrap();
    let sanitised: f64 = summary.measured.get("sanitised_epsilon").unwrap();
    assert!(sanitised > 0.0 && sanitised.is_finite(), "{sanitised}");
    // It is part of the budget: less is left for the votes.
    let epsilon = summary.certificate.epsilon_if_seed_is_secret().unwrap();
    assert!(epsilon <= 4.0 && epsilon > 3.9, "{epsilon}");
    let noise = |settings: &[&str]| match plan(settings).unwrap().recipe.votes {
        Votes::Gaussian { deviation } => deviation.unwrap(),
        votes => panic!("{votes:?}"),
    };
    assert!(noise(&[choice]) > 1.05 * noise(&[]));
    let paid = std::fs::read_to_string(path.join("ledger.jsonl")).unwrap();
    assert_eq!(paid.matches("sanitised_epsilon").count(), 1);
    let refused = refused(&["sanitised={order=20,smoothness=0.03,noise_multiplier=20,delta=1e-6}"]);
    assert!(refused.contains("take less than 0.0256"), "{refused}");
}

/// As published, epsilon is a function of the votes: one record that decides a near-tie is read off it exactly.
#[test]
fn a_near_tie_shows_in_the_published_epsilon() {
    for rule in [Votes::Laplace { inverse_scale: Some(0.05) }, Votes::Gaussian { deviation: Some(40.0) }] {
        let votes = |first: u64| {
            let mut all = vec![vec![240, 10]; 99];
            all.push(vec![first, 250 - first]);
            all
        };
        let published = |first| data_dependent_epsilon(&rule, &votes(first), 1e-5);
        // One teacher changes its mind: the attacker, who knows all other votes, sees which of the two it was.
        assert_ne!(published(200), published(199), "{rule:?}");
        // The price whatever the votes is the same by definition; it is no function of them.
        assert!(published(200) < 10.0);
    }
}

/// Two data sets that differ in one record, which is the only one of its teacher.
fn neighbours() -> [Dataset; 2] {
    let classes = ["a", "b"].map(str::to_string).to_vec();
    let set = |train: Split| {
        let pool = Split { records: Records::Floats(vec![0.5, 0.6, 0.7, 0.8]), targets: Targets::None(4) };
        let scaling = Scaling::identity("as is");
        let test = Split::classified(Records::Floats(vec![0.5]), vec![0]);
        let set =
            Dataset::new("two", Shape::Vector(1), classes.clone(), scaling, Visibility::Public, train, test);
        set.unwrap().with_public(pool).unwrap()
    };
    let candidates = |class: u32| {
        let values: Vec<f32> = (0..40).map(|record| 0.5 + record as f32 / 100.0).collect();
        Split::classified(Records::Floats(values), vec![class; 40])
    };
    let of_teacher = |class: u32, teacher: usize| {
        let all = candidates(class);
        all.select(&pate::split(&set(all.clone()).train(), 2)[teacher][..1])
    };
    let (first, second) = (of_teacher(0, 0), of_teacher(1, 1));
    [set(first.clone()), set(first.followed_by(second))]
}

/// How many of four answers name the class of the record in question, in a whole run with this seed.
fn answered(dataset: &Dataset, seed: u64) -> usize {
    let seed = format!("seed={seed}");
    let settings = [
        "public_from_test=",
        "epsilon=8",
        "queries=4",
        "teachers=2",
        "self_training=",
        "teacher.steps=3",
        "teacher.model={layers=[{type=\"dense\",features=2}]}",
        "student.model={layers=[{type=\"dense\",features=2}]}",
        &seed,
    ];
    let plan = PatePlan::new(&parts(&settings), dataset).unwrap();
    let mut trainer = plan.trainer(dataset).unwrap();
    let mut purse = Purse::new(Ledger::in_memory(), None).unwrap();
    while trainer.step() < plan.terms().steps {
        purse.pay_and_do(&mut *trainer, 1).unwrap();
    }
    trainer.state()["answers"].chunks_exact(2).filter(|answer| answer[0] == 1.0).count()
}

/// The attack knows everything but one record. 95 per cent confidence; the seeds are fixed, so the test does not err by chance.
#[test]
fn whole_runs_give_away_no_more_than_they_cost() {
    const RUNS: u64 = 250;
    let [without, with] = neighbours();
    let detected = |dataset: &Dataset, first: u64| {
        (first..first + RUNS).filter(|&seed| answered(dataset, seed) >= 3).count() as u64
    };
    let found = Detections {
        present: RUNS,
        true_positives: detected(&with, 0),
        absent: RUNS,
        false_positives: detected(&without, RUNS),
    };
    let epsilon = found.epsilon(1e-5, 0.95);
    // The attack is a real one: it refutes a much smaller claim, and not what is proved.
    assert!(epsilon > 0.2 && epsilon <= 8.0, "{epsilon} from {found:?}");
}
