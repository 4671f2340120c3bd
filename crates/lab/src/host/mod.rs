//! The near side of the machine: packages, kernels, images, the emulator.

pub mod bootable;
pub mod build;
pub mod cache;
pub mod command;
pub mod filesystem;
pub mod folder;
pub mod image;
pub mod kernel;
pub mod machine;
pub mod mailbox;
mod memory;
pub mod modules;
mod monitor;
pub mod packages;
mod patience;
mod private;
pub mod programs;
pub mod qemu;
pub(crate) mod snapshot;
pub mod tool;
