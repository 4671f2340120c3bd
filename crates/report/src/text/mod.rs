//! What can only a terminal draw?
//!
//!   format   how a quantity, a paragraph and a heading are written
//!   glyphs   bars and curves in one line; `ascii` for a terminal without Unicode
//!   chart    a plot of letters
//!   heat     latency over time in shades
//!   live     one line while a job runs, a block while I/Os are traced
//!   machine  device and host in a line each
//!
//! Plain text of at most [`WIDTH`] columns that means the same without colour. Only a path or a command that must
//! stay in one piece to be copied may be longer. Screens are put together in [`crate::document`].

#![expect(
    clippy::format_push_string,
    reason = "a screen is made once; `write!` would return an error that cannot happen"
)]

pub(crate) mod chart;
pub(crate) mod format;
pub(crate) mod glyphs;
pub(crate) mod heat;
mod live;
mod live_stages;
pub(crate) mod machine;
pub(crate) mod sparks;

pub use glyphs::ascii;
pub use live::{live, live_within};
pub use live_stages::live_stages;

/// Columns of every screen.
pub const WIDTH: usize = 80;
