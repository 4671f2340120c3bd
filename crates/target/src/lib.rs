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

mod audience;
mod session;
mod target;

pub use audience::Audience;
pub use session::{About, How, Measured, On, Place, Session, Wishes};
pub use target::{
    Ability, AnyTarget, Description, Preparation, Prepared, RunClock, Target, Wanted, reseeded, unprepared,
};
