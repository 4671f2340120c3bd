//! What is a platform made of, in numbers with sources?
//!
//! ```text
//!   platforms/devices/x25e.toml ──► parse ──► Sheet ──► whoever builds it: numbers
//!   --set flash.read=30us ──────────┘           │
//!   kinds: tables of parameters ────┘           └──► card: what `iostack sim show` prints
//! ```
//!
//! What a kind of device has, each file of `platforms/`, and what it claims: data. What a device does with its numbers is the
//! simulator's. Start reading at [`Sheet::load`]; `parse.rs` is what a file may say, `value.rs` how a number is written.

pub mod card;
pub mod catalogue;
mod claim;
mod document;
mod entries;
mod error;
mod get;
mod kinds;
mod loaded;
mod parameter;
mod parse;
mod source;
pub(crate) mod value;

pub use claim::{Claim, Expected};
pub use entries::{SheetNumber, SourceTally};
pub use error::{SheetError, SheetErrors};
pub use iostack_model::answers::Figure;
pub use kinds::KINDS;
#[cfg(test)]
pub(crate) use kinds::words_of;
pub use loaded::Sheet;
pub use parameter::{DeviceKind, Parameter, Unit};
pub use source::Source;
