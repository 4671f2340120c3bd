//! Is what the simulator says of queues, jobs and traces true?
//!
//! `queueing`: closed forms and exact recursions. `laws`: what holds for every device. `determinism`: the same seed, the same
//! bytes. `jobs`, `replays`: each option of a job, and recorded I/Os, on devices whose answer is known. `level`: each second like the one before. `steady`: long runs, short runs, and the load in them. `together`: jobs that look at each other.

mod determinism;
mod jobs;
pub(crate) mod laws;
mod level;
pub(crate) mod parts;
mod queueing;
mod replays;
mod steady;
mod together;
