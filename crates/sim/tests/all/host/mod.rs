//! Does the host spend what its sheets say, and does it obey what is known of machines?
//!
//! `exact.rs`: one I/O at a time, and saturated cores: formulas of the sheet's clocks. `queueing.rs`: cores as stations of a
//! closed network. `cores.rs`: siblings, sockets, idle states, budgets. `laws.rs`: what must hold of any platform and any job.

mod cores;
mod exact;
mod laws;
mod machine;
mod queueing;
