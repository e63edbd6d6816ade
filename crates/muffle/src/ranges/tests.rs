use super::*;
use muffle_accounting::accountant;

fn found(counts: Counts, epsilon: f64, seed: u64) -> Vec<Option<[f64; 2]>> {
    let noise_multiplier = noise_multiplier(epsilon, Adjacency::AddRemove);
    let access = Access::all(PURPOSE, 0, Event::laplace(noise_multiplier));
    let receipt = Ledger::in_memory().pay_one(access).unwrap();
    release(counts, noise_multiplier, &Mechanism::new(Key::from_seed(seed), 1.0), receipt).0
}

fn counted<const COLUMNS: usize>(records: impl Iterator<Item = [f64; COLUMNS]>) -> Counts {
    let mut counts = Counts::new(COLUMNS);
    records.for_each(|record| counts.add(&record.map(Some)));
    counts
}

#[test]
fn one_record_moves_the_counts_by_no_more_than_its_columns() {
    let records = || (0..50).map(|record| [f64::from(record), -f64::from(record) / 7.0, 0.0]);
    let all = counted(records());
    for odd in
        [[Some(7.0), Some(-7.0), Some(0.0)], [Some(f64::MAX), None, Some(f64::NAN)], [Some(f64::INFINITY); 3]]
    {
        let mut more = counted(records());
        more.add(&odd);
        let moved: f64 = all.counts.iter().zip(&more.counts).map(|(one, other)| (one - other).abs()).sum();
        assert!(moved <= 3.0, "{odd:?} moves {moved}");
    }
}

/// Whatever the neighbours, the accountants agree with what was asked for.
#[test]
fn a_release_costs_what_was_asked_for() {
    for adjacency in Adjacency::ALL {
        let event = Event::laplace(noise_multiplier(0.1, adjacency));
        let pld = accountant::by_name("pld").unwrap();
        let price = pld.epsilon(&event, adjacency, 1e-12).unwrap().epsilon;
        assert!((price - 0.1).abs() < 1e-3, "{adjacency}: {price}");
    }
}

/// The noise on each bin is Laplace noise of columns / epsilon: its mean size over 19,240 bins of no records has a standard
/// deviation of scale / sqrt(19,240), and the share within the median of the size one of 1/2 / sqrt(19,240). Either is off by more
/// than 5 deviations with a probability below 1e-6.
#[test]
fn the_noise_has_the_scale_of_its_price() {
    let (columns, epsilon) = (20, 0.1);
    let noise_multiplier = noise_multiplier(epsilon, Adjacency::AddRemove);
    let scale = columns as f64 / epsilon;
    let mut sizes = Vec::new();
    for seed in 0..2 {
        let access = Access::all(PURPOSE, 0, Event::laplace(noise_multiplier));
        let receipt = Ledger::in_memory().pay_one(access).unwrap();
        let empty = BoundedVector::l1(vec![0.0; columns * BINS], columns as f64);
        let mechanism = Mechanism::new(Key::from_seed(seed), 1.0);
        let (noise, _) = mechanism.answer(empty, noise_multiplier, receipt);
        sizes.extend(noise.into_iter().map(f64::abs));
    }
    let count = sizes.len() as f64;
    let mean = sizes.iter().sum::<f64>() / count;
    // The grid of the release makes its noise wider by a part in a thousand at most.
    let slack = scale * (5.0 / count.sqrt() + 1e-3);
    assert!((mean - scale).abs() < slack, "{mean} for {scale}");
    let within = sizes.iter().filter(|size| **size < scale * std::f64::consts::LN_2).count() as f64 / count;
    assert!((within - 0.5).abs() < 2.5 / count.sqrt() + 1e-3, "{within}");
}

/// A column of no records has a range with probability 1/1000 at most: of 300, more than 4 would have one with a probability below
/// 2e-5.
#[test]
fn noise_alone_has_no_range() {
    let wrong: usize = (0..30).map(|seed| found(Counts::new(10), 0.1, seed).iter().flatten().count()).sum();
    assert!(wrong <= 4, "{wrong}");
}

/// Ends lie around nearly all records, and at most one power of two beyond them.
#[test]
fn ranges_hold_nearly_all_records() {
    let records: Vec<[f64; 4]> = (0..20_000)
        .map(|record| {
            let share = (f64::from(record) + 0.5) / 20_000.0;
            [
                17.0 + 73.0 * share,
                -3.0 + 6.0 * share,
                1950.0 + 74.0 * share,
                if share < 0.9 { 0.0 } else { 5000.0 },
            ]
        })
        .collect();
    for seed in 0..10 {
        let found = found(counted(records.iter().copied()), 0.5, seed);
        let expected = [[16.0, 96.0], [-3.0, 3.0], [1792.0, 2048.0], [0.0, 5120.0]];
        for (column, (found, expected)) in found.iter().zip(expected).enumerate() {
            let [low, high] = found.expect("20,000 records are enough");
            let inside = records.iter().filter(|record| (low..=high).contains(&record[column])).count();
            assert!(inside >= 19_000, "column {column}: {inside} in {low} to {high}");
            assert!(low >= expected[0] && high <= expected[1], "column {column}: {low} to {high}");
        }
    }
    assert_eq!(found(counted((0..5000).map(|_| [0.0])), 1.0, 1), [Some([0.0, 1.0])]);
}

/// Too few records are not shown, whatever they are.
#[test]
fn few_records_hide_in_the_noise() {
    let smallest = smallest_end(noise_multiplier(0.1, Adjacency::AddRemove), 1);
    assert!((150.0..300.0).contains(&smallest), "{smallest}");
    assert_eq!(found(counted((0..20).map(|_| [1e6])), 0.1, 3), [None]);
}

#[test]
fn a_draft_is_paid_for_before_it_is_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..3000).map(|row| format!("{},{}\n", row % 80, ["a", "b"][row % 2])).collect();
    std::fs::write(folder.path().join("t.csv"), format!("age,kind\n{rows}")).unwrap();
    let text = "format = \"csv\"\npath = \"t.csv\"\nlabel = \"kind\"\nclasses = [\"a\", \"b\"]\ntest_fraction = 0.2\n\
                [[columns]]\nname = \"age\"\nrange = \"?\"\n";
    let path = folder.path().join("t.toml");
    std::fs::write(&path, text).unwrap();
    let draft = Draft::read(&path).unwrap();
    let mut ledger = Ledger::open(&folder.path().join("ledger.jsonl"), ORIGIN, false).unwrap();
    for time in 1..3 {
        let found = of_table(&draft, &mut ledger, Key::from_seed(time), 2.0, Adjacency::AddRemove).unwrap();
        assert_eq!(found.columns, [("age".to_string(), Some([0.0, 80.0]))]);
        assert_eq!(found.event, Event::laplace(0.5));
        assert_eq!(ledger.total(), Event::compose([Event::laplace(0.5).repeated(time)]));
    }
}
