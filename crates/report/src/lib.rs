//! What do we tell people?
//!
//!   a report ──► pages ──► Document ──► text   one 80-column screen, the same without colour
//!   (figures)    said once           ├─► html   one self-contained page
//!                                    └─► markdown
//!   outcome  ──► fio        JSON, JSON+, terse and logs that fio's readers take
//!   repro    ──► markdown   the pages of the manual
//!   answers  ──► table      CSV, Parquet, metrics
//!   layers   ──► stacks     folded, for speedscope, for the Firefox profiler
//!   check, sheet ──► export  what the kernel's controller, Seastar, fio and `MQSim` read
//!   slices   ──► outlier    a slow I/O and its moment, for Perfetto
//!
//! Every function here is pure: it takes what was measured and returns a string. Nothing is computed that the
//! outcome does not hold, so that two reports of one outcome never disagree. Start reading at [`check`].

mod digest;
mod document;
pub mod export;
pub mod fio;
mod heat;
pub mod html;
mod inside;
mod lists;
mod outlier;
mod pages;
mod platform;
pub mod stacks;
pub mod table;
pub mod text;
mod told;
mod what_if;

pub use document::Document;
pub use outlier::outlier;
pub use pages::*;
pub use told::Told;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
