//! The ledger of a run, and the receipts without which no record is touched.
//!
//! Pay, then do: [`Ledger::pay`] writes to the disk what accesses cost and only then hands out one [`Receipt`] for each.
//! Drawing records and releasing anything computed from them take a receipt by value, so that code which forgets to pay does
//! not compile:
//!
//! ```
//! use muffle::ledger::{Access, Ledger, Purpose};
//! use muffle::mechanism::{BoundedVector, Mechanism};
//! use muffle::noise::Key;
//! use muffle_accounting::Event;
//!
//! const COUNT: Purpose = Purpose::new("count");
//! let mut ledger = Ledger::in_memory(); // a real run takes Ledger::open
//! let access = Access::all(COUNT, 0, Event::laplace(2.0));
//! let receipt = ledger.pay_one(access)?;
//! // One record more or less changes the number by one.
//! let number = BoundedVector::l1(vec![41.0], 1.0);
//! let mechanism = Mechanism::new(Key::from_seed(1), 1.0);
//! let (noisy, event) = mechanism.answer(number, 2.0, receipt);
//! assert_eq!(ledger.total(), Event::compose([event]));
//! # Ok::<(), muffle::Error>(())
//! ```
//!
//! A receipt is not made by hand,
//!
//! ```compile_fail,E0451
//! # use muffle::ledger::{Purpose, Receipt};
//! # use muffle_accounting::Event;
//! let receipt = Receipt { purpose: Purpose::new("steps"), number: 0, release: Event::gaussian(1.0), drawn: false };
//! ```
//!
//! nor used for two releases,
//!
//! ```compile_fail,E0382
//! # use muffle::ledger::Receipt;
//! # use muffle::mechanism::{BoundedVector, Mechanism};
//! fn twice(mechanism: &Mechanism, receipt: Receipt) {
//!     mechanism.answer(BoundedVector::l1(vec![1.0], 1.0), 2.0, receipt);
//!     mechanism.answer(BoundedVector::l1(vec![1.0], 1.0), 2.0, receipt);
//! }
//! ```
//!
//! nor copied,
//!
//! ```compile_fail,E0599
//! # use muffle::ledger::Receipt;
//! fn copy(receipt: &Receipt) -> Receipt {
//!     receipt.clone()
//! }
//! ```
//!
//! and no private records are drawn without one:
//!
//! ```compile_fail,E0061
//! # use muffle::records::PrivateRecords;
//! # use muffle::sampler::Poisson;
//! fn draw(records: &PrivateRecords, sampler: &mut Poisson) {
//!     let _ = records.draw(sampler);
//! }
//! ```

mod access;
mod chain;
mod file;
mod head;
mod purpose;

pub use access::{Access, Receipt};
pub use file::{Entry, Ledger};
pub use head::Head;
pub use purpose::Purpose;
