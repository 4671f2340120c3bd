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
pub mod command;
pub mod ladder;
pub mod layers;
mod packed;
pub mod processes;
pub mod stages;
mod sys;
mod waits;
pub mod watch;

pub use sys::system::Hurry;

/// Note about a process, whose children's work is missing.
const CHILDREN: &str = "Its children are not followed: --children follows them.";

/// The name of a task, as the kernel keeps it: 16 bytes at most, up to a 0.
fn name_of(words: &[u64; 2]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
