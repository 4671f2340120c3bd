//! Where did it go?
//!
//! ```text
//!   kernel tracepoints ──► stages/  (BPF)       ──► Stages: where the latency went
//!   timer samples ──► layers/ ──► classify/     ──► Layers: where the clocks went
//!   scheduler, interrupts ──► layers/ (BPF) ────┘   exact totals that the samples split
//!   the same of every I/O ──► watch/ (BPF)       ──► WatchSlice: whose they are, and what was slow
//!   permissions ──► ladder/                     ──► Ladder: what may be measured here, and what lifts it
//! ```
//!
//! `classify` is pure: it runs on stored samples, without privileges. Start reading at [`stages::StageTrace`] and
//! [`layers::LayerTrace`].

pub mod bpf;
pub mod classify;
pub mod ladder;
pub mod layers;
mod packed;
pub mod stages;
mod sys;
pub mod watch;

/// Note about a process, whose children's work is missing.
const CHILDREN: &str = "Its children are not followed: look at each with a --pid of its own.";
