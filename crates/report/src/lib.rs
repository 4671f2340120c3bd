//! What do we tell people?
//!
//!   outcome, check ──► text   one 80-column screen, the same without colour
//!                  ──► fio    JSON, JSON+, terse and logs that fio's readers take
//!                  ──► html   one self-contained page
//!   repro          ──► markdown   the pages of the manual
//!   spans          ──► timeline   a trace for ui.perfetto.dev
//!   sweep          ──► table  CSV and Parquet
//!
//! Every function here is pure: it takes what was measured and returns a string. Nothing is computed that the
//! outcome does not hold, so that two reports of one outcome never disagree. Start reading at [`text::check`].

mod ab;
mod app;
pub mod digest;
pub mod fio;
pub mod html;
mod inside;
mod iocost;
pub mod markdown;
mod platform;
pub mod table;
pub mod text;
mod timeline;
mod what_if;

pub use timeline::timeline;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
