//! What do the tests of several crates share? Folders and devices of their own, and instructions counted.
//!
//! Only tests use this crate, and it uses none of ours: a unit test would get types of ours twice.

mod device;
mod folder;
pub mod instructions;
pub mod schema;
mod tool;

pub use device::{Loop, Mounted, Zram};
pub use folder::Folder;
pub use tool::{or_skip, tool};
