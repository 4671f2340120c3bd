//! What measures time, and whose figures a neighbour would spoil: a program of its own, which `cargo xtask test` runs alone.

mod fio;
mod fio_same;
mod verdicts;
