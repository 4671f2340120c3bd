//! What would answer?
//!
//! ```text
//!   jobs ──► run ──► Part ──► Part ──► Part      a request visits parts; each arrival at a resource is one event
//!             ▲        host, adapter, .. device
//!             └── completions, alarms            engine: time, requests, accounts
//! ```
//!
//! A discrete-event simulation in whole nanoseconds of virtual time. The engine knows requests, parts and moments, and
//! nothing of flash or disks; a part keeps its resources' accounts, so that the busiest can be named. No clock, no chance
//! but the seed's: the same seed gives the same bytes on any machine.
//!
//! Start reading at [`engine`], then at `devices/zero.rs`, the smallest part.

/// Examples of the README, which must run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod adapter;
mod build;
pub mod claims;
pub mod devices;
pub mod engine;
pub mod ftl;
mod host;
mod index;
mod numbers;
pub mod run;
pub mod sheet;
pub mod targets;
mod timeline;

pub use build::build;
pub use timeline::timeline;
