//! The statistics of a published factor study, recomputed from its own table of results.
//!
//! `fixtures/lin-2020.csv` holds Tables 3 to 5 of Lin et al. 2020: accuracy and loss of 96 runs. Tables 8 to 11 are
//! statistics of these, and come out to every printed digit, but for three misprints that are named where they are. The
//! same code makes the tables of `muffle study noisy-gradient`.

use muffle::statistics::{FactorRow, FactorStudy, Mean};

const FACTORS: [&str; 6] = ["data", "model", "optimizer", "noise", "clipping", "sequence"];

/// Columns of the results.
const ACCURACY: usize = 6;
const LOSS: usize = 7;

/// The rows that a condition keeps, with the results of a column.
fn study(column: usize, keep: impl Fn(&[String]) -> bool) -> FactorStudy {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lin-2020.csv");
    let mut reader = csv::Reader::from_path(path).unwrap();
    assert_eq!(reader.headers().unwrap().iter().take(6).collect::<Vec<_>>(), FACTORS);
    let rows: Vec<FactorRow> = reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            let levels = record.iter().take(6).map(String::from).collect();
            FactorRow { levels, value: record[column].parse().unwrap() }
        })
        .collect();
    assert_eq!(rows.len(), 96);
    let rows = rows.into_iter().filter(|row| keep(&row.levels)).collect();
    FactorStudy::new(FACTORS.map(String::from).to_vec(), rows)
}

fn whole(column: usize) -> FactorStudy {
    study(column, |_| true)
}

/// Equal to as many decimals as are printed.
fn printed(found: f64, expected: f64, decimals: i32) -> bool {
    (found - expected).abs() <= 0.5 * 10_f64.powi(-decimals) + 1e-9
}

#[test]
fn shapiro_wilk_of_every_level() {
    let expected = [
        ("data", "MNIST", (0.852, 0.000), (0.890, 0.003)),
        ("data", "CIFAR-10", (0.960, 0.268), (0.963, 0.334)),
        ("data", "SVHN", (0.929, 0.036), (0.963, 0.335)),
        ("model", "CNN", (0.767, 0.000), (0.781, 0.000)),
        // The loss is printed with the W of the accuracy, .834.
        ("model", "LSTM", (0.834, 0.000), (0.829, 0.000)),
        ("optimizer", "SGD", (0.798, 0.000), (0.816, 0.000)),
        ("optimizer", "Adam", (0.806, 0.000), (0.786, 0.000)),
        ("noise", "0.1", (0.807, 0.000), (0.784, 0.000)),
        ("noise", "0.5", (0.791, 0.000), (0.808, 0.000)),
        ("clipping", "0.8", (0.818, 0.000), (0.818, 0.000)),
        ("clipping", "1.4", (0.792, 0.000), (0.800, 0.000)),
        ("sequence", "AC", (0.772, 0.000), (0.769, 0.000)),
        ("sequence", "CA", (0.765, 0.000), (0.797, 0.000)),
    ];
    let found = [ACCURACY, LOSS].map(|column| whole(column).normality());
    assert!(found.iter().all(|levels| levels.len() == expected.len()));
    for (place, (factor, level, accuracy, loss)) in expected.into_iter().enumerate() {
        for (found, (w, p)) in found.iter().zip([accuracy, loss]) {
            let row = &found[place];
            assert_eq!((&row.factor[..], &row.level[..]), (factor, level));
            assert_eq!(row.count, if factor == "data" { 32 } else { 48 });
            let test = row.test.as_ref().unwrap();
            assert!(printed(test.w, w, 3) && printed(test.p, p, 3), "{level}: {test:?}, printed {w} ({p})");
        }
    }
}

#[test]
fn mann_whitney_of_every_factor_of_two_levels() {
    let expected = [
        ("model", ["CNN", "LSTM"], (970.0, 2146.0, -1.334, 0.182), (1160.0, 2336.0, 0.059, 0.953)),
        ("optimizer", ["SGD", "Adam"], (1247.0, 2423.0, 0.696, 0.486), (915.5, 2091.5, -1.733, 0.083)),
        ("noise", ["0.1", "0.5"], (935.0, 2111.0, -1.590, 0.112), (1497.0, 2673.0, 2.528, 0.011)),
        // The p of the loss is printed as .580, that of the accuracy.
        ("clipping", ["0.8", "1.4"], (1076.5, 2252.5, -0.553, 0.580), (1189.5, 2365.5, 0.275, 0.783)),
        // The loss is printed with the row of the accuracy and the p of the row above it.
        ("sequence", ["AC", "CA"], (678.0, 1854.0, -3.474, 0.001), (1568.5, 2744.5, 3.052, 0.002)),
    ];
    let found = [ACCURACY, LOSS].map(|column| whole(column).two_levels());
    assert!(found.iter().all(|factors| factors.len() == expected.len()));
    for (place, (factor, levels, accuracy, loss)) in expected.into_iter().enumerate() {
        for (found, (u, rank_sum, z, p)) in found.iter().zip([accuracy, loss]) {
            let row = &found[place];
            assert_eq!((&row.factor[..], row.levels.each_ref().map(String::as_str)), (factor, levels));
            let test = row.test.as_ref().unwrap();
            assert_eq!((test.u, test.rank_sum), (u, rank_sum), "{factor}");
            assert!(printed(test.z, z, 3) && printed(test.p, p, 3), "{factor}: {test:?}, printed {z} ({p})");
        }
    }
}

#[test]
fn kruskal_wallis_of_the_data_sets() {
    for column in [ACCURACY, LOSS] {
        let factors = whole(column).several_levels();
        let [data] = &factors[..] else { panic!("one factor has more than two levels") };
        assert_eq!(
            (&data.factor[..], &data.levels[..]),
            ("data", &["MNIST", "CIFAR-10", "SVHN"].map(String::from)[..])
        );
        let test = data.test.as_ref().unwrap();
        assert!(printed(test.h, 63.42, 2) && test.degrees == 2 && test.p < 1e-13, "{test:?}");
    }
}

#[test]
fn mean_gains_of_noise_before_the_clip() {
    // In the text: 3, 8 and 10 points (CNN), 18, 13 and 12 (LSTM); the first of the LSTM does not follow from the table.
    for (model, data, points, loss) in [
        ("CNN", "MNIST", 2.92, 0.179),
        ("CNN", "CIFAR-10", 7.86, 0.143),
        ("CNN", "SVHN", 9.69, 0.217),
        ("LSTM", "MNIST", 15.43, 0.488),
        ("LSTM", "CIFAR-10", 12.88, 0.246),
        ("LSTM", "SVHN", 11.52, 0.227),
    ] {
        let gain = |column| {
            let cells = study(column, |levels| levels[0] == data && levels[1] == model);
            let mean = |level| Mean::of(&cells.at(5, level)).unwrap().mean;
            mean("AC") - mean("CA")
        };
        assert!(printed(100.0 * gain(ACCURACY), points, 2), "{model} {data}: {}", gain(ACCURACY));
        assert!(printed(-gain(LOSS), loss, 3), "{model} {data}: {}", gain(LOSS));
    }
}
