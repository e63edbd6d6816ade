//! What will be touched, and the proof that it was paid for.

use super::purpose::Purpose;
use crate::noise::Stream;
use muffle_accounting::Event;

/// One access to private records, before it happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// What for.
    pub purpose: Purpose,
    /// Which of this purpose: no two of a run have the same.
    pub number: u64,
    /// What will be released, before sampling: the release is held to it.
    pub release: Event,
    /// What goes into the ledger; `None` where an earlier charge covers it, as for the later batches of an epoch.
    pub charge: Option<Event>,
    /// Whether what it gives has to be on disk before anything else happens, because it would have to be paid for again.
    pub keep: bool,
}

impl Access {
    /// An access to all records, whose result is kept.
    pub fn all(purpose: Purpose, number: u64, release: Event) -> Access {
        let charge = Some(release.clone());
        Access { purpose, number, release, charge, keep: true }
    }
}

/// The proof that one access is paid for, good for one release. Only a [`Ledger`](super::Ledger) makes it.
#[derive(Debug)]
#[must_use = "a receipt is paid for; use it for one release"]
pub struct Receipt {
    purpose: Purpose,
    number: u64,
    release: Event,
    /// Whether records were drawn with it.
    drawn: bool,
}

impl Receipt {
    pub(super) fn new(access: &Access) -> Receipt {
        let Access { purpose, number, release, .. } = access.clone();
        Receipt { purpose, number, release, drawn: false }
    }

    /// The same after records were drawn with it.
    ///
    /// # Panics
    /// If that has happened before.
    pub(crate) fn drawn(self) -> Receipt {
        assert!(!self.drawn, "records were drawn with this receipt already");
        Receipt { drawn: true, ..self }
    }

    /// What the access is for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Which of its purpose.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What may be released.
    pub fn release(&self) -> &Event {
        &self.release
    }

    /// A second stream of noise for the same release, for what is released beside it.
    pub(crate) fn beside(&self) -> Stream {
        self.purpose.beside(self.number)
    }

    /// Gives the receipt up for the noise of its one release.
    ///
    /// # Guarantee
    /// A stream belongs to one purpose and number, and a receipt is consumed for it: no two releases of a run share their noise,
    /// unless the same access is repeated with the same key, which gives the same release again.
    ///
    /// A claim is no proof, and its price is infinite: whatever is released under it is covered.
    ///
    /// # Panics
    /// If `released` is not what was paid for.
    pub(crate) fn redeem(self, released: &Event) -> (Stream, Event) {
        assert!(
            *released == self.release || matches!(self.release, Event::Claimed { .. }),
            "{} {} released something else than was paid for: {released:?} for {:?}",
            self.purpose.name(),
            self.number,
            self.release
        );
        (self.purpose.stream(self.number), self.release)
    }
}
