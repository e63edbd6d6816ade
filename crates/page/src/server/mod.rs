//! Pages over HTTP, for browsers on this machine.
//!
//! Only GET, one request for a connection, and a stream of changes for pages that are watched: what is left of HTTP fits into a few
//! files, and its one difficult part, the head of a request, is read by `httparse`.
//!
//! # Guarantee
//! A request with another `Host` is refused, so that no page of a stranger can read these through a name of its own (DNS rebinding).
//! Names in addresses are looked up among what was found in the folder, and never become paths. Nothing is changed by a request.

mod guard;
mod listener;
mod live;
mod request;
mod response;
mod routes;

pub use listener::Server;
pub use request::Request;
pub use response::Status;
