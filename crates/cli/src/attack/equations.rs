//! `muffle attack equations`: what are the weights of a linear model?

use super::command::{Attack, help, question};
use super::models::{Models, Target};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::Entry;
use muffle::attack::equations::{ENTRY, Equations, solve};
use serde_json::{Value, json};

/// The weights of a linear model, by its answers.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack equations runs/adult-logistic-... --against runs/plain")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = Equations;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Equations>> {
        let attack = |target: &Target| {
            Ok(solve(&target.trained.network, &target.trained.parameters, &target.dataset)?)
        };
        targets.iter().map(attack).collect()
    }

    fn object(&self, found: &Equations) -> Value {
        json!({
            "queries": found.queries, "relative_error": found.error, "agreement": found.agreement,
            "judged_on": found.judged_on,
        })
    }

    fn lines(&self, names: &[String], found: &[Equations]) -> String {
        let line = |(name, found): (&String, &Equations)| {
            let Equations { queries, error, agreement, judged_on } = found;
            let agreement = 100.0 * agreement;
            format!(
                "{name}  {queries} queries  weights to {error:.1e}  {agreement:.2} % of {judged_on} answers\n"
            )
        };
        names.iter().zip(found).map(line).collect()
    }
}
