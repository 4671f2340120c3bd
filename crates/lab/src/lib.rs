//! What does the kernel really do?
//!
//!   packages ──► kernel, QEMU ──► machine ──► guest: drivers, marks ──► counts ──► cost
//!
//! The lab boots a distribution's kernel in an emulated machine, loads real drivers into it, and lets an I/O run
//! between two marks. A plugin of the emulator counts every instruction between them, exactly: the same number on every
//! machine. Start reading at [`Lab`], then [`cost`].

pub mod cost;
pub mod counts;
pub mod devices;
mod disk;
mod error;
pub mod exec;
pub mod guest;
pub mod host;
mod layout;
pub mod outside;
mod raid;
mod request;
mod run_files;
pub mod sheet;
mod symbols;
mod sys;
pub mod targets;
mod words;

pub use error::LabError;
pub(crate) use error::ensure;
pub use raid::{CHUNK_KIB, Raid};
pub use request::{Booted, Lab, Request};
pub use words::{MEMORY_LEAST_MIB, SCHEDULERS, SYSFS};
