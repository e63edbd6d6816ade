//! Arguments that say which model is used on which records, shared by `evaluate` and `predict`.

use clap::{Args, ValueEnum};
use muffle::data::{Dataset, Search, View};
use muffle::train::Trained;
use std::error::Error;
use std::path::PathBuf;

/// Which records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitChoice {
    /// The records that were set aside.
    Test,
    /// The records that were trained on.
    Train,
}

/// A model and records.
#[derive(Args)]
pub struct ModelArguments {
    /// The folder of a finished run, or its model alone (.safetensors)
    pub run: PathBuf,
    /// For bare weights, as PyTorch saves them: the network, by name or model file
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Data: a table, arrays or images that the model knows how to read, a description, or a published name (default: that of the run)
    #[arg(long, value_name = "DATA")]
    pub data: Option<String>,
    /// Which records of a data set that has two splits
    #[arg(long, value_enum, default_value_t = SplitChoice::Test)]
    pub split: SplitChoice,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Use the model although it, its recipe or its ledger is not what the certificate is about
    #[arg(long)]
    pub unverified: bool,
    /// Threads (default: the machine's cores)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

impl ModelArguments {
    /// Opens the model.
    pub fn trained(&self) -> Result<Trained, Box<dyn Error>> {
        Ok(match (&self.model, self.unverified) {
            (Some(model), _) => Trained::of_model(&self.run, model)?,
            (None, true) => Trained::open_unverified(&self.run)?,
            (None, false) if self.run.is_dir() => Trained::open(&self.run)
                .map_err(|error| format!("{error} (--unverified uses the model as it is)"))?,
            (None, false) => Trained::open(&self.run)?,
        })
    }

    /// Opens both.
    pub fn open(&self) -> Result<(Trained, Dataset), Box<dyn Error>> {
        let trained = self.trained()?;
        let dataset = trained.dataset(self.data.as_deref(), &Search::new(self.data_dir.as_deref()))?;
        Ok((trained, dataset))
    }

    /// The records.
    pub fn view<'a>(&self, dataset: &'a Dataset) -> View<'a> {
        match self.split {
            SplitChoice::Test => dataset.test(),
            SplitChoice::Train => dataset.train(),
        }
    }
}
