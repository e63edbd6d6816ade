//! A committee of teachers: who learns from what, what is released and paid for, and what happens after an interruption.

use muffle::data::{Dataset, Records, Scaling, Split, Targets, Visibility};
use muffle::kinds;
use muffle::pate::{self, PatePlan, Votes, data_dependent_epsilon};
use muffle::run::{Certificate, Job, Parts, RunFolder, Summary, resume, start};
use muffle_accounting::pate::LaplaceVotes;
use muffle_nn::Shape;
use std::path::{Path, PathBuf};
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

/// The file of a teacher.
fn teacher(run: &Path, number: u32) -> PathBuf {
    run.join(pate::SAFE).join(format!("teachers/{number:04}.safetensors"))
}

#[test]
fn teachers_of_another_seed_other_records_or_other_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let taught = folder.path().join("taught");
    run(&taught, &[]).unwrap();
    // The teachers lie there before the run begins, in a folder that has no run beside it.
    let lying = |name: &str| {
        let private = folder.path().join(name).join("run").join(pate::SAFE);
        std::fs::create_dir_all(private.join("teachers")).unwrap();
        for file in ["teachers/0000.safetensors", "origin.sha256"] {
            std::fs::copy(taught.join(pate::SAFE).join(file), private.join(file)).unwrap();
        }
        private.parent().unwrap().to_path_buf()
    };
    let same = lying("same");
    let before = std::fs::metadata(teacher(&same, 0)).unwrap().modified().unwrap();
    run(&same, &["epsilon=5"]).unwrap();
    assert_eq!(std::fs::metadata(teacher(&same, 0)).unwrap().modified().unwrap(), before);
    let refused = |result: muffle::Result<Summary>| {
        let message = result.expect_err("they are others").to_string();
        assert!(message.contains("other records, another seed or other settings"), "{message}");
    };
    for setting in ["seed=8", "seed=", "teacher.steps=61", "teachers=31"] {
        refused(run(&lying(setting), &[setting]));
    }
    let fewer = dataset().with_splits(points(599, 0), points(300, 10_000)).unwrap();
    let job = kinds::plan(&parts(&[]), &fewer).unwrap();
    refused(start(&lying("records"), &*job, &fewer, &AtomicBool::new(false), &mut |_| ()));
    // So are those that do not say what they follow from.
    let unknown = lying("unknown");
    std::fs::remove_file(unknown.join(pate::SAFE).join("origin.sha256")).unwrap();
    refused(run(&unknown, &[]));
}

#[test]
fn runs_side_by_side_share_the_teachers_that_they_have_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, other, unseeded] =
        ["first", "second", "other", "unseeded"].map(|name| folder.path().join(name));
    run(&first, &[]).unwrap();
    // One teacher in the place of another shows whether it is taken over.
    std::fs::copy(teacher(&first, 1), teacher(&first, 0)).unwrap();
    run(&second, &["epsilon=5", "student.steps=20"]).unwrap();
    let file = |run: &Path| std::fs::read(teacher(run, 0)).unwrap();
    assert_eq!(file(&second), file(&first));
    run(&other, &["seed=8"]).unwrap();
    assert_ne!(file(&other), file(&first));
    // Without a seed every committee is drawn anew.
    run(&unseeded, &["seed="]).unwrap();
    assert_ne!(file(&unseeded), file(&first));
}

/// Three classes in long strips side by side: few answers do not show which way they run.
fn strips(count: usize, shift: usize) -> Split {
    let place =
        |record: usize| [4.0 * ((record as f32 * 0.618_034).fract() - 0.5), (record % 3) as f32 - 1.0];
    let values = (shift..shift + count).flat_map(place).collect();
    Split::classified(
        Records::Floats(values),
        (shift..shift + count).map(|record| (record % 3) as u32).collect(),
    )
}

#[test]
fn answers_that_spread_teach_a_student_more() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset().with_splits(strips(600, 0), strips(300, 10_000)).unwrap();
    // Few answers, nearly without noise, and no look of the student's own.
    let few = ["epsilon=", "queries=6", "votes.deviation=0.01", "self_training.begin=1000"];
    let spread = [&few[..], &["self_training.propagation={neighbours=5,share=0.8}"]].concat();
    let [alone, spread] = [("alone", few.to_vec()), ("spread", spread)].map(|(name, settings)| {
        let job = kinds::plan(&parts(&settings), &dataset).unwrap();
        let summary = start(&folder.path().join(name), &*job, &dataset, &AtomicBool::new(false), &mut |_| ());
        accuracy(&summary.unwrap())
    });
    assert!(spread > 0.95 && alone < 0.9, "{spread} {alone}");
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
    assert_eq!(outline, ["teachers", "queries", "answers afforded", "noise on votes", "student"]);
    assert_eq!((&job.figures()["queries"], &job.figures()["affordable_answers"]), (&90.into(), &90.into()));
    assert_eq!(plan(&["queries=50", "votes.deviation=14.53"]).unwrap().affordable, Some(90));
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
        (&["self_training.memory=1"], "self_training.memory = 1"),
        (&["self_training.propagation={share=1}"], "self_training.propagation.share = 1"),
        (&["self_training.propagation={neighbours=0}"], "self_training.propagation.neighbours = 0"),
        (&["mode=as-published", SANITISED], "leave out one of sanitised and mode"),
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

const SANITISED: &str = "sanitised={order=8,smoothness=0.03,noise_multiplier=20,delta=1e-6}";

#[test]
fn an_epsilon_that_follows_the_votes_is_published_when_it_is_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let choice = SANITISED;
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

const PUBLISHED: [&str; 3] = ["mode=as-published", "epsilon=", "votes={kind=\"laplace\",inverse_scale=0.3}"];

/// As published, epsilon is a function of the votes: one record that decides a vote is read off it exactly.
#[test]
fn the_published_form_quotes_what_its_votes_make_as_a_claim() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let summary = run(&path, &PUBLISHED).unwrap();
    let votes: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path.join(pate::SAFE).join("votes.json")).unwrap())
            .unwrap();
    let votes: Vec<Vec<u64>> = serde_json::from_value(votes["votes"].clone()).unwrap();
    let rule = Votes::Laplace { inverse_scale: Some(0.3) };
    let claimed = summary.certificate.claimed.unwrap();
    assert!((claimed / data_dependent_epsilon(&rule, &votes, 1e-5) - 1.0).abs() < 1e-6, "{claimed}");
    // Nothing is proved, whether or not the seed is secret: the figure is printed without noise, and the ledger says so.
    let certificate = Certificate::read(&path.join("privacy.json")).unwrap();
    assert_eq!((certificate.proved.epsilon, certificate.epsilon_if_seed_is_secret()), (None, None));
    assert!(certificate.epsilon.values().all(Option::is_none), "{:?}", certificate.epsilon);
    let ledger = std::fs::read_to_string(path.join("ledger.jsonl")).unwrap();
    assert_eq!(ledger.matches("published_epsilon").count(), 1);
    // Before there are votes, the claim is what the paper gives whatever they are.
    let plan = plan(&PUBLISHED).unwrap();
    assert!(claimed < plan.claimed.unwrap(), "{claimed} of {:?}", plan.claimed);
    assert!((plan.claimed.unwrap() - LaplaceVotes { inverse_scale: 0.3 }.epsilon(90, 1e-5)).abs() < 1e-12);
    assert!(Job::breaks(&plan).is_some());
    // One teacher that changes its mind changes the figure.
    let mut other = votes.clone();
    let agreed =
        other.iter_mut().find(|votes| votes.contains(&29)).expect("votes on which all but one agree");
    let most = agreed.iter().position(|count| *count == 29).unwrap();
    (agreed[most], agreed[(most + 1) % 3]) = (28, agreed[(most + 1) % 3] + 1);
    assert_ne!(data_dependent_epsilon(&rule, &other, 1e-5), data_dependent_epsilon(&rule, &votes, 1e-5));
}

#[test]
fn a_rare_class_is_voted_for_where_it_is() {
    // Of 40 records each, about 36 are of the first class and two of each other.
    let records = points(6000, 0);
    let kept: Vec<usize> = (0..6000).filter(|record| record % 3 == 0 || record % 60 < 3).collect();
    let rare = dataset().with_splits(records.select(&kept), points(300, 10_000)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = ["teachers=50", "epsilon=8", "teacher.learning_rate=2.0", "teacher.steps=120"];
    let job = kinds::plan(&parts(&settings), &rare).unwrap();
    let summary =
        start(&folder.path().join("run"), &*job, &rare, &AtomicBool::new(false), &mut |_| ()).unwrap();
    // The test records are two thirds of the rare classes: a student of the common one alone would be right on a third.
    assert!(accuracy(&summary) > 0.6, "{}", accuracy(&summary));
    let right: f64 = summary.measured.get("answers_accuracy").unwrap();
    assert!(right > 0.6, "{right}");
}

#[test]
fn a_small_pool_is_asked_as_a_whole_where_the_budget_affords_more() {
    let plan = plan(&["queries=", "votes.deviation=14.53", "epsilon=40"]).unwrap();
    assert_eq!(plan.queries, 200);
    assert!(plan.affordable.unwrap() > 200, "{:?}", plan.affordable);
}

#[test]
fn a_pilot_on_public_records_says_what_answers_are_worth() {
    let public = dataset().with_splits(points(600, 5_000), points(300, 20_000)).unwrap();
    let right = |settings: &[&str]| {
        let job: Box<dyn Job> = Box::new(plan(settings).unwrap());
        let figures = job.pilot(&public).unwrap().unwrap().figures;
        let figure = |name: &str| figures[name].as_f64().unwrap();
        (figure("expected_right"), figure("expected_answers"), figure("expected_agreement"))
    };
    let folder = tempfile::tempdir().unwrap();
    let summary = run(&folder.path().join("run"), &[]).unwrap();
    let found: f64 = summary.measured.get("answers_accuracy").unwrap();
    let (expected, answers, agreement) = right(&[]);
    // Of 90 answers, three standard errors are 0.15.
    assert!(
        (found - expected).abs() < 0.15 && answers == 90.0 && agreement >= expected,
        "{found} {expected}"
    );
    // Less noise, more of them right; a test leaves some without an answer.
    assert!(right(&["epsilon=40"]).0 > expected);
    let (_, answers, _) = right(&["votes={kind=\"confident\",threshold=25}"]);
    assert!(answers > 10.0 && answers < 85.0, "{answers}");
    let few = dataset().with_splits(points(30, 0), points(300, 20_000)).unwrap();
    let message = Job::pilot(&plan(&[]).unwrap(), &few).unwrap_err().to_string();
    assert!(message.contains("about 20 records, so 40 for training"), "{message}");
}
