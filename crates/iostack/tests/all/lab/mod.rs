//! Does the lab do what it says, and do our drivers keep what they are given? Each test boots a machine, one at a time.
//!
//! What the lab fetches stays in the user's cache. Where it cannot be had, the tests skip aloud.

mod anyones;
mod bisect;
mod checks;
mod costs;
mod drivers;
mod errors;
mod kernels;
mod left_behind;
mod programs;
mod simulated;
mod stages;
