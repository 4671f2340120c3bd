//! What does the kernel really do?
//!
//!   packages ──► kernel, QEMU ──► machine ──► guest: drivers, marks ──► counts ──► cost
//!
//! The lab boots a distribution's kernel in an emulated machine, loads real drivers into it, and lets an I/O run
//! between two marks. A plugin of the emulator counts every instruction between them, exactly: the same number on every
//! machine. Start reading at [`cost`].

pub mod cost;
pub mod counts;
