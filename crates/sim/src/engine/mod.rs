//! What happens next?
//!
//! ```text
//!   submit ──► part.arrive ──► wake_at(finish) ──► part.wake ──► send(below) or finish ──► returned ──► completed
//! ```
//!
//! Parts pass requests to each other at once; only what takes time goes through the calendar. A first-come-first-served
//! resource is an [`Account`] with a next-free time ([`Server`]): one event per arrival, no queue to keep. Where the order
//! can change (priorities, elevators, suspension), the part keeps a queue of its own and books what it starts.
//!
//! **Never book time on a shared resource before the request has arrived there.** Walking a request through all its
//! resources at submission is wrong as soon as one resource is visited twice.
//!
//! Start reading at [`Part`].

mod account;
mod calendar;
mod part;
mod request;
mod sim;
mod stamps;
mod world;

pub use account::{Account, Server, usage};
pub use part::{CALLER_SHIFT, Caller, Part, PartId, Shape, ZoneShape};
pub use request::{Kind, Request, RequestId, STAGES};
pub use sim::{Sim, Span, token};
pub use stamps::Stamps;
pub use world::{Happened, World, alike};

/// Virtual time, ns since the start.
pub type Time = u64;
