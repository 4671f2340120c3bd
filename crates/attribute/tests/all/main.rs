//! Stacks and functions of stored kernels, and stages of real loads. What measures clocks is in `clocks`.

mod causes;
mod classify;
#[expect(dead_code, reason = "the other test program uses its own part")]
mod common;
mod exact;
mod ladder;
mod stages;
mod watch;
