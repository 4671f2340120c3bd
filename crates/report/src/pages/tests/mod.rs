//! The documents as a whole: they fit, they are sound, they say what they must, and they stay true when something is
//! missing.

mod attribution_pages;
mod attribution_screens;
mod inside_pages;
mod inside_screens;
pub(crate) mod screens;
pub(crate) mod sound;
