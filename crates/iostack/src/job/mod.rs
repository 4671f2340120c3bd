//! From what was typed to work for the engine: jobs, their flags, their files.

pub(crate) mod files;
pub(crate) mod flags;
pub(crate) mod gather;
