//! Stages of real loads, on what this machine has: its disk's file system, loop devices, zram.

mod calls;
mod common;
mod devices;
mod known;
mod load;
mod process;
mod refused;
mod tree;
mod waits;
