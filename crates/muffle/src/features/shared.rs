//! Features that several runs of a process work with: made once, held once.

use crate::data::Dataset;
use crate::error::Result;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Where the features of one kind of one data set are held, as long as a run works with them.
type Slot = Arc<Mutex<Weak<Dataset>>>;

static SLOTS: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);

/// What goes by this name: what another run works with, or what is made now. Whoever asks for the same meanwhile waits for it.
pub(super) fn shared(
    name: String,
    make: impl FnOnce() -> Result<Option<Dataset>>,
) -> Result<Option<Arc<Dataset>>> {
    let slot = SLOTS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default().clone();
    let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(dataset) = held.upgrade() {
        return Ok(Some(dataset));
    }
    let made = make()?.map(Arc::new);
    *held = made.as_ref().map(Arc::downgrade).unwrap_or_default();
    Ok(made)
}
