//! Whether the factors of a study matter: the tests of every level and every factor.

use super::error::StatisticsError;
use super::kruskal_wallis::{KruskalWallis, kruskal_wallis};
use super::mann_whitney::{MannWhitney, mann_whitney};
use super::shapiro_wilk::{ShapiroWilk, shapiro_wilk};

/// One result, and its level in every factor.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorRow {
    /// In the order of the factors.
    pub levels: Vec<String>,
    /// What was measured.
    pub value: f64,
}

/// Results by the levels of several factors.
#[derive(Clone, Debug)]
pub struct FactorStudy {
    factors: Vec<String>,
    rows: Vec<FactorRow>,
}

/// Whether the results at one level may be normal.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelNormality {
    /// The factor.
    pub factor: String,
    /// The level.
    pub level: String,
    /// Results at this level.
    pub count: usize,
    /// The test, if there are enough results for one.
    pub test: Result<ShapiroWilk, StatisticsError>,
}

/// Whether a factor of two levels matters.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoLevels {
    /// The factor.
    pub factor: String,
    /// Its levels; the test speaks of the second.
    pub levels: [String; 2],
    /// The test.
    pub test: Result<MannWhitney, StatisticsError>,
}

/// Whether a factor of three or more levels matters.
#[derive(Clone, Debug, PartialEq)]
pub struct SeveralLevels {
    /// The factor.
    pub factor: String,
    /// Its levels.
    pub levels: Vec<String>,
    /// The test.
    pub test: Result<KruskalWallis, StatisticsError>,
}

impl FactorStudy {
    /// Of rows with one level for each factor.
    ///
    /// # Panics
    /// If a row has another number of levels.
    pub fn new(factors: Vec<String>, rows: Vec<FactorRow>) -> FactorStudy {
        for row in &rows {
            assert_eq!(row.levels.len(), factors.len(), "levels of a row for the factors {factors:?}");
        }
        FactorStudy { factors, rows }
    }

    /// The levels of the factor at a place, in the order in which they first appear.
    pub fn levels(&self, factor: usize) -> Vec<&str> {
        let mut levels: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !levels.contains(&row.levels[factor].as_str()) {
                levels.push(&row.levels[factor]);
            }
        }
        levels
    }

    /// The results at a level of the factor at a place.
    pub fn at(&self, factor: usize, level: &str) -> Vec<f64> {
        self.rows.iter().filter(|row| row.levels[factor] == level).map(|row| row.value).collect()
    }

    /// Factors that all rows agree in: there is nothing to say about them.
    pub fn constant(&self) -> Vec<&str> {
        let constant = |factor: &usize| self.levels(*factor).len() < 2;
        (0..self.factors.len()).filter(constant).map(|factor| self.factors[factor].as_str()).collect()
    }

    /// The Shapiro-Wilk test of every level of every factor that has more than one.
    pub fn normality(&self) -> Vec<LevelNormality> {
        let varying = (0..self.factors.len()).filter(|&factor| self.levels(factor).len() > 1);
        let each = |factor: usize| {
            self.levels(factor).into_iter().map(move |level| {
                let values = self.at(factor, level);
                LevelNormality {
                    factor: self.factors[factor].clone(),
                    level: level.to_string(),
                    count: values.len(),
                    test: shapiro_wilk(&values),
                }
            })
        };
        varying.flat_map(each).collect()
    }

    /// The Mann-Whitney test of every factor of two levels.
    pub fn two_levels(&self) -> Vec<TwoLevels> {
        let each = |factor: usize| {
            let [first, second] = self.levels(factor)[..] else { return None };
            Some(TwoLevels {
                factor: self.factors[factor].clone(),
                levels: [first, second].map(String::from),
                test: mann_whitney(&self.at(factor, first), &self.at(factor, second)),
            })
        };
        (0..self.factors.len()).filter_map(each).collect()
    }

    /// The Kruskal-Wallis test of every factor of three or more levels.
    pub fn several_levels(&self) -> Vec<SeveralLevels> {
        let several = (0..self.factors.len()).filter(|&factor| self.levels(factor).len() > 2);
        let each = |factor: usize| {
            let levels = self.levels(factor);
            let samples: Vec<Vec<f64>> = levels.iter().map(|level| self.at(factor, level)).collect();
            let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
            SeveralLevels {
                factor: self.factors[factor].clone(),
                levels: levels.into_iter().map(String::from).collect(),
                test: kruskal_wallis(&samples),
            }
        };
        several.map(each).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(rows: &[(&str, &str, &str, f64)]) -> FactorStudy {
        let row = |&(one, two, three, value): &(&str, &str, &str, f64)| FactorRow {
            levels: [one, two, three].map(String::from).to_vec(),
            value,
        };
        let factors = ["one", "two", "three"].map(String::from).to_vec();
        FactorStudy::new(factors, rows.iter().map(row).collect())
    }

    #[test]
    fn the_number_of_levels_chooses_the_test() {
        let study = study(&[
            ("a", "x", "p", 1.0),
            ("a", "y", "q", 2.0),
            ("a", "x", "r", 3.0),
            ("a", "y", "p", 4.0),
            ("a", "x", "q", 5.0),
        ]);
        assert_eq!((study.constant(), study.levels(2)), (vec!["one"], vec!["p", "q", "r"]));
        let [two] = &study.two_levels()[..] else { panic!("one factor has two levels") };
        assert_eq!((&two.factor[..], &two.levels), ("two", &["x".to_string(), "y".to_string()]));
        // Of the six pairs of (1, 3, 5) and (2, 4), the second is larger in (1, 2), (1, 4) and (3, 4).
        assert_eq!(two.test.as_ref().unwrap().u, 3.0);
        let [several] = &study.several_levels()[..] else { panic!("one factor has three levels") };
        assert_eq!((&several.factor[..], several.levels.len()), ("three", 3));
        assert_eq!(several.test.as_ref().unwrap().degrees, 2);
    }

    #[test]
    fn a_level_with_too_few_results_has_no_test() {
        let study =
            study(&[("a", "x", "p", 1.0), ("a", "x", "p", 2.0), ("a", "x", "p", 4.0), ("a", "y", "p", 3.0)]);
        let normality = study.normality();
        let counts: Vec<(&str, usize, bool)> =
            normality.iter().map(|level| (&level.level[..], level.count, level.test.is_ok())).collect();
        assert_eq!(counts, [("x", 3, true), ("y", 1, false)]);
    }

    #[test]
    #[should_panic(expected = "levels of a row")]
    fn a_row_without_a_level_is_a_mistake() {
        FactorStudy::new(vec!["one".into()], vec![FactorRow { levels: Vec::new(), value: 0.0 }]);
    }
}
