//! What is a target? Whatever answers jobs, seen by those who ask.
//!
//! ```text
//!   jobs ──► Target ── run ──────► outcomes
//!              ├─ prepare ──► Prepared ── run, run, ..    the same jobs with other draws: an A/B
//!              └─ occupy ───► Session ─── run, run, ..    one place, one job after another: a check
//! ```
//!
//! What measures implements [`Target`]; what thinks knows only this crate. A target is asked once a run, never once an
//! I/O. Who implements it begins with [`Target::describe`].

/// Examples of the README, which must run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod audience;
mod changes;
mod merging;
mod read_json;
mod session;
mod target;
mod targets;

pub use audience::Audience;
pub use changes::{EXAMPLE, changes};
pub use merging::{MergeAsked, MergeFitRound, MergeFound, MergeHow, MergeMeasured, MergePlanned};
pub use read_json::read_json;
pub use session::{About, HostPart, How, Measured, On, Place, Session, Wishes};
pub use target::{
    Ability, AnyTarget, Beside, Description, NO_STATUS, Number, Preparation, Prepared, RunClock, Target,
    Wanted, reseeded, unprepared,
};
pub use targets::{Kind, Rating, Ratings, Targets};
