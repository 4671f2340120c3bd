//! The documents as a whole: they fit, they are sound, they say what they must, and they stay true when something is
//! missing.

mod broken;
mod edges;
mod page;
pub(crate) mod sound;
pub(crate) mod stored;
