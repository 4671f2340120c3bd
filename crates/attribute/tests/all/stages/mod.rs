//! Stages of real loads, on what this machine has: its disk's file system, loop devices, zram.

mod common;
mod devices;
mod known;
mod load;
mod process;
mod refused;
mod tree;
