//! The engine's tests on files and devices of this machine, as one program.

mod asked;
mod common;
mod data;
mod faults;
mod known_load;
mod observer;
mod pace;
mod replay;
