//! Settings that follow the budget: what a recipe changes where its epsilon is another.

use super::keys::EXCLUSIVE;
use toml::{Table, Value};

/// The rows of a recipe: tables with an `epsilon` and what is set for it.
pub(super) const KEY: &str = "budgets";

/// Puts into a recipe the settings of the row whose epsilon is nearest, by its ratio, to the one that is asked for; none if the
/// recipe's own epsilon is nearer, or if there is no epsilon.
pub(super) fn settle(recipe: &mut Table, asked: &Table) -> Result<(), String> {
    let rows = match asked.get(KEY) {
        None => return Ok(()),
        Some(Value::Array(rows)) => rows,
        Some(_) => return Err(format!("{KEY} is not an array of tables")),
    };
    let (own, wanted) = (number(recipe.get("epsilon")), number(asked.get("epsilon")));
    let mut near = vec![(own, Table::new())];
    for row in rows {
        let mut row = row.as_table().ok_or_else(|| format!("{KEY} has a row that is no table"))?.clone();
        let epsilon = row.remove("epsilon");
        if number(epsilon.as_ref()).is_none() {
            return Err(format!(
                "{KEY} has a row without an epsilon above zero; give each the one it is for"
            ));
        }
        near.push((number(epsilon.as_ref()), row));
    }
    let Some(wanted) = wanted else { return Ok(()) };
    let distance =
        |epsilon: Option<f64>| epsilon.map_or(f64::INFINITY, |epsilon| (epsilon / wanted).ln().abs());
    let nearest = near.into_iter().min_by(|(one, _), (other, _)| distance(*one).total_cmp(&distance(*other)));
    for (key, value) in nearest.into_iter().flat_map(|(_, row)| row) {
        EXCLUSIVE.iter().filter(|(one, _)| *one == key).for_each(|(_, other)| drop(recipe.remove(*other)));
        recipe.insert(key, value);
    }
    Ok(())
}

/// A number above zero.
fn number(value: Option<&Value>) -> Option<f64> {
    let value = value.and_then(|value| value.as_float().or(value.as_integer().map(|value| value as f64)));
    value.filter(|value| *value > 0.0 && value.is_finite())
}

#[cfg(test)]
mod tests {
    use crate::run::Parts;

    const RECIPE: &str = r#"
        data = "digits"
        epsilon = 3
        epochs = 40
        rate = 2
        budgets = [{ epsilon = 1, epochs = 20 }, { epsilon = 8.0, steps = 7, rate = 5 }]
    "#;

    fn training(settings: &[&str]) -> String {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Parts::parse("digits", RECIPE, &settings).unwrap().training.to_string().replace('\n', " ")
    }

    #[test]
    fn settings_follow_the_nearest_budget() {
        assert_eq!(training(&[]), "epochs = 40 rate = 2 ");
        assert_eq!(training(&["epsilon=2"]), "epochs = 40 rate = 2 ");
        assert_eq!(training(&["epsilon=1.7"]), "epochs = 20 rate = 2 ");
        assert_eq!(training(&["epsilon=0.1"]), "epochs = 20 rate = 2 ");
        assert_eq!(training(&["epsilon=6"]), "rate = 5 steps = 7 ");
        assert_eq!(training(&["epsilon="]), "epochs = 40 rate = 2 ", "without an epsilon no row is meant");
    }

    #[test]
    fn what_is_set_by_hand_holds() {
        assert_eq!(training(&["rate=9", "epsilon=8"]), "rate = 9 steps = 7 ");
        assert_eq!(training(&["epochs=3", "epsilon=8"]), "epochs = 3 rate = 5 ");
        assert_eq!(training(&["budgets=", "epsilon=8"]), "epochs = 40 rate = 2 ");
    }

    #[test]
    fn rows_that_are_for_no_budget_are_refused() {
        for rows in ["budgets=3", "budgets=[3]", "budgets=[{epochs=3}]", "budgets=[{epsilon=-1}]"] {
            let refused = Parts::parse("digits", RECIPE, &[rows.to_string()]).unwrap_err().to_string();
            assert!(refused.contains("budgets"), "{refused}");
        }
    }
}
